"""Select the resources of a cluster to watch: those that Causeline knows, and those that a user names.

Secrets are never watched. Only the metadata of ConfigMaps is requested: no rule needs more, and their data may be large
and private.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import msgspec

from collectors.watch.server.bodies import DISCOVERY_BYTES
from collectors.watch.server.failures import ApiError, RequestRefused
from timeline.core.values import check_values
from timeline.kinds import Kind, registry

if TYPE_CHECKING:
    from collectors.watch.server.api import Api

GroupKind = tuple[str, str]
_NEVER: dict[GroupKind, str] = {
    ("", "Secret"): "Causeline never reads Secrets.",
    ("events.k8s.io", "Event"): "They are the Events of core/v1, which are watched.",
}
_METADATA: frozenset[GroupKind] = frozenset({("", "ConfigMap")})
_VERBS = {"list", "watch"}
_VALUES = 200_000  # in one answer that names groups or resources
_MOST = 2000  # resources in the wanted groups at most
_VERSIONS = 10  # of one group that are tried at most
# Of a group, a version or a resource, as Kubernetes allows it.
_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")
_KIND = re.compile(r"[A-Za-z][A-Za-z0-9]{0,251}")


class Resource(NamedTuple):
    """What can be listed and watched under one path of the API."""

    group: str
    version: str
    kind: str
    resource: str  # its plural, as in paths
    namespaced: bool

    @property
    def group_kind(self) -> GroupKind:
        return self.group, self.kind

    @property
    def api_version(self) -> str:
        """Return the apiVersion, such as "v1" or "apps/v1"."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def name(self) -> str:
        """Return the name that kubectl takes, such as pods or jobs.batch.volcano.sh."""
        return f"{self.resource}.{self.group}" if self.group else self.resource

    @property
    def metadata_only(self) -> bool:
        """Return whether only the metadata of its objects are requested."""
        return self.group_kind in _METADATA

    def path(self, namespace: str = "") -> str:
        """Return the path of its list, in one namespace or in all."""
        within = f"/namespaces/{namespace}" if namespace else ""
        return f"/{'apis' if self.group else 'api'}/{self.api_version}{within}/{self.resource}"


class Target(NamedTuple):
    """What one watch shows: a resource in one namespace, or in all of them."""

    resource: Resource
    namespace: str = ""

    @property
    def name(self) -> str:
        """Return what is watched in words, such as "pods" or "pods in team-a"."""
        return f"{self.resource.name} in {self.namespace}" if self.namespace else self.resource.name


def targets(resource: Resource, namespaces: Sequence[str]) -> list[Target]:
    """Return what is watched of a resource if only these namespaces are watched; all of them if there are none."""
    return [Target(resource, each) for each in (namespaces if resource.namespaced and namespaces else [""])]


class Missing(NamedTuple):
    """A resource that was requested but cannot be watched."""

    resource: str  # as the user named it
    why: str  # a sentence


class _Listed(msgspec.Struct):
    name: str
    kind: str
    namespaced: bool = True
    singularName: str = ""
    shortNames: tuple[str, ...] | None = None
    verbs: tuple[str, ...] | None = None


class _ResourceList(msgspec.Struct):
    resources: tuple[_Listed, ...] | None = None


class _Version(msgspec.Struct):
    version: str


class _Group(msgspec.Struct):
    name: str
    versions: tuple[_Version, ...]
    preferredVersion: _Version | None = None


class _GroupList(msgspec.Struct):
    groups: tuple[_Group, ...] | None = None


class _Known(NamedTuple):
    resource: Resource
    names: frozenset[str]  # without the group: its plural, singular and short names
    verbs: frozenset[str]


_T = TypeVar("_T")
_resource_list = msgspec.json.Decoder(_ResourceList)
_group_list = msgspec.json.Decoder(_GroupList)


def resources(api: "Api", include: Sequence[str], exclude: Sequence[str]) -> tuple[list[Resource], list[Missing]]:
    """Return the resources to watch, and what was included but cannot be watched.

    They are the default ones and those in `include`, without those in `exclude`; both name resources as kubectl does
    ("jobs.batch.volcano.sh"), or whole groups ("*.example.com"). Raise ApiError.
    """
    wanted = {(kind.group, kind.kind) for kind in _watched()}
    known, failed = _discovered(api, {group for group, _ in wanted}, include)
    chosen = {
        each.resource for each in known if _watchable(each) and (each.resource.group, each.resource.kind) in wanted
    }
    missing = []
    for name in include:
        matching = _matching(name, known)
        chosen.update(each.resource for each in matching if _watchable(each))
        if why := _reason_missing(name, matching, failed):
            missing.append(Missing(name, why))
    for name in exclude:
        chosen.difference_update(each.resource for each in _matching(name, known))
    return sorted(chosen), missing


def default_resources() -> list[str]:
    """Return the names of the resources that are watched by default, as kubectl takes them."""
    return [f"{kind.resource}.{kind.group}" if kind.group else kind.resource for kind in _watched()]


def _watched() -> list[Kind]:
    """Return the kinds that are watched by default, by group and kind."""
    kinds = registry()
    return [kinds[each] for each in sorted(kinds) if kinds[each].watched and each != ("*", "*")]


def new_resources(before: Collection[Resource], after: Iterable[Resource]) -> list[Resource]:
    """Return the resources that were not there before, in any version."""
    names = {each.name for each in before}
    return [each for each in after if each.name not in names]


def _watchable(known: _Known) -> bool:
    return known.verbs >= _VERBS and _reason_never_watched(known) is None


def _reason_never_watched(known: _Known) -> str | None:
    return _NEVER.get(known.resource.group_kind)


def _reason_missing(name: str, matching: list[_Known], failed: dict[str, str]) -> str:
    """Return why no resource of this name is watched; "" if one is."""
    if any(map(_watchable, matching)):
        return ""
    for each in matching:
        return _reason_never_watched(each) or "It cannot be both listed and watched."
    for group, why in failed.items():
        if _matches_group(name, group):
            return why
    return "The cluster has no such resource; it is picked up once there is one."


def _matching(name: str, known: list[_Known]) -> list[_Known]:
    """Return the resources that a name stands for; without a group, those of Kubernetes itself come first."""
    plural, dot, _ = name.lower().partition(".")
    found = [
        each
        for each in known
        if any(fnmatchcase(own, plural) for own in each.names) and _matches_group(name, each.resource.group)
    ]
    return found if dot or name == "*" else [each for each in found if _is_builtin_group(each.resource.group)] or found


def _matches_group(name: str, group: str) -> bool:
    """Return whether a name may stand for a resource of a group.

    "jobs" stands for any group, "jobs.batch" for one, and "*.example.com" also for groups below example.com.
    """
    plural, _, meant = name.lower().partition(".")
    return not meant or fnmatchcase(group, meant) or (plural == "*" and group.endswith(f".{meant}"))


def _is_builtin_group(group: str) -> bool:
    return "." not in group or group.endswith(".k8s.io")


def _discovered(api: "Api", wanted: set[str], include: Sequence[str]) -> tuple[list[_Known], dict[str, str]]:
    """Return the resources of the wanted groups, and group -> reason for each group that could not be read.

    A resource has its preferred version if that serves it. Raise ApiError if nothing can be read.
    """
    known, failed = _served_in_group(api, "", ["v1"]), {}
    for group in _decoded(_group_list, api.get("/apis", most=DISCOVERY_BYTES)).groups or ():
        if not _NAME.fullmatch(group.name):
            continue
        if group.name in wanted or any(_matches_group(name, group.name) for name in include):
            try:
                known += _served_in_group(api, group.name, _versions(group))
            except RequestRefused as error:  # an aggregated API server is not available
                failed[group.name] = str(error)
            if len(known) + len(failed) > _MOST:
                raise ApiError(f"The cluster names more than {_MOST} resources in the groups that are to be watched.")
    return known, failed


def _versions(group: _Group) -> list[str]:
    """Return the versions of a group, the preferred one first."""
    preferred = group.preferredVersion.version if group.preferredVersion else ""
    served = [each.version for each in group.versions if _NAME.fullmatch(each.version)]
    return sorted(served, key=lambda version: version != preferred)[:_VERSIONS]


def _served_in_group(api: "Api", group: str, versions: list[str]) -> list[_Known]:
    found: dict[str, _Known] = {}
    for version in versions:
        path = f"/apis/{group}/{version}" if group else f"/api/{version}"
        for each in _decoded(_resource_list, api.get(path, most=DISCOVERY_BYTES)).resources or ():
            # Skip invalid names, and subresources such as pods/log.
            if _NAME.fullmatch(each.name) and _KIND.fullmatch(each.kind) and each.name not in found:
                names = {each.name, each.singularName or each.kind.lower(), *(each.shortNames or ())}
                resource = Resource(group, version, each.kind, each.name, each.namespaced)
                found[each.name] = _Known(resource, frozenset(names), frozenset(each.verbs or ()))
    return list(found.values())


def _decoded(decoder: "msgspec.json.Decoder[_T]", body: bytes) -> _T:
    try:
        check_values(body, _VALUES)
        return decoder.decode(body)
    except (ValueError, RecursionError):
        raise ApiError("The server at this address is not a Kubernetes API server.") from None

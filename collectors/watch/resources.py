"""This module selects the resources of a cluster to watch: those that Causeline knows, and those that a user names.

Secrets are never watched. Of ConfigMaps only the metadata is requested: every rule is content with it, and their data
may be large and private.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple, TypeVar

import msgspec

from collectors.watch.api import Api
from collectors.watch.bodies import DISCOVERY_BYTES
from collectors.watch.failures import ApiError, Refused
from timeline.judging.remedies import resource_of
from timeline.kinds import described

GroupKind = tuple[str, str]
_OTHER_KINDS: frozenset[GroupKind] = frozenset(
    {("scheduling.k8s.io", "PriorityClass"), ("storage.k8s.io", "StorageClass"), ("", "ReplicationController")}
)
_NEVER: dict[GroupKind, str] = {
    ("", "Secret"): "Causeline never reads Secrets.",
    ("events.k8s.io", "Event"): "They are the Events of core/v1, which are watched.",
}
_METADATA: frozenset[GroupKind] = frozenset({("", "ConfigMap")})
_VERBS = {"list", "watch"}
_MOST = 2000  # resources in the groups that are looked into
_VERSIONS = 10  # of one group
_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")  # of a group, a version or a resource
_KIND = re.compile(r"[A-Za-z][A-Za-z0-9]{0,251}")


class Resource(NamedTuple):
    """What can be listed and watched under one path."""

    group: str
    version: str
    kind: str
    resource: str  # its plural, as paths name it
    namespaced: bool

    @property
    def group_kind(self) -> GroupKind:
        return self.group, self.kind

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def name(self) -> str:
        """As kubectl takes it: pods, jobs.batch.volcano.sh."""
        return f"{self.resource}.{self.group}" if self.group else self.resource

    @property
    def metadata_only(self) -> bool:
        return self.group_kind in _METADATA

    def path(self, namespace: str = "") -> str:
        """Of all of them, or of those in one namespace."""
        within = f"/namespaces/{namespace}" if namespace else ""
        return f"/{'apis' if self.group else 'api'}/{self.api_version}{within}/{self.resource}"


class Missing(NamedTuple):
    resource: str  # as it was asked for
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
    names: frozenset[str]  # without the group: plural, singular, short ones
    verbs: frozenset[str]


_T = TypeVar("_T")
_resource_list = msgspec.json.Decoder(_ResourceList)
_group_list = msgspec.json.Decoder(_GroupList)


def resources(api: Api, include: Sequence[str], exclude: Sequence[str]) -> tuple[list[Resource], list[Missing]]:
    """What is watched: the built-in set and what is included, as kubectl names resources ("jobs.batch.volcano.sh",
    "*.example.com"), without what is excluded; and of what is included that which cannot be. Raises ApiError."""
    wanted = (described() | _OTHER_KINDS) - _NEVER.keys()
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
    """What is watched where nobody says otherwise, as kubectl takes it."""
    wanted = sorted((described() | _OTHER_KINDS) - _NEVER.keys())
    return [f"{resource_of(kind)}.{group}" if group else resource_of(kind) for group, kind in wanted]


def new_resources(before: Collection[Resource], after: Iterable[Resource]) -> list[Resource]:
    """Those that were not there before, in whatever version."""
    names = {each.name for each in before}
    return [each for each in after if each.name not in names]


def _watchable(known: _Known) -> bool:
    return known.verbs >= _VERBS and _reason_never_watched(known) is None


def _reason_never_watched(known: _Known) -> str | None:
    return _NEVER.get(known.resource.group_kind)


def _reason_missing(name: str, matching: list[_Known], failed: dict[str, str]) -> str:
    """Why nothing that a name stands for is watched; "" where something is."""
    if any(map(_watchable, matching)):
        return ""
    for each in matching:
        return _reason_never_watched(each) or "It cannot be both listed and watched."
    for group, why in failed.items():
        if _matches_group(name, group):
            return why
    return "The cluster has no such resource; it is picked up once there is one."


def _matching(name: str, known: list[_Known]) -> list[_Known]:
    """Those that a name as kubectl takes it stands for; without a group those of Kubernetes itself come first."""
    plural, dot, _ = name.lower().partition(".")
    found = [
        each
        for each in known
        if any(fnmatchcase(own, plural) for own in each.names) and _matches_group(name, each.resource.group)
    ]
    return found if dot or name == "*" else [each for each in found if _is_builtin_group(each.resource.group)] or found


def _matches_group(name: str, group: str) -> bool:
    """Whether a name may stand for something of a group: "jobs" for any, "jobs.batch" for one, "*.example.com" also for
    those below it."""
    plural, _, meant = name.lower().partition(".")
    return not meant or fnmatchcase(group, meant) or (plural == "*" and group.endswith(f".{meant}"))


def _is_builtin_group(group: str) -> bool:
    return "." not in group or group.endswith(".k8s.io")


def _discovered(api: Api, wanted: set[str], include: Sequence[str]) -> tuple[list[_Known], dict[str, str]]:
    """What the server has in the groups that are wanted or may be meant, each in its preferred version where it is in
    that; and why a group could not be looked into. Raises ApiError where nothing can be."""
    known, failed = _served_in_group(api, "", ["v1"]), {}
    for group in _decoded(_group_list, api.get("/apis", most=DISCOVERY_BYTES)).groups or ():
        if not _NAME.fullmatch(group.name):
            continue
        if group.name in wanted or any(_matches_group(name, group.name) for name in include):
            try:
                known += _served_in_group(api, group.name, _versions(group))
            except Refused as error:  # an aggregated server that is away
                failed[group.name] = str(error)
            if len(known) + len(failed) > _MOST:
                raise ApiError(f"The cluster names more than {_MOST} resources in the groups that are to be watched.")
    return known, failed


def _versions(group: _Group) -> list[str]:
    """The preferred one first."""
    preferred = group.preferredVersion.version if group.preferredVersion else ""
    served = [each.version for each in group.versions if _NAME.fullmatch(each.version)]
    return sorted(served, key=lambda version: version != preferred)[:_VERSIONS]


def _served_in_group(api: Api, group: str, versions: list[str]) -> list[_Known]:
    found: dict[str, _Known] = {}
    for version in versions:
        path = f"/apis/{group}/{version}" if group else f"/api/{version}"
        for each in _decoded(_resource_list, api.get(path, most=DISCOVERY_BYTES)).resources or ():
            # What is no name is passed over, as are parts of a resource (pods/log).
            if _NAME.fullmatch(each.name) and _KIND.fullmatch(each.kind) and each.name not in found:
                names = {each.name, each.singularName or each.kind.lower(), *(each.shortNames or ())}
                resource = Resource(group, version, each.kind, each.name, each.namespaced)
                found[each.name] = _Known(resource, frozenset(names), frozenset(each.verbs or ()))
    return list(found.values())


def _decoded(decoder: "msgspec.json.Decoder[_T]", body: bytes) -> _T:
    try:
        return decoder.decode(body)
    except (ValueError, RecursionError):
        raise ApiError("What answers there is no API server of Kubernetes.") from None

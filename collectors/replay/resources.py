"""Give the paths under which a recording's kinds are served, and the lists with which discovery names them. It does
no I/O."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, NamedTuple

from timeline.kinds import registry, resource_of

_ALL = {
    "pods", "services", "replicationcontrollers", "daemonsets", "deployments", "replicasets", "statefulsets",
    "jobs", "cronjobs", "horizontalpodautoscalers",
}  # fmt: skip  # what `kubectl get all` shows


class Resource(NamedTuple):
    """A resource that is served under one path. `group` is "" for core; `plural` is as in paths."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool
    short: tuple[str, ...] = ()  # short names, such as "po"

    @property
    def api_version(self) -> str:
        """Return the apiVersion, such as "v1" or "apps/v1"."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def name(self) -> str:
        """Return the name that kubectl takes, such as pods or jobs.batch.volcano.sh."""
        return f"{self.plural}.{self.group}" if self.group else self.plural


class Names(NamedTuple):
    """The names of a kind as paths and kubectl have them."""

    plural: str
    namespaced: bool
    short: tuple[str, ...] = ()


def names_in_definition(definition: dict[str, Any]) -> tuple[str, str, Names]:
    """Return the group and the kind that a CustomResourceDefinition defines, and their names."""
    spec = definition["spec"]
    names = spec["names"]
    result = Names(names["plural"], spec["scope"] == "Namespaced", tuple(names.get("shortNames") or ()))
    return spec["group"], names["kind"], result


def guess_names(group: str, kind: str, namespaced: bool) -> Names:
    """Return the probable names of a kind without a definition."""
    known = registry().get((group, kind))
    short = known.names - {kind.lower(), known.resource} if known else ()
    return Names(resource_of(kind), namespaced, tuple(sorted(short)))


def groups(resources: Iterable[Resource]) -> dict[str, list[str]]:
    """Return group -> its versions, without the core group."""
    found: dict[str, list[str]] = defaultdict(list)
    for each in sorted(resources):
        if each.group and each.version not in found[each.group]:
            found[each.group].append(each.version)
    found.pop("", None)
    return dict(found)


def api_versions(address: str) -> dict[str, Any]:
    """Return the answer to /api."""
    at = [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}]
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": at}


def group_of(name: str, versions: list[str]) -> dict[str, Any]:
    """Return the answer to /apis/GROUP."""
    result = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"kind": "APIGroup", "apiVersion": "v1", "name": name, "versions": result, "preferredVersion": result[-1]}


def resource_list(api_version: str, resources: Iterable[Resource]) -> dict[str, Any]:
    """Return the answer to /api/v1 or /apis/GROUP/VERSION."""
    listed = [_discovery_entry(each) for each in resources if each.api_version == api_version]
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": api_version, "resources": listed}


def _discovery_entry(resource: Resource) -> dict[str, Any]:
    """Return the APIResource of a resource."""
    result: dict[str, Any] = {
        "name": resource.plural,
        "singularName": resource.kind.lower(),
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": ["get", "list", "watch"],
    }
    if resource.short:
        result["shortNames"] = list(resource.short)
    if resource.plural in _ALL and "." not in resource.group:
        result["categories"] = ["all"]
    return result

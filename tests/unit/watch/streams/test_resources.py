"""These tests choose the resources of a cluster to watch, and find out which share a counter of revisions."""

from typing import TYPE_CHECKING, Any, cast

import orjson
import pytest

from collectors.watch.server.api import Api
from collectors.watch.server.failures import ApiError, Forbidden, RequestRefused
from collectors.watch.streams.calibration import calibrate
from collectors.watch.streams.resources import Resource, new_resources, resources
from timeline.core.entries import Mark, MarkType
from timeline.judge import rulebook
from timeline.kinds import qualified

if TYPE_CHECKING:
    from collections.abc import Iterator

VERBS = ["get", "list", "watch"]
BUILT_IN: dict[str, list[tuple[str, ...]]] = {
    "v1": [
        *(("pods", "Pod", "po"), ("pods/status", "Pod"), ("services", "Service", "svc"), ("secrets", "Secret")),
        *(("configmaps", "ConfigMap"), ("events", "Event"), ("endpoints", "Endpoints"), ("limitranges", "LimitRange")),
        ("persistentvolumeclaims", "PersistentVolumeClaim", "pvc"),
    ],
    "apps/v1": [("deployments", "Deployment"), ("replicasets", "ReplicaSet"), ("controllerrevisions", "X")],
    "batch/v1": [("jobs", "Job"), ("cronjobs", "CronJob")],
    "coordination.k8s.io/v1": [("leases", "Lease")],
    "discovery.k8s.io/v1": [("endpointslices", "EndpointSlice")],
    "events.k8s.io/v1": [("events", "Event")],
    "scheduling.k8s.io/v1": [("priorityclasses", "PriorityClass", "pc")],
    "batch.volcano.sh/v1alpha1": [("jobs", "Job", "vcjob")],
    "example.com/v1beta1": [("tabs", "Tab")],
    "example.com/v1": [("tabs", "Tab"), ("runs", "Run")],
    "deep.example.com/v1": [("wells", "Well")],
    "metrics.k8s.io/v1beta1": [("nodes", "NodeMetrics")],
}


class Server:
    """This server answers discovery, and lists with their revisions, as an API server does."""

    def __init__(self, versions: dict[str, list[tuple[str, ...]]] | None = None) -> None:
        self.versions = versions or BUILT_IN
        self.asked: list[str] = []
        self.broken = ""
        self.revisions: dict[str, Iterator[int | None]] = {}

    @property
    def api(self) -> Api:
        return cast("Api", self)

    def now(self) -> int:
        return 1_000_000

    def get(self, path: str, **query: Any) -> bytes:
        self.asked.append(path)
        if path == self.broken:
            raise RequestRefused("The API server answered 503.", 503)
        if path == "/apis":
            return orjson.dumps({"kind": "APIGroupList", "groups": self._groups()})
        version = path.removeprefix("/apis/").removeprefix("/api/")
        if version in self.versions:
            return orjson.dumps({"resources": [self._reported(*each) for each in self.versions[version]]})
        at = next(self.revisions[path.rpartition("/")[2]], None)
        if at is None:
            raise Forbidden("No.", 403)
        return orjson.dumps({"metadata": {"resourceVersion": str(at)}, "items": []})

    def _groups(self) -> list[dict[str, Any]]:
        found: dict[str, list[str]] = {}
        for each in self.versions:
            group, _, version = each.rpartition("/")
            found.setdefault(group, []).append(version)
        reported = {group: [{"version": each} for each in versions] for group, versions in found.items() if group}
        return [{"name": group, "versions": each, "preferredVersion": each[-1]} for group, each in reported.items()]

    def _reported(self, name: str, kind: str, *short: str) -> dict[str, Any]:
        verbs = ["get"] if kind == "X" else VERBS
        return {"name": name, "kind": kind, "namespaced": True, "shortNames": list(short), "verbs": verbs}


def names(server: Server, include: list[str] | None = None, exclude: list[str] | None = None) -> set[str]:
    return {each.name for each in resources(server.api, include or [], exclude or [])[0]}


def test_what_the_rules_look_at_is_watched_and_no_more() -> None:
    found = names(Server())
    assert {"pods", "services", "configmaps", "priorityclasses.scheduling.k8s.io", "jobs.batch.volcano.sh"} <= found
    assert not found & {"secrets", "limitranges", "tabs.example.com", "events.events.k8s.io"}
    assert "pods/status" not in found


def test_every_kind_that_a_rule_needs_is_watched() -> None:
    found = {qualified(each.group, each.kind) for each in resources(Server().api, [], [])[0]}
    wanted = {kind for rule in rulebook() for kind in rule.kinds}
    here = {qualified(version.rpartition("/")[0], each[1]) for version in BUILT_IN for each in BUILT_IN[version]}
    assert (wanted & here) - {"Secret"} <= found  # no watch reads Secrets


INCLUDED = {
    "tabs.example.com": "tabs.example.com",
    "tab.example.com": "tabs.example.com",
    "*.example.com": "tabs.example.com runs.example.com wells.deep.example.com",
    "tabs": "tabs.example.com",
    "limitranges": "limitranges",
    "nodes": "nodes.metrics.k8s.io",
    "jobs": "",
}
EXCLUDED = {
    "jobs": "jobs.batch",
    "jobs.batch.volcano.sh": "jobs.batch.volcano.sh",
    "vcjob": "jobs.batch.volcano.sh",
    "po": "pods",
    "*.apps": "deployments.apps replicasets.apps",
}


def test_include_and_exclude_name_resources_as_kubectl_does() -> None:
    usual = names(Server())
    assert {name: names(Server(), [name]) - usual for name in INCLUDED} == {
        name: set(added.split()) for name, added in INCLUDED.items()
    }
    assert not resources(Server().api, [*INCLUDED], [])[1]
    assert {name: usual - names(Server(), [], [name]) for name in EXCLUDED} == {
        name: set(left_out.split()) for name, left_out in EXCLUDED.items()
    }


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("secrets", "never reads Secrets"),
        ("controllerrevisions.apps", "both listed and watched"),
        ("events.events.k8s.io", "core/v1"),
        ("boats.example.com", "no such resource"),
        ("boats", "no such resource"),
    ],
)
def test_what_cannot_be_watched_is_said(name: str, why: str) -> None:
    found, missing = resources(Server().api, [name], [])
    assert found == resources(Server().api, [], [])[0]
    assert [each.resource for each in missing] == [name]
    assert why in missing[0].why


def test_the_preferred_version_is_taken_and_others_only_for_what_it_lacks() -> None:
    beta: dict[str, list[tuple[str, ...]]] = {"v1": [], "example.com/v1beta1": [("tabs", "Tab"), ("old", "Old")]}
    server = Server({**beta, "example.com/v1": [("tabs", "Tab")]})
    found, _ = resources(server.api, ["*.example.com"], [])
    assert {(each.resource, each.version) for each in found} == {("tabs", "v1"), ("old", "v1beta1")}


def test_groups_that_nobody_wants_are_not_asked() -> None:
    """An aggregated server that does not answer must not stop others from being watched."""
    server = Server()
    server.broken = "/apis/metrics.k8s.io/v1beta1"
    names(server)
    assert server.broken not in server.asked
    found, missing = resources(server.api, ["nodes.metrics.k8s.io"], [])
    assert found and "503" in missing[0].why


def test_what_appears_later_is_the_difference() -> None:
    before = resources(Server({name: BUILT_IN[name] for name in ("v1", "batch/v1")}).api, ["*.example.com"], [])[0]
    after = resources(Server().api, ["*.example.com"], [])[0]
    assert {each.name for each in new_resources(before, after)} > {"tabs.example.com", "jobs.batch.volcano.sh"}
    assert not new_resources(after, after)
    assert not new_resources(after, [each._replace(version="v2") for each in after])


def test_what_is_no_api_server_is_said() -> None:
    class Page(Server):
        def get(self, path: str, **query: Any) -> bytes:
            return b"<html>"

    with pytest.raises(ApiError, match="not a Kubernetes API server"):
        resources(Page().api, [], [])


PODS = Resource("", "v1", "Pod", "pods", True)
EVENTS = Resource("", "v1", "Event", "events", True)
JOBS = Resource("batch.volcano.sh", "v1alpha1", "Job", "jobs", True)


WITH_JOBS = "Pod+Job.batch.volcano.sh"


@pytest.mark.parametrize(
    ("pods", "events", "jobs", "found"),
    [
        ([10, 12, 12], [11], [12], "Event+Pod Job+Pod Pod+Event"),  # what lies between two lists of Pods is with them
        ([10, 12, 13], [5], [12], f"Event-Pod Job+Pod {WITH_JOBS}"),  # Events are in an etcd of their own
        ([10, 12, 13], [None], [13], f"Job+Pod {WITH_JOBS}"),  # what cannot be asked or goes back tells nothing
        ([10, 4, 5], [4], [20], "Job-Pod"),
        ([None, None, None], [4], [20], ""),
        # Where Pods are the odd ones, another kind is the reference.
        ([10, 10, 10, 11], [100, 102, 104, 105], [101, 103], "Job+Event Pod-Event Event+Job.batch.volcano.sh"),
    ],
)
def test_who_shares_a_counter_is_found_by_lists(
    pods: list[int | None], events: list[int | None], jobs: list[int | None], found: str
) -> None:
    server = Server()
    server.revisions = {"pods": iter(pods), "events": iter(events), "jobs": iter(jobs)}
    marks: list[Mark] = list(calibrate(server.api, [EVENTS, JOBS, PODS]))
    signs = {MarkType.TOGETHER: "+", MarkType.APART: "-"}
    assert " ".join(f"{mark.kind}{signs[mark.what]}{mark.other}" for mark in marks) == found

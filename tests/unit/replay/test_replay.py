"""These tests serve a recording as an API server, from which the official Python client reads the past."""

import json
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from datetime import datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

import pytest
from kubernetes.client import ApiException

from collectors.formats import NotARecording
from collectors.replay import Replay, serve
from collectors.replay.commits import Tape, tape
from tests.clients.replayed import Stream, Watch, api_of, core
from tests.inputs.events import event as audit_event
from tests.inputs.load import busy
from tests.inputs.recordings import SAMPLE
from tests.patience import patient
from timeline.core.entries import moment


@pytest.fixture(scope="module")
def sample() -> Tape:
    return tape([(SAMPLE, SAMPLE.name)])


@pytest.fixture
def paused(sample: Tape) -> Iterator[Replay]:
    with serve(sample, paused=True) as replay:
        yield replay


@pytest.fixture
def ended(sample: Tape) -> Iterator[Replay]:
    with serve(sample, paused=True) as replay:
        replay.control(step=len(sample.commits))
        yield replay


def events(replay: Replay, path: str, until: Callable[[dict[str, Any]], bool], **query: Any) -> list[dict[str, Any]]:
    """Return the events of a watch up to the first one that meets the condition."""
    asked = "&".join(f"{name}={value}" for name, value in {"watch": 1, "timeoutSeconds": 20, **query}.items())
    found = []
    with urllib.request.urlopen(f"{replay.url}{path}?{asked}", timeout=20) as answer:
        for line in answer:
            found.append(json.loads(line))
            if until(found[-1]):
                break
    return found


def is_bookmark(event: dict[str, Any]) -> bool:
    return bool(event["type"] == "BOOKMARK")


def test_lists_what_stands(ended: Replay) -> None:
    with api_of(ended) as api:
        pods = core(api).list_pod_for_all_namespaces()
        assert pods.items
        assert pods.metadata.resource_version == ended.status()["revisions"]["pods"]
        one = pods.items[0]
        same = core(api).read_namespaced_pod(one.metadata.name, one.metadata.namespace)
        assert same.metadata.resource_version == one.metadata.resource_version
        there = core(api).list_namespaced_pod(one.metadata.namespace)
        assert {each.metadata.namespace for each in there.items} == {one.metadata.namespace}


def test_lists_in_pages_as_of_one_revision(paused: Replay) -> None:
    paused.control(step=600)
    with api_of(paused) as api:
        whole = core(api).list_event_for_all_namespaces()
        first = core(api).list_event_for_all_namespaces(limit=3)
        assert first.metadata.remaining_item_count == len(whole.items) - 3
        paused.control(step=100)
        names, following = [each.metadata.name for each in first.items], first.metadata._continue
        while following:
            page = core(api).list_event_for_all_namespaces(limit=3, _continue=following)
            names += [each.metadata.name for each in page.items]
            following = page.metadata._continue
        assert names == [each.metadata.name for each in whole.items]


def test_a_watch_tells_each_change_once_in_the_order_of_revisions(sample: Tape, paused: Replay) -> None:
    recorded = [commit for commit in sample.commits if commit.resource.plural == "pods"]
    paused.control(speed="max")
    with api_of(paused) as api:
        pods = core(api).list_pod_for_all_namespaces()
        stream = Watch().stream(
            core(api).list_pod_for_all_namespaces, resource_version=pods.metadata.resource_version, timeout_seconds=20
        )
        threading.Timer(0.2, paused.control, kwargs={"play": True}).start()
        received = [(event["type"], event["raw_object"]) for _, event in zip(recorded, stream, strict=False)]
    assert [(change, int(each["metadata"]["resourceVersion"])) for change, each in received] == [
        (commit.change, commit.revision) for commit in recorded
    ]
    assert [each for _, each in received] == [json.loads(commit.body) for commit in recorded]


def test_every_watch_gets_a_bookmark_at_the_end(paused: Replay) -> None:
    paused.control(speed="max")
    threading.Timer(0.2, paused.control, kwargs={"play": True}).start()
    path = "/apis/scheduling.volcano.sh/v1beta1/podgroups"
    last = events(paused, path, is_bookmark, resourceVersion=0, allowWatchBookmarks="true")[-1]["object"]
    revisions = paused.status()["revisions"]
    assert last["metadata"]["resourceVersion"] == revisions["podgroups.scheduling.volcano.sh"]
    assert last["kind"] == "PodGroup"


def test_initial_events_end_with_their_bookmark(ended: Replay) -> None:
    asked = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}
    received = events(ended, "/api/v1/services", is_bookmark, **asked)
    assert {event["type"] for event in received[:-1]} == {"ADDED"}
    assert received[-1]["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert len(received) - 1 == ended.status()["objects"]["services"]


def test_what_leaves_a_selection_is_reported_as_deleted(sample: Tape, paused: Replay) -> None:
    threading.Timer(0.2, paused.control, kwargs={"step": len(sample.commits)}).start()
    asked = {"resourceVersion": 0, "fieldSelector": "status.phase=Pending", "allowWatchBookmarks": 1}
    received = events(paused, "/api/v1/pods", is_bookmark, **asked)
    standing: set[str] = set()
    for event in received[:-1]:
        uid = event["object"]["metadata"]["uid"]
        assert (event["type"] == "ADDED") is (uid not in standing)
        standing ^= {uid} if event["type"] != "MODIFIED" else set()
    assert "DELETED" in {event["type"] for event in received}


def test_what_was_compacted_is_gone(paused: Replay) -> None:
    paused.control(step=600)
    with api_of(paused) as api:
        listed = core(api).list_event_for_all_namespaces
        page = listed(limit=1)
        paused.control(step=100, compact=True)
        paused.control(step=40)
        with pytest.raises(ApiException) as refused:
            listed(limit=1, _continue=page.metadata._continue)
        assert (refused.value.status, json.loads(refused.value.body or "")["reason"]) == (410, "Expired")
        with pytest.raises(ApiException) as refused:
            list(Watch().stream(listed, resource_version=page.metadata.resource_version, timeout_seconds=5))
        assert refused.value.status == 410


def test_what_is_to_come_is_not_answered_and_nothing_can_be_written(paused: Replay) -> None:
    with api_of(paused) as api:
        with pytest.raises(ApiException) as refused:
            core(api).list_pod_for_all_namespaces(resource_version="9999999", resource_version_match="NotOlderThan")
        assert refused.value.status == 504
        assert "Too large resource version" in str(refused.value.body)
        with pytest.raises(ApiException) as refused:
            core(api).delete_namespace("default")
        assert refused.value.status == 405


def test_begins_at_a_time_and_answers_bear_the_recordings_time(sample: Tape) -> None:
    later = sample.begins + (sample.ends - sample.begins) // 2
    with serve(sample, paused=True, at=later) as replay:
        status = replay.status()
        assert status["place"] == sum(commit.time <= later for commit in sample.commits)
        assert datetime.fromisoformat(status["time"]) == moment(later)
        with urllib.request.urlopen(f"{replay.url}/readyz") as answer:
            date = parsedate_to_datetime(answer.headers["Date"])
    assert abs((date - moment(later)).total_seconds()) < 2


def test_a_recording_without_objects_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "audit.jsonl"
    file.write_text(json.dumps(audit_event(level="Metadata", responseObject=None, requestObject=None)))
    with pytest.raises(NotARecording, match=r"no objects are recorded.*level RequestResponse"):
        tape([(file, file.name)])


def test_metadata_alone_is_given_to_who_asks_for_no_more(ended: Replay) -> None:
    def asked(path: str, kind: str) -> Any:
        accept = f"application/json;as={kind};g=meta.k8s.io;v=v1,application/json"
        return urllib.request.urlopen(urllib.request.Request(ended.url + path, headers={"Accept": accept}), timeout=20)

    with asked("/api/v1/pods", "PartialObjectMetadataList") as answer:
        received = json.load(answer)
    assert (received["kind"], received["apiVersion"]) == ("PartialObjectMetadataList", "meta.k8s.io/v1")
    assert {tuple(each) for each in received["items"]} == {("kind", "apiVersion", "metadata")}
    with asked("/api/v1/pods?watch=1&timeoutSeconds=5", "PartialObjectMetadata") as answer:
        event = json.loads(answer.readline())
    assert event["type"] == "ADDED"
    assert event["object"] == received["items"][0]


@pytest.mark.parametrize("resource", ["pods", "events"])
def test_a_list_and_the_watch_after_it_tell_all_together(sample: Tape, ended: Replay, resource: str) -> None:
    """The objects of a list at any revision, changed by the watch from there, equal the objects at the end."""
    revisions = [commit.revision for commit in sample.commits if commit.resource.plural == resource]

    def read(query: str) -> Any:
        with urllib.request.urlopen(f"{ended.url}/api/v1/{resource}{query}", timeout=20) as answer:
            return json.load(answer)

    stands = {each["metadata"]["uid"]: each for each in read("")["items"]}
    for revision in revisions[:: max(1, len(revisions) // 10)]:
        listed = read(f"?resourceVersion={revision}&resourceVersionMatch=Exact")
        assert listed["metadata"]["resourceVersion"] == str(revision)
        state = {each["metadata"]["uid"]: each for each in listed["items"]}
        stream = Stream(ended, f"/api/v1/{resource}", resourceVersion=revision)
        ended.control(bookmark=True)
        while (event := stream.event())["type"] != "BOOKMARK":
            state[event["object"]["metadata"]["uid"]] = event["object"]
            if event["type"] == "DELETED":
                del state[event["object"]["metadata"]["uid"]]
        stream.close()
        assert state == stands


def test_time_goes_as_fast_as_it_is_asked_to() -> None:
    with serve(busy(10, 2_000), speed=100, paused=True) as replay:  # 20 s
        stream = Stream(replay, resourceVersion=10)
        started = time.monotonic()
        replay.control(play=True)
        while stream.event()["type"] != "BOOKMARK":
            pass
        assert 0.15 < time.monotonic() - started < patient(10)
        stream.close()

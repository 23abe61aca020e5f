"""These tests check what the page of an object begins with: what is wrong with it and what it owns, and its status."""

import importlib
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import DjangoDbBlocker

from collectors.formats import Limits
from collectors.uploads.recordings import Count, import_into
from tests.database.web.views.pages import asked, page_text, track_of
from tests.inputs.recordings import SAMPLE
from timeline.models import Incident, Source, Track
from timeline.queries.filters import SourceIncidentFilter
from timeline.queries.incidents import filters as incident_filter
from timeline.queries.incidents import lists
from timeline.queries.objects import lives
from timeline.queries.objects import page as object_page
from timeline.storage import store
from timeline.storage.people import baselines

revisions = importlib.import_module("timeline.queries.objects.revisions")  # the package has a function of this name
pytestmark = pytest.mark.django_db
UNKNOWN = "neither an audit log nor the object’s managedFields say who made its last change"


@pytest.fixture(scope="module")
def imported(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Callable[[str, Path], Source]]:
    """Return a function that imports a recording with bodies, for all tests of this module."""
    sources: list[Source] = []

    def import_it(name: str, path: Path) -> Source:
        with django_db_blocker.unblock():
            sources.append(store.open_source(name))
            import_into(sources[-1], [(path, path.name)], Limits(), Count())
        return sources[-1]

    yield import_it
    with django_db_blocker.unblock():
        for source in sources:
            store.discard_source(source)


@pytest.fixture(scope="module")
def volcano(imported: Callable[[str, Path], Source]) -> Source:
    return imported("volcano", SAMPLE)


@pytest.fixture(scope="module")
def nightly(imported: Callable[[str, Path], Source], tmp_path_factory: pytest.TempPathFactory) -> Source:
    """A Job whose first Pod is started again and again, whose second one ends well, and whose third one cannot pull."""
    path = tmp_path_factory.mktemp("nightly") / "watch.jsonl"
    path.write_text("\n".join(json.dumps(each) for each in _nightly()))
    return imported("nightly", path)


def _time(second: int) -> str:
    return f"2026-11-21T08:{second // 60:02}:{second % 60:02}Z"


def _object(kind: str, name: str, revision: int, created: int, **fields: Any) -> dict[str, Any]:
    metadata = {
        "name": name,
        "namespace": "batch",
        "uid": f"{kind}-{name}",
        "resourceVersion": str(revision),
        "creationTimestamp": _time(created),
        **fields.pop("metadata", {}),
    }
    return {"apiVersion": "batch/v1" if kind == "Job" else "v1", "kind": kind, "metadata": metadata, **fields}


def _pod(name: str, revision: int, created: int, phase: str, container: dict[str, Any]) -> dict[str, Any]:
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "nightly", "uid": "Job-nightly", "controller": True}
    status = {"phase": phase, "containerStatuses": [{"name": "main", **container}]}
    return _object("Pod", name, revision, created, metadata={"ownerReferences": [owner]}, status=status)


def _event(name: str, number: int, revision: int, kind: str, reason: str, message: str, **fields: Any) -> Any:
    involved = {"kind": kind, "namespace": "batch", "name": name, "uid": f"{kind}-{name}"}
    about = {"involvedObject": involved, "reason": reason, "message": message, "type": "Warning", **fields}
    return _object("Event", f"{name}.18{number:04x}", revision, 10 + number, lastTimestamp=_time(10 + number), **about)


def _nightly() -> Iterator[dict[str, Any]]:
    def ended(code: int, reason: str, second: int, **more: Any) -> dict[str, Any]:
        return {"terminated": {"exitCode": code, "reason": reason, "finishedAt": _time(second), **more}}

    job = _object("Job", "nightly", 1, 0, spec={"parallelism": 3, "completions": 3}, status={})
    failed = {
        "type": "Failed",
        "status": "True",
        "reason": "DeadlineExceeded",
        "message": "<script>alert(1)</script> with password=hunter2hunter2",
        "lastTransitionTime": _time(60),
    }
    yield {"type": "ADDED", "object": job}
    for at, name in enumerate(("nightly-a", "nightly-b", "nightly-c")):
        yield {"type": "ADDED", "object": _pod(name, 2 + at, 1, "Pending", {})}
    crashed = {"restartCount": 1, "state": {"running": {"startedAt": _time(9)}}, "lastState": ended(2, "Error", 8)}
    yield {"type": "MODIFIED", "object": _pod("nightly-a", 10, 1, "Running", crashed)}
    waits = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 40s restarting failed container"}}
    killed = {"restartCount": 4, "state": waits, "lastState": ended(137, "OOMKilled", 30, message="out of memory")}
    yield {"type": "MODIFIED", "object": _pod("nightly-a", 20, 1, "Running", killed)}
    done = _pod("nightly-b", 21, 1, "Succeeded", {"restartCount": 0, "state": ended(0, "Completed", 20)})
    yield {"type": "MODIFIED", "object": done}
    pulls = {"restartCount": 0, "state": {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}}
    yield {"type": "MODIFIED", "object": _pod("nightly-c", 22, 1, "Pending", pulls)}
    yield {"type": "ADDED", "object": _event("nightly-a", 1, 30, "Pod", "BackOff", "Back-off of nightly-a", count=7)}
    yield {"type": "ADDED", "object": _event("nightly-c", 2, 31, "Pod", "BackOff", "Back-off of nightly-c", count=2)}
    yield {"type": "ADDED", "object": _event("nightly-c", 3, 32, "Pod", "Pulled", "Pulled it", type="Normal")}
    yield {"type": "ADDED", "object": _event("nightly", 4, 33, "Job", "DeadlineExceeded", "token=hunter2hunter2")}
    other = _event("nightly", 5, 34, "CronJob", "Missed", "of another object of that name")
    yield {"type": "ADDED", "object": other}
    job = _object("Job", "nightly", 40, 0, spec=job["spec"], status={"failed": 1, "conditions": [failed]})
    yield {"type": "MODIFIED", "object": job}


def status_of(client: Client, source: Source, kind: str, name: str) -> Any:
    track = Track.objects.filter(source=source, kind=kind, name=name).order_by("-life")[0]
    return asked(client, source, f"tracks/{track.id}")["status"]


def test_the_page_of_an_owner_begins_with_what_is_wrong_and_why(client: Client, volcano: Source) -> None:
    job = track_of(volcano, "Job", "ring")
    page = page_text(client, f"/sources/{volcano.pk}/objects/{job.id}/")
    places = [page.index(f'<h2 id="{each}"') for each in ("wrong", "status", "lifeline", "revisions", "relations")]
    assert places == sorted(places)
    assert "1 incident · 2 symptoms · 5 findings" in page and "Service ring was away under 3 Pods, 2 times" in page
    assert "about what it owns: ring-steady-0, ring-steady-1, ring-steady-2" in page
    assert "exit code 1 · Error" in page and "ring-weak-0 · 3 incarnations" in page
    assert "7 Pods" in page and "4 deleted · 3 Failed" in page
    assert "the change was committed within 07:52:13.514956 – .521481" in page


def test_the_incidents_of_an_owner_are_those_that_a_focus_on_it_lists(client: Client, volcano: Source) -> None:
    for kind, name in (("Job", "ring"), ("Service", "ring"), ("Pod", "ring-weak-0"), ("PodGroup", "")):
        track = Track.objects.filter(source=volcano, kind=kind, name__startswith=name).order_by("id")[0]
        of_it = asked(client, volcano, f"tracks/{track.id}")["incidents"]
        listed = asked(client, volcano, f"incidents?track={track.id}")
        assert (of_it["total"], of_it["findings"]) == (listed["total"], listed["findings"])
        assert {each["id"] for each in of_it["incidents"]} == {each["id"] for each in listed["incidents"]}
        if not track.owner:
            focused = lists.incidents(volcano.pk, SourceIncidentFilter(root=track.root))
            assert (of_it["total"], of_it["findings"]) == (focused["total"], focused["findings"])


def test_an_incident_says_what_it_has_to_do_with_an_object(client: Client, volcano: Source) -> None:
    def relations(kind: str, name: str) -> dict[str, str]:
        track = track_of(volcano, kind, name)
        rows = asked(client, volcano, f"tracks/{track.id}")["incidents"]["incidents"]
        return {rule: each["relation"] for each in rows for rule in each["rules"]}

    assert relations("Job", "ring") == dict.fromkeys(("service-gap", "pod-before-service"), "about what it owns")
    assert relations("Service", "ring") == dict.fromkeys(("service-gap", "pod-before-service"), "names it")
    assert relations("Pod", "ring-weak-0") == dict.fromkeys(("service-gap", "pod-before-service"), "about it")
    assert relations("ConfigMap", "ring-svc") == {}


def test_ongoing_incidents_come_first_and_silenced_ones_are_counted(
    client: Client, volcano: Source, django_user_model: Any
) -> None:
    job = track_of(volcano, "Job", "ring")
    mild = Incident.objects.get(source=volcano, rule="service-gap")
    Incident.objects.filter(source=volcano, identity=mild.identity).update(open=True)
    found = asked(client, volcano, f"tracks/{job.id}")["incidents"]
    assert [each["state"] for each in found["incidents"]] == ["ongoing"] and found["ongoing"] == 1
    baselines.set_baseline(volcano.pk, "ada")
    page = page_text(client, f"/sources/{volcano.pk}/objects/{job.id}/")
    assert "No other incident names this object or what it owns." in page and "1 silenced ›" in page


def test_a_job_says_how_its_containers_ended_and_why_they_wait(client: Client, nightly: Source) -> None:
    status = status_of(client, nightly, "Job", "nightly")
    pods = status["pods"]
    assert (pods["total"], pods["restarts"], pods["restarted"], pods["failed"]) == (3, 4, 1, 1)
    assert sorted(pods["phases"]) == [["Pending", 1], ["Running", 1], ["Succeeded", 1]]
    assert [(each["exit_code"], each["reason"], each["names"]) for each in pods["containers"]] == [
        (None, "CrashLoopBackOff", ["nightly-a"]),
        (None, "ImagePullBackOff", ["nightly-c"]),
        (137, "OOMKilled", ["nightly-a"]),
    ]
    assert pods["containers"][2]["message"] == "out of memory"
    assert status["conditions"][0]["reason"] == "DeadlineExceeded" and status["phase"]["text"] == "Failed"
    assert status["numbers"] == [["wanted", 3], ["failed", 1]]
    alone = status_of(client, nightly, "Pod", "nightly-b")["pods"]
    assert (alone["total"], alone["troubled"], alone["containers"]) == (1, 0, [])


def test_warning_events_are_those_about_the_object_and_what_it_owns(client: Client, nightly: Source) -> None:
    events = status_of(client, nightly, "Job", "nightly")["warnings"]
    assert [(each["reason"], each["objects"], each["count"]) for each in events["warnings"]] == [
        ("DeadlineExceeded", 1, 1),
        ("BackOff", 2, 9),
    ]
    assert events["warnings"][1]["object"]["name"] == "nightly-c", "the last one speaks for those that say the same"
    assert (events["events"], events["read"]) == (5, 5)
    of_pod = status_of(client, nightly, "Pod", "nightly-a")["warnings"]
    assert [each["reason"] for each in of_pod["warnings"]] == ["BackOff"] and of_pod["events"] == 1


def test_what_objects_say_is_redacted_and_escaped(client: Client, nightly: Source) -> None:
    job = Track.objects.get(source=nightly, kind="Job")
    page = page_text(client, f"/sources/{nightly.pk}/objects/{job.id}/")
    assert "&lt;script&gt;alert(1)&lt;/script&gt; with password=[redacted]" in page and "<script>alert" not in page
    assert "hunter2" not in page and UNKNOWN in page
    assert "Failed is True" in page


def test_who_wrote_last_is_the_actor_of_the_audit_log(client: Client, volcano: Source) -> None:
    written = status_of(client, volcano, "Job", "ring")["written"]
    assert (written["controller"], written["actor"], written["change"]) == ("vc-cm-head", "admin", "modified")
    assert written["latest"] > written["earliest"]


def test_a_recording_without_bodies_says_what_it_does_not_know(client: Client, sample: Source) -> None:
    job = track_of(sample, "Job", "ring")
    status = asked(client, sample, f"tracks/{job.id}")["status"]
    assert status["conditions"] == [] and status["numbers"] == [] and status["observed"] is None
    assert status["pods"]["failed"] == 3 and status["pods"]["read"] == 0
    page = page_text(client, f"/sources/{sample.pk}/objects/{job.id}/")
    assert "How containers ended is not known. Causeline redacted strictly" in page
    assert re.search(r"What [0-9]+ Events named after these objects say is not known\.", page)


def test_an_owner_of_many_pods_takes_no_more_queries(
    client: Client, imported: Callable[[str, Path], Source], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = []
    for many in (5, 60):
        path = tmp_path / f"{many}.jsonl"
        ends = {"state": {"terminated": {"exitCode": 3, "reason": "Error", "finishedAt": _time(9)}}}
        lines = [{"type": "ADDED", "object": next(_nightly())["object"]}]
        lines += [{"type": "ADDED", "object": _pod(f"nightly-{at}", 10 + at, 1, "Failed", ends)} for at in range(many)]
        path.write_text("\n".join(json.dumps(each) for each in lines))
        source = imported(f"many-{many}", path)
        job = Track.objects.get(source=source, kind="Job")
        with CaptureQueriesContext(connection) as captured:
            pods = object_page.track(source.pk, job.id)["status"]["pods"]
        counts.append(len(captured))
        assert pods and (pods["total"], pods["containers"][0]["pods"]) == (many, many)
    assert counts[0] == counts[1] < 40
    monkeypatch.setattr("timeline.queries.objects.pods.READ", 10)
    monkeypatch.setattr("timeline.queries.objects.pods.COUNTED", 50)
    pods = object_page.track(source.pk, job.id)["status"]["pods"]
    assert pods and (pods["total"], pods["counted"], pods["troubled"], pods["read"]) == (60, 50, 50, 10)
    page = page_text(client, f"/sources/{source.pk}/objects/{job.id}/")
    assert "Counted in 50 of 60 Pods." in page and "was read of 10 of 50 Pods" in page


def test_the_list_of_incidents_can_be_limited_to_an_object(client: Client, volcano: Source) -> None:
    pod = track_of(volcano, "Pod", "ring-weak-0")
    page = page_text(client, f"/sources/{volcano.pk}/incidents/?track={pod.id}&silenced=true")
    assert "of one object and what it owns" in page and "1 incident · " in page
    assert not incident_filter.matching(volcano.pk, SourceIncidentFilter(track=2**40)).exists()


def test_an_incident_leads_to_the_page_of_what_it_is_about(client: Client, volcano: Source) -> None:
    gap = Incident.objects.get(source=volcano, rule="service-gap")
    last = Track.objects.filter(source=volcano, kind=gap.kind, name=gap.name, namespace=gap.namespace).order_by("life")
    page = page_text(client, f"/sources/{volcano.pk}/incidents/{gap.identity}/")
    assert (
        f'<a href="/sources/{volcano.pk}/objects/{list(last)[-1].id}/">vol-restart / {gap.kind} {gap.name}</a>' in page
    )
    nothing: Any = {"group": "", "kind": "Secret", "namespace": "vol-restart", "name": "never-seen"}
    assert lives.page_of(volcano.pk, nothing) == ""


def test_the_last_change_is_the_same_whether_all_changes_are_read_or_only_the_newest(
    volcano: Source, nightly: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = list(Track.objects.filter(source__in=[volcano, nightly]).exclude(family="Events").order_by("source", "id"))[
        ::5
    ]
    quick = [revisions._newest(row) is not None for row in rows]
    assert sum(quick) > len(rows) / 2
    last = [revisions.latest(row) for row in rows]
    monkeypatch.setattr(revisions, "_newest", lambda row: None)
    assert last == [revisions.latest(row) for row in rows]

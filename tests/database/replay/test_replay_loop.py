"""These tests play a recording in a loop: each lap is a new life of the cluster, and happens at the present time."""

import json
import time
import urllib.request
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from collectors.analysis import analyse
from collectors.formats import Limits
from collectors.replay import Replay, serve
from collectors.replay.commits import Tape, tape
from collectors.replay.loop import Loop
from collectors.watch.streams import resources as watch
from collectors.watch.streams.decoding import ObjectDecoder
from tests.inputs.recordings import SAMPLE, entries_of, findings_of, world_of
from timeline.core.entries import Entry, Mark, MarkType, Observation, microseconds, moment
from timeline.history.world.recording import RecordingWorld
from timeline.judge import horizons, judged, touched
from timeline.kinds import seconds
from timeline.models import Cluster, Incident
from timeline.pipeline import follow
from timeline.queries.incidents import lists
from timeline.storage import live

KINDS = ("/api/v1/pods", "/api/v1/services", "/apis/batch.volcano.sh/v1alpha1/jobs")
HOUR = 3_600_000_000  # µs


@pytest.fixture(scope="module")
def sample() -> Tape:
    return tape([(SAMPLE, SAMPLE.name)])


def laps_of(replay: Replay, path: str, laps: int) -> list[dict[str, Any]]:
    """Return what a watch receives until this number of laps is over."""
    query = "watch=1&resourceVersion=1&allowWatchBookmarks=true&timeoutSeconds=60"
    received = []
    with urllib.request.urlopen(f"{replay.url}{path}?{query}", timeout=60) as answer:
        for line in answer:
            event = json.loads(line)
            if event["type"] == "BOOKMARK":
                laps -= 1
                if not laps:
                    break
            else:
                received.append(event)
    return received


def test_each_lap_is_a_life_of_its_own(sample: Tape) -> None:
    with serve(sample, speed="max", loop=True) as replay:
        received = laps_of(replay, KINDS[0], 2)
    lives = defaultdict(list)
    for event in received:
        lives[event["object"]["metadata"]["uid"]].append(event["type"])
    assert {events[0] for events in lives.values()} == {"ADDED"}
    assert {events[-1] for events in lives.values()} == {"DELETED"}
    names = [event["object"]["metadata"]["name"] for event in received if event["type"] == "ADDED"]
    assert names[: len(names) // 2] == names[len(names) // 2 :]
    assert len(lives) == len(names)
    revisions = [int(event["object"]["metadata"]["resourceVersion"]) for event in received]
    assert revisions == sorted(set(revisions))


def test_owners_are_those_of_the_same_lap(sample: Tape) -> None:
    with serve(sample, speed="max", loop=True) as replay, ThreadPoolExecutor() as pool:
        pods, jobs = pool.map(lambda path: laps_of(replay, path, 2), (KINDS[0], KINDS[2]))
    known = {event["object"]["metadata"]["uid"] for event in jobs}
    owners = {
        owner["uid"]
        for event in pods
        for owner in event["object"]["metadata"].get("ownerReferences", ())
        if owner["apiVersion"].startswith("batch.volcano.sh")
    }
    assert owners
    assert owners <= known


def test_it_happens_now(sample: Tape) -> None:
    started = time.time_ns() // 1000
    with serve(sample, speed="max", loop=True) as replay:
        received = laps_of(replay, KINDS[1], 1)
    length = sample.ends - sample.begins
    for event in received:
        created = seconds(event["object"]["metadata"]["creationTimestamp"])
        assert started - 2_000_000 <= created <= started + length + HOUR
        assert "2026-11-21T07:5" not in json.dumps(event)


def test_a_lap_raises_what_the_recording_raises(sample: Tape, tmp_path: Path) -> None:
    """Each rule finds the same in every lap: neither its end nor its beginning is a violation."""

    def found(commits: list[Any]) -> list[tuple[str, str]]:
        for resource in sample.resources:
            lines = [
                b'{"type":"%b","object":%b}\n' % (commit.change.encode(), commit.body)
                for commit in commits
                if commit.resource == resource
            ]
            (tmp_path / f"{resource.name}.jsonl").write_bytes(b"".join(lines))
        world = world_of(entry for file in sorted(tmp_path.iterdir()) for entry in entries_of(file))
        return sorted((each.rule, each.subject.name) for each in findings_of(world) for _ in each.occurrences)

    laps, now = Loop(sample), microseconds(moment(sample.ends)) + HOUR
    first, second = laps.lap(0, now), laps.lap(1, now + HOUR)
    one = found(first.take(0, len(first.times)))
    assert {rule for rule, _ in one} == {
        "pod-before-service",
        "service-gap",
        "lease-shared-config",
        "lease-contention",  # Leases and Deployments share a counter, as in the recording
    }
    assert found(first.take(0, len(first.times)) + second.take(0, len(second.times))) == sorted(one * 2)


# The kinds and namespaces that the causes of the demo are about. The others would only make the test slower.
_JUDGED = {"Pod", "Service", "Job", "PodGroup", "Deployment", "ReplicaSet", "Lease"}
_SPACES = {"vol-restart", "volcano-system"}


@pytest.mark.django_db(transaction=True)
def test_half_an_hour_shows_one_row_for_each_cause(sample: Tape) -> None:
    """The demo replays its recording again and again. What breaks in each lap is one incident that goes on."""
    commits = [each for each in sample.commits if each.resource.kind in _JUDGED and each.namespace in _SPACES]
    source = live.begin(Cluster.objects.create(name="demo"))
    held = live.open_again(source)
    reported = analyse([(SAMPLE, SAMPLE.name)], Limits()).incidents()
    causes = {each.id: each for each in reported if each.rules != ["stale-write"]}  # a watch shows no refused requests
    laps = -1  # the first batch has the lists
    for batch in half_an_hour(sample._replace(commits=commits)):
        follow(held, batch)
        laps += 1
        assert lists.incidents(source.pk)["total"] == (len(causes) if laps else 0)
    assert laps >= 18
    rows = {row.identity: row for row in Incident.objects.filter(source=source)}
    assert {rule for row in rows.values() for rule in row.rules or ()} == {
        "pod-before-service",
        "service-gap",
        "lease-contention",
        "lease-shared-config",
    }
    assert rows.keys() == causes.keys()  # they are the same ones that the recording shows
    for identity, row in rows.items():
        cause = causes[identity]
        assert row.occurrences == laps * cause.occurrences
        # One finding is about all Deployments that use the Lease by its name, however often they are created.
        shared = "lease-shared-config" in cause.rules
        assert row.findings == shared + laps * (len(cause.findings) - shared)


def test_a_lap_does_not_have_the_earlier_ones_judged_again(sample: Tape) -> None:
    """What has ended is judged again only if its end, or what followed it, was not known before."""
    world = RecordingWorld()
    for batch in islice(half_an_hour(sample), 8):
        for _ in world.learn(batch):
            pass
        changed = world.settle()
        subjects = touched(world, changed, horizons(world))
        judged(world, subjects)
        again = {track.key for track in subjects} - {track.key for track in changed}
        assert len(again) <= len(changed) // 5


def half_an_hour(tape: Tape) -> Iterator[list[Observation]]:
    """Yield what the watches of a tape that is played in a loop deliver in half an hour, lap by lap."""
    begins = microseconds(moment(tape.ends)) + HOUR
    resources = [watch.Resource(*each[:5]) for each in tape.resources]
    decoders = {each: ObjectDecoder(resource, {}) for each, resource in zip(tape.resources, resources, strict=True)}
    marks = [Mark(each.group, each.version, each.kind, MarkType.LISTED, begins, 1) for each in resources]
    # The worker compares the kinds in the first seconds, and sees that they share a counter of revisions.
    together = [replace(mark, what=MarkType.TOGETHER, time=begins + n, other="Pod") for mark in marks for n in range(3)]
    yield [*marks, *together]
    now, number, laps = begins, 0, Loop(tape)
    while now < begins + HOUR // 2:
        lap = laps.lap(number, now)
        delivered: list[Observation] = []
        for commit in lap.take(0, len(lap.times)):
            line = b'{"type":"%b","object":%b}' % (commit.change.encode(), commit.body)
            entry = decoders[commit.resource].event(line, commit.time, 0)
            assert isinstance(entry, Entry)
            delivered.append(entry)
        now, number = lap.times[-1], number + 1
        last = max(entry.resource_version or 0 for entry in delivered if isinstance(entry, Entry))
        yield [*delivered, *(replace(mark, what=MarkType.BOOKMARK, time=now, revision=last) for mark in marks)]

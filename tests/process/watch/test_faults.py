"""These tests let clusters misbehave while real workers watch them: nothing is lost or stored twice, and all recover.

All clusters are watched at the same time by the same workers. Each is a replay of one recording with its own faults. In
the end the stored changes are compared with the recording, and the findings with those of all its entries at once.
(They are not compared with other clusters, because rules that measure time depend on the speed of the replay.)
"""

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from typing import Any

import pytest
from pytest_django import DjangoDbBlocker

from collectors.replay import Replay, serve
from tests.followed import Seen, changes_of, connected, expected, found, found_anew, taped, watched
from tests.patience import eventually
from tests.recordings import SAMPLE
from tests.watching import Workers
from timeline.models import Cluster, Gap, Source
from timeline.storage import store

pytestmark = pytest.mark.django_db
TAPE = taped(SAMPLE)
RESOURCES = {
    "pods", "services", "endpoints", "events", "deployments.apps", "replicasets.apps", "jobs.batch.volcano.sh",
    "podgroups.scheduling.volcano.sh", "endpointslices.discovery.k8s.io", "queues.scheduling.volcano.sh",
}  # fmt: skip
BEGIN, END = 150, 500  # commits between which it misbehaves
STEP = 25  # commits that are played at once
SPEED = 100_000
AGAIN = 15  # seconds after which all watches must have recovered
FAULTS: dict[str, dict[str, Any]] = {
    "nothing is wrong": {},
    "connections are reset within an object": {"faults": [{"kind": "reset", "count": 8, "after": 2}]},
    "answers end within a line": {"faults": [{"kind": "half-line", "count": 8, "after": 2}]},
    "watches hang": {"faults": [{"kind": "hang", "resource": "pods"}, {"kind": "hang", "resource": "services"}]},
    "errors are answered": {"faults": [{"kind": "error", "count": 20}], "disconnect": True},
    "there are too many requests": {"faults": [{"kind": "throttle", "count": 10, "seconds": 2}], "disconnect": True},
    "events come twice, and others late": {
        "faults": [{"kind": "duplicate", "count": 30}, {"kind": "delay", "resource": "pods", "seconds": 2}]
    },
    "a clock is wrong by an hour": {"date": 3600},
    "the server is away": {"away": 8, "step": END - BEGIN},
    "the token is rotated": {"token": "new", "disconnect": True},
    "revisions are gone when a watch begins": {"compact": True, "disconnect": True},
    "revisions are gone within a watch": {"faults": [{"kind": "gone-in-stream", "count": 6, "after": 2}]},
}


class Replayed:
    """This class is one cluster with the server behind it, and what is wrong in the end."""

    def __init__(self, name: str, replay: Replay, cluster: Cluster) -> None:
        self.name, self.replay, self.cluster = name, replay, cluster
        self.wrong: list[str] = []
        self.found: set[tuple[str, str, str]] = set()
        self.anew: set[tuple[str, str, str]] = set()
        self.gaps: list[Gap] = []

    @property
    def source(self) -> Source:
        self.cluster.refresh_from_db()
        assert self.cluster.source
        return self.cluster.source

    def play(self, until: int) -> bool:
        """Play a few more commits, and return whether all have been played."""
        try:
            if left := until - int(self.replay.status()["place"]):
                self.replay.control(step=min(STEP, left))
            return not left
        except OSError:  # the server is down at the moment
            return False

    def missing(self, end: int) -> "Counter[Seen]":
        """Return which of the first commits are not stored, except those that a gap covers."""
        missing = expected(TAPE, RESOURCES, 0, end) - changes_of(self.source)
        gaps = list(Gap.objects.filter(source=self.source)) if missing else []
        kinds = {commit.uid: commit.resource.kind for commit in TAPE.commits}
        return Counter({each: 1 for each in missing if not any(_covers(gap, kinds[each[0]], each) for gap in gaps)})

    def look(self) -> None:
        """Collect the results at the end."""
        twice = [each for each, times in changes_of(self.source).items() if times > 1]
        if twice:
            self.wrong.append(f"stored twice: {twice[:3]}")
        if unknown := changes_of(self.source) - expected(TAPE, {each.name for each in TAPE.resources}):
            self.wrong += [f"never happened: {each}" for each in unknown if each[1] is not None]
        self.gaps = list(Gap.objects.filter(source=self.source))

    def agrees(self) -> bool:
        """Return whether the stored findings are those that the stored entries give."""
        self.found, self.anew = found(self.source), found_anew(self.source)
        return self.found == self.anew


def _covers(gap: Gap, kind: str, seen: Seen) -> bool:
    revision = seen[1] or 0
    return gap.kind == kind and int(gap.since_revision or 0) < revision <= int(gap.revision or 0)


@pytest.fixture(scope="module")
def clusters(
    django_db_setup: None, django_db_blocker: DjangoDbBlocker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Replayed]]:
    """Play all clusters with their faults, and yield them with their results."""
    folder = tmp_path_factory.mktemp("faults")
    workers = Workers(folder)
    with django_db_blocker.unblock(), ExitStack() as stack:
        stack.callback(_clear)
        stack.callback(workers.stop_all)
        workers.start("a")
        workers.start("b")
        began = {}
        for name, orders in FAULTS.items():
            rotated: dict[str, Any] = {}
            if "token" in orders:
                rotated = {"token": "old", "token_file": folder / "token"}
                rotated["token_file"].write_text("old")
            # A watch that a bookmark has just told the latest revision would find all revisions that it needs.
            bookmarks = 3600 if "compact" in orders else 1
            replay = stack.enter_context(serve(TAPE, speed=SPEED, paused=True, bookmark_seconds=bookmarks, **rotated))
            began[name] = Replayed(name, replay, connected(replay, folder, name, rotated.get("token_file")))
        _disturb(list(began.values()))
        yield began


def _disturb(clusters: list[Replayed]) -> None:
    eventually(lambda: all(watched(each.cluster) >= RESOURCES for each in clusters), 60)
    _play(clusters, BEGIN)
    for each in clusters:
        each.replay.control(**FAULTS[each.name])
    _play(clusters, END)
    for each in clusters:
        each.replay.control(clear=True, bookmark_seconds=1)
    _settle(clusters, END)
    _play(clusters, len(TAPE.commits))
    _settle(clusters, len(TAPE.commits))
    with suppress(AssertionError):  # the tests say of each cluster what is wrong
        eventually(lambda: sum(each.agrees() for each in clusters) == len(clusters), AGAIN, every=0.5)
    for each in clusters:
        each.look()


def _play(clusters: list[Replayed], until: int) -> None:
    """Play some commits at a time on all clusters, and finally those of a server that was down meanwhile."""
    for _ in range(0, until, STEP):
        for each in clusters:
            each.play(until)
        time.sleep(0.2)
    eventually(lambda: sum(each.play(until) for each in clusters) == len(clusters))


def _settle(clusters: list[Replayed], until: int) -> None:
    """Wait until everything is stored, as long as that may take."""
    waiting = list(clusters)

    def settled() -> bool:
        waiting[:] = [each for each in waiting if each.missing(until)]
        return not waiting

    with suppress(AssertionError):
        eventually(settled, AGAIN, every=0.2)
    for each in waiting:
        missing = each.missing(until)
        each.wrong.append(f"{missing.total()} changes are missing, such as {list(missing)[:3]}")


def _clear() -> None:
    Cluster.objects.all().delete()
    for source in Source.objects.all():
        store.discard_source(source)


@pytest.mark.parametrize("name", FAULTS)
def test_nothing_is_lost_and_nothing_comes_twice(clusters: dict[str, Replayed], name: str) -> None:
    cluster = clusters[name]
    assert cluster.wrong == []
    assert bool(cluster.gaps) == ("gone" in name)
    struck = cluster.replay.status()["faults"]["struck"]
    assert set(struck) == {fault["kind"] for fault in FAULTS[name].get("faults", [])}


@pytest.mark.parametrize("name", FAULTS)
def test_no_finding_is_lost_and_none_is_false(clusters: dict[str, Replayed], name: str) -> None:
    assert clusters[name].found
    assert clusters[name].found == clusters[name].anew

"""This test lets clusters misbehave while real workers watch them, and stops and kills a worker meanwhile: nothing is
lost or stored twice, and all recover.

All clusters are watched at the same time by the same two workers. Each is a replay of one recording with its own
faults. In the end the stored changes are compared with the recording, and the findings with those of all its entries at
once. (They are not compared with other clusters, because rules that measure time depend on the speed of the replay.)
`test_watch.py` has every fault for one watch, and `test_high_availability.py` kills and freezes all other parts.
"""

import time
from collections import Counter
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest

from collectors.replay import Replay, serve
from tests.patience import eventually, patient
from tests.process.watch.scenes import RESOURCES, TAPE, clear
from tests.rows.followed import Seen, changes_of, connected, expected, found, found_anew, watched
from tests.servers.watching import Workers
from timeline.models import Cluster, Gap, Source

pytestmark = pytest.mark.django_db(transaction=True)
BEGIN, END = 150, 400  # commits between which clusters misbehave
STEP = 50  # commits that are played at once
AGAIN = 15  # seconds after which all watches must have recovered
LEASE = 4  # seconds without a sign of life after which another worker takes over; 8 is the default
FAULTS: dict[str, dict[str, Any]] = {
    "connections are reset within an object": {"faults": [{"kind": "reset", "count": 8, "after": 2}]},
    "events come twice, and others late": {
        "faults": [{"kind": "duplicate", "count": 30}, {"kind": "delay", "resource": "pods", "seconds": 2}]
    },
    "the server is away and its clock wrong by an hour": {"date": 3600, "away": 8, "step": END - BEGIN},
    "revisions are gone within a watch": {"faults": [{"kind": "gone-in-stream", "count": 6, "after": 2}]},
}


class Replayed:
    """This class is one cluster with the server behind it, and what is wrong in the end."""

    def __init__(self, name: str, replay: Replay, cluster: Cluster) -> None:
        self.name, self.replay, self.cluster = name, replay, cluster
        self.wrong: list[str] = []

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
        return Counter({each: 1 for each in missing if not any(covers(gap, kinds[each[0]], each) for gap in gaps)})

    def looked(self) -> list[str]:
        """Return what is wrong in the end."""
        if twice := [each for each, times in changes_of(self.source).items() if times > 1]:
            self.wrong.append(f"stored twice: {twice[:3]}")
        if unknown := changes_of(self.source) - expected(TAPE, {each.name for each in TAPE.resources}):
            self.wrong += [f"never happened: {each}" for each in unknown if each[1] is not None]
        if Gap.objects.filter(source=self.source).exists() != ("gone" in self.name):
            self.wrong.append("there is a gap that nothing made, or none where revisions are gone")
        struck, reported = set(self.replay.status()["faults"]["struck"]), FAULTS[self.name].get("faults", [])
        if struck != {fault["kind"] for fault in reported}:
            self.wrong.append(f"only {struck} happened")
        # Bookmarks go on, and what they allow to conclude is judged up to some seconds after they are stored.
        try:
            eventually(self.agrees, AGAIN, every=0.5)
        except AssertionError:
            stored, anew = found(self.source), found_anew(self.source)
            self.wrong.append(f"only stored: {stored - anew}; only found anew: {anew - stored}")
        return self.wrong

    def agrees(self) -> bool:
        """Return whether the stored findings are those that the stored entries give."""
        return found(self.source) == found_anew(self.source) != set()


def covers(gap: Gap, kind: str, seen: Seen) -> bool:
    revision = seen[1] or 0
    return gap.kind == kind and int(gap.since_revision or 0) < revision <= int(gap.revision or 0)


def play(clusters: list[Replayed], until: int) -> None:
    """Play some commits at a time on all clusters, and finally those of a server that was down meanwhile."""
    for _ in range(0, until, STEP):
        for each in clusters:
            each.play(until)
        time.sleep(0.2)
    eventually(lambda: sum(each.play(until) for each in clusters) == len(clusters))


def settle(clusters: list[Replayed], until: int) -> None:
    """Wait until everything is stored, as long as that may take."""
    waiting = list(clusters)

    def settled() -> bool:
        waiting[:] = [each for each in waiting if each.missing(until)]
        return not waiting

    with suppress(AssertionError):
        eventually(settled, AGAIN, every=0.2)
    for each in waiting:
        missing = each.missing(until)
        each.wrong.append(f"{missing.total()} of {until} changes are missing, such as {list(missing)[:3]}")


def holders() -> set[str]:
    """Return the names of the workers that hold clusters, "" if no lease of one is valid."""
    leases = Cluster.objects.values_list("holder", "expires_at")
    return {name.partition("@")[0] if until and until.timestamp() > time.time() else "" for name, until in leases}


def test_nothing_is_lost_or_doubled_whatever_clusters_and_workers_do(tmp_path: Path) -> None:
    workers = Workers(tmp_path, CAUSELINE_LEASE_SECONDS=str(min(8, round(patient(LEASE)))))
    with ExitStack() as stack:
        stack.callback(clear)
        stack.callback(workers.stop_all)
        workers.start("a")
        workers.start("b")
        clusters = []
        for name in FAULTS:
            replay = stack.enter_context(serve(TAPE, speed=100_000, paused=True, bookmark_seconds=1))
            clusters.append(Replayed(name, replay, connected(replay, tmp_path, name)))
        eventually(lambda: all(watched(each.cluster) >= RESOURCES for each in clusters), 60)
        play(clusters, BEGIN)
        for each in clusters:
            each.replay.control(**FAULTS[each.name])
        play(clusters, END)
        for each in clusters:
            each.replay.control(clear=True, bookmark_seconds=1)
        settle(clusters, END)

        eventually(lambda: holders() == {"a", "b"}, 30)
        assert workers.stop("a") < patient(3)
        eventually(lambda: holders() == {"b"}, 3)
        workers.start("a")
        eventually(lambda: holders() == {"a", "b"}, 30)
        play(clusters, END + STEP)
        workers.kill("b")
        play(clusters, len(TAPE.commits))
        eventually(lambda: holders() == {"a"})
        settle(clusters, len(TAPE.commits))
        assert {each.name: each.looked() for each in clusters} == {name: [] for name in FAULTS}

"""Measure what judging one Pod's status write costs in a Job of many Pods, against a Job of few.

    python -m bench.judging [--pods 10000] [--few 100] [--writes 200]

The world learns one write and settles it, and everything that the write affects is judged, as in live collection. The
bench prints the ratio of the medians for both sizes.
"""

import argparse
import statistics
import time
from collections.abc import Iterator

from bench.figures import Figure, show
from timeline.core.entries import Change, Clock, Entry, ObjectRef, Owner
from timeline.core.job_pods import TRACKING
from timeline.history.world.recording import RecordingWorld
from timeline.judge import judge, touched
from timeline.kinds.job import JobFacts
from timeline.kinds.pod import PodFacts

_SECOND = 1_000_000
_OWNER = Owner("batch", "v1", "Job", "many", "job-uid")


class Cluster:
    """A cluster with one Job, whose Pods are created, and then written one after the other."""

    def __init__(self, pods: int) -> None:
        self.world = RecordingWorld()
        self._revision = 100
        job = JobFacts(created=_SECOND, generation=1, active=pods)
        self.take(self._entry("batch", "Job", "many", "job-uid", Change.CREATED, job))
        for number in range(pods):
            facts = PodFacts(created=_SECOND, finalizers=(TRACKING,), phase="Pending")
            self._learn(self._entry("", "Pod", f"many-{number}", f"uid-{number}", Change.CREATED, facts, _OWNER))
        judge(self.world, touched(self.world, self.world.settle()))

    def _entry(
        self, group: str, kind: str, name: str, uid: str, change: Change, facts: object, owner: Owner | None = None
    ) -> Entry:
        self._revision += 1
        received = self._revision * 1_000
        ref = ObjectRef(group, "v1", kind, "bench", name, uid)
        return Entry(ref, change, self._revision, Clock.AUDIT, received, received + 500, facts, (), owner)  # type: ignore[arg-type]

    def _learn(self, entry: Entry) -> None:
        for _ in self.world.learn([entry]):
            pass

    def take(self, entry: Entry) -> None:
        self._learn(entry)
        judge(self.world, touched(self.world, self.world.settle()))

    def status_writes(self, count: int) -> Iterator[Entry]:
        for number in range(count):
            facts = PodFacts(created=_SECOND, finalizers=(TRACKING,), phase="Running", node="node", ready=True)
            yield self._entry("", "Pod", f"many-{number}", f"uid-{number}", Change.MODIFIED, facts, _OWNER)


def median_of(pods: int, writes: int) -> float:
    """Return the median of the seconds that one write takes."""
    cluster = Cluster(pods)
    taken = []
    for entry in cluster.status_writes(min(pods, writes)):
        start = time.perf_counter()
        cluster.take(entry)
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pods", type=int, default=10_000)
    parser.add_argument("--few", type=int, default=100)
    parser.add_argument("--writes", type=int, default=200)
    options = parser.parse_args()
    show(measure(options.few, options.pods, options.writes))


def measure(few: int, many: int, writes: int) -> Iterator[Figure]:
    """Yield how much longer one write takes in a Job of many Pods."""
    rows = [(median_of(few, writes), median_of(many, writes)) for _ in range(3)]
    what = f"judging a Pod's status write, Job of {many} Pods ÷ Job of {few}"
    yield Figure(what, tuple(large / small for small, large in rows), at_most=True)


if __name__ == "__main__":
    main()

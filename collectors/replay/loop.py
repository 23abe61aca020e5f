"""Play a tape in a loop as if it happened now. It does no I/O.

Each lap is a new run: times move to now by whole seconds, objects get new UIDs, and resourceVersions continue. When a
lap ends, objects that still exist are deleted, each before those that it uses. Cluster-scoped objects stay, and later
laps modify them.
"""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from hashlib import md5
from typing import NamedTuple

import orjson
from msgspec.structs import replace

from collectors.replay.commits import Commit, Tape
from collectors.replay.resources import Resource
from timeline.core.entries import moment
from timeline.core.order import SECOND
from timeline.kinds import seconds

_PAUSE = 5 * SECOND  # µs between two laps
_APART = 20_000  # µs between two deletions at the end of a lap
_UUID = re.compile(rb"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_TIME = re.compile(rb'"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)((?:\.\d{1,9})?Z)"')
_USERS_FIRST = (
    *("Event", "CronJob", "Deployment", "StatefulSet", "DaemonSet", "Job", "ReplicaSet", "Pod", "PodGroup"),
    *("EndpointSlice", "Endpoints", "Service", "PersistentVolumeClaim", "PersistentVolume", "Lease"),
)  # the order of deletions; all other kinds follow


class Schedule(NamedTuple):
    """The commits of one lap, which are made when they are taken."""

    times: Sequence[int]  # of the commits, µs
    take: Callable[[int, int], list[Commit]]  # the commits between two positions
    whole: Callable[[int], int]  # the next position that does not divide a change


def schedule_of(tape: Tape) -> Schedule:
    """Return the schedule of a tape as it was recorded."""
    commits = tape.commits

    def whole(place: int) -> int:
        while 0 < place < len(commits) and _of_one(commits[place - 1], commits[place]):
            place += 1
        return place

    return Schedule([commit.time for commit in commits], lambda start, end: commits[start:end], whole)


def _of_one(commit: Commit, other: Commit) -> bool:
    """Return whether two commits are one change that is served under two groups."""
    return commit.revision == other.revision and commit.uid == other.uid


class Loop:
    """Make the schedule of each lap of a tape."""

    def __init__(self, tape: Tape) -> None:
        self._spaces = tape.spaces
        initial = sorted(tape.existing, key=lambda commit: (-_rank(commit), commit.revision))
        initial = [replace(commit, time=tape.begins) for commit in initial]
        remaining = {(commit.resource, commit.uid): commit for commit in initial}
        for commit in tape.commits:
            if commit.change == "DELETED":
                remaining.pop((commit.resource, commit.uid), None)
            else:
                remaining[commit.resource, commit.uid] = commit
        cluster_scoped = [commit for commit in remaining.values() if _is_cluster_scoped(commit.resource)]
        to_delete = sorted((each for each in remaining.values() if each not in cluster_scoped), key=_rank)
        ends = (tape.commits[-1].time if tape.commits else tape.begins) + SECOND
        deletions = [replace(each, change="DELETED", time=ends + at * _APART) for at, each in enumerate(to_delete)]
        self._cluster_scoped = {commit.uid: _creation_time(commit) for commit in cluster_scoped}
        self._commits, self._spans = _renumber([*initial, *tape.commits, *deletions], tape.spaces)
        self._begins = tape.begins
        self._first = 0  # µs by which the first lap is later than the tape

    def lap(self, number: int, after: int) -> Schedule:
        """Return the schedule of lap `number` (the first is 0), which begins soon after the time `after`, in µs."""
        shift = -(-(after - self._begins) // SECOND) * SECOND + (_PAUSE if number else 0)
        if not number:
            self._first = shift
        creation_times = {uid: time + self._first for uid, time in self._cluster_scoped.items()}
        rewritten = _Rewriting(number, shift // SECOND, creation_times)
        bases = {space: 1 + number * span for space, span in self._spans.items()}

        def take(start: int, end: int) -> list[Commit]:
            return [
                rewritten.commit(commit, commit.revision + bases[self._spaces[commit.resource]], shift)
                for commit in self._commits[start:end]
            ]

        return Schedule([commit.time + shift for commit in self._commits], take, lambda place: place)


def _rank(commit: Commit) -> int:
    """Return the place of a kind in the order of deletions."""
    kind = commit.resource.kind
    return _USERS_FIRST.index(kind) if kind in _USERS_FIRST else len(_USERS_FIRST)


def _is_cluster_scoped(resource: Resource) -> bool:
    """Return whether objects of a resource stay between laps."""
    return not resource.namespaced and resource.kind != "PersistentVolume"


def _creation_time(commit: Commit) -> int:
    """Return an object's creationTimestamp in µs since 1970; 0 if it has none."""
    document = orjson.loads(commit.body)["metadata"].get("creationTimestamp")
    return seconds(document) if document else 0


def _renumber(commits: list[Commit], spaces: dict[Resource, str]) -> tuple[list[Commit], dict[str, int]]:
    """Return the commits with resourceVersions that start at 1 and keep their distances, and space -> their number."""
    last: dict[str, int] = {}  # space -> the last recorded resourceVersion
    given: dict[str, int] = {}  # space -> the last new one
    numbered = []
    for commit in commits:
        space = spaces[commit.resource]
        step = max(1, commit.revision - last.get(space, commit.revision))
        given[space] = given.get(space, 0) + step
        last[space] = commit.revision
        numbered.append(replace(commit, revision=given[space]))
    return numbered, {space: count + 1 for space, count in given.items()}


class _Rewriting:
    """Rewrite the commits for one lap."""

    def __init__(self, number: int, shift: int, cluster_scoped: dict[str, int]) -> None:
        """Shift times by `shift` seconds.

        `cluster_scoped` are the UIDs of the objects that stay, and when they were created, in µs.
        """
        self._lap = number
        self._cluster_scoped = cluster_scoped
        self._shift = lru_cache(10_000)(lambda text: _shift_time(text, shift))

    def commit(self, commit: Commit, revision: int, shift: int) -> Commit:
        """Return the commit with the names, UIDs, times and resourceVersion of this lap."""
        uid, name = self._renamed(commit.uid), self._renamed(commit.name)
        body = _TIME.sub(self._time, _UUID.sub(self._uid, commit.body))
        document = orjson.loads(body)
        document["metadata"]["resourceVersion"] = str(revision)
        change = commit.change
        if uid in self._cluster_scoped:
            document["metadata"]["creationTimestamp"] = moment(self._cluster_scoped[uid]).strftime("%Y-%m-%dT%H:%M:%SZ")
            change = "MODIFIED" if self._lap and change == "ADDED" else change
        time = commit.time + shift
        return replace(
            commit, name=name, uid=uid, change=change, revision=revision, time=time, body=orjson.dumps(document)
        )

    def _renamed(self, text: str) -> str:
        return _UUID.sub(self._uid, text.encode()).decode()

    def _uid(self, found: re.Match[bytes]) -> bytes:
        uid = found[0]
        return uid if uid.decode() in self._cluster_scoped else _uid_in_lap(uid, self._lap)

    def _time(self, found: re.Match[bytes]) -> bytes:
        return b'"%b%b"' % (self._shift(found[1]), found[2])


@lru_cache(50_000)
def _uid_in_lap(uid: bytes, lap: int) -> bytes:
    """Return the UID that replaces this one in a lap; it is the same at every call."""
    document = md5(uid + str(lap).encode(), usedforsecurity=False).hexdigest()
    return f"{document[:8]}-{document[8:12]}-4{document[13:16]}-8{document[17:20]}-{document[20:]}".encode()


def _shift_time(text: bytes, shift: int) -> bytes:
    """Return a timestamp shifted by so many seconds."""
    return moment(seconds(f"{text.decode()}Z") + shift * SECOND).strftime("%Y-%m-%dT%H:%M:%S").encode()

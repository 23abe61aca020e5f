"""Pure: a tape is played again and again as if it happened now.

Each lap is one of its own: times are moved to now by whole seconds, objects have UIDs of their own, revisions go on.
When a lap is over, what still stands is deleted, users of a thing before the thing. What belongs to the cluster rather
than to a namespace stays what it is, but for what is written to it again.
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

_PAUSE = 5 * SECOND  # between two laps
_APART = 20_000  # µs between two deletions at the end of a lap
_UUID = re.compile(rb"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_TIME = re.compile(rb'"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)((?:\.\d{1,9})?Z)"')
_USERS_FIRST = (
    *("Event", "CronJob", "Deployment", "StatefulSet", "DaemonSet", "Job", "ReplicaSet", "Pod", "PodGroup"),
    *("EndpointSlice", "Endpoints", "Service", "PersistentVolumeClaim", "PersistentVolume", "Lease"),
)  # and then the rest


class Reel(NamedTuple):
    """Commits as they are played, made when they are taken."""

    times: Sequence[int]
    take: Callable[[int, int], list[Commit]]
    whole: Callable[[int], int]  # the next place at which no change has been half played


def reel(tape: Tape) -> Reel:
    """As it was recorded."""
    commits = tape.commits

    def whole(place: int) -> int:
        while 0 < place < len(commits) and _of_one(commits[place - 1], commits[place]):
            place += 1
        return place

    return Reel([commit.time for commit in commits], lambda start, end: commits[start:end], whole)


def _of_one(commit: Commit, other: Commit) -> bool:
    """Whether they are one change, served under two groups."""
    return commit.revision == other.revision and commit.uid == other.uid


class Laps:
    """One cycle of a tape, told anew for each lap."""

    def __init__(self, tape: Tape) -> None:
        self._spaces = tape.spaces
        opening = sorted(tape.standing, key=lambda commit: (-_rank(commit), commit.revision))
        opening = [replace(commit, time=tape.begins) for commit in opening]
        left = {(commit.resource, commit.uid): commit for commit in opening}
        for commit in tape.commits:
            if commit.change == "DELETED":
                left.pop((commit.resource, commit.uid), None)
            else:
                left[commit.resource, commit.uid] = commit
        lasting = [commit for commit in left.values() if _lasts(commit.resource)]
        closing = sorted((each for each in left.values() if each not in lasting), key=_rank)
        ends = (tape.commits[-1].time if tape.commits else tape.begins) + SECOND
        gone = [replace(each, change="DELETED", time=ends + at * _APART) for at, each in enumerate(closing)]
        self._lasting = {commit.uid: _born(commit) for commit in lasting}
        self._commits, self._spans = _numbered([*opening, *tape.commits, *gone], tape.spaces)
        self._begins = tape.begins
        self._first = 0  # by how much the first lap is later than the tape, µs

    def lap(self, number: int, after: int) -> Reel:
        """The lap of a number, 0 is the first, which begins some time after another moment, microseconds."""
        later = -(-(after - self._begins) // SECOND) * SECOND + (_PAUSE if number else 0)
        if not number:
            self._first = later
        born = {uid: time + self._first for uid, time in self._lasting.items()}
        rewritten = _Rewriting(number, later // SECOND, born)
        bases = {space: 1 + number * span for space, span in self._spans.items()}

        def take(start: int, end: int) -> list[Commit]:
            return [
                rewritten.commit(commit, commit.revision + bases[self._spaces[commit.resource]], later)
                for commit in self._commits[start:end]
            ]

        return Reel([commit.time + later for commit in self._commits], take, lambda place: place)


def _rank(commit: Commit) -> int:
    kind = commit.resource.kind
    return _USERS_FIRST.index(kind) if kind in _USERS_FIRST else len(_USERS_FIRST)


def _lasts(resource: Resource) -> bool:
    return not resource.namespaced and resource.kind != "PersistentVolume"


def _born(commit: Commit) -> int:
    told = orjson.loads(commit.body)["metadata"].get("creationTimestamp")
    return seconds(told) if told else 0


def _numbered(commits: list[Commit], spaces: dict[Resource, str]) -> tuple[list[Commit], dict[str, int]]:
    """With revisions from 1 on that keep their distances where they had some; how many of each space a lap takes."""
    last: dict[str, int] = {}  # as it was recorded
    given: dict[str, int] = {}
    numbered = []
    for commit in commits:
        space = spaces[commit.resource]
        step = max(1, commit.revision - last.get(space, commit.revision))
        given[space] = given.get(space, 0) + step
        last[space] = commit.revision
        numbered.append(replace(commit, revision=given[space]))
    return numbered, {space: count + 1 for space, count in given.items()}


class _Rewriting:
    """What is told otherwise in one lap."""

    def __init__(self, number: int, later: int, lasting: dict[str, int]) -> None:
        """`later`: seconds; `lasting`: the UIDs that stay, and when they were created, microseconds."""
        self._lap = number
        self._lasting = lasting
        self._later = lru_cache(10_000)(lambda text: _moved(text, later))

    def commit(self, commit: Commit, revision: int, later: int) -> Commit:
        uid, name = self._renamed(commit.uid), self._renamed(commit.name)
        body = _TIME.sub(self._time, _UUID.sub(self._uid, commit.body))
        told = orjson.loads(body)
        told["metadata"]["resourceVersion"] = str(revision)
        change = commit.change
        if uid in self._lasting:
            told["metadata"]["creationTimestamp"] = moment(self._lasting[uid]).strftime("%Y-%m-%dT%H:%M:%SZ")
            change = "MODIFIED" if self._lap and change == "ADDED" else change
        time = commit.time + later
        return replace(commit, name=name, uid=uid, change=change, revision=revision, time=time, body=orjson.dumps(told))

    def _renamed(self, text: str) -> str:
        return _UUID.sub(self._uid, text.encode()).decode()

    def _uid(self, found: re.Match[bytes]) -> bytes:
        uid = found[0]
        return uid if uid.decode() in self._lasting else _of_lap(uid, self._lap)

    def _time(self, found: re.Match[bytes]) -> bytes:
        return b'"%b%b"' % (self._later(found[1]), found[2])


@lru_cache(50_000)
def _of_lap(uid: bytes, lap: int) -> bytes:
    """Another UID, the same one whenever it is asked for."""
    told = md5(uid + str(lap).encode(), usedforsecurity=False).hexdigest()
    return f"{told[:8]}-{told[8:12]}-4{told[13:16]}-8{told[17:20]}-{told[20:]}".encode()


def _moved(text: bytes, later: int) -> bytes:
    return moment(seconds(f"{text.decode()}Z") + later * SECOND).strftime("%Y-%m-%dT%H:%M:%S").encode()

"""Put changes into the order of commits, and give each its resourceVersion and time. It does no I/O.

A change that was recorded without a resourceVersion, such as most deletions in an audit log, gets an unused one between
its neighbours.
"""

from bisect import bisect_right
from typing import NamedTuple

import msgspec
import orjson

from collectors.replay.resources import Resource
from timeline.core.entries import revision
from timeline.core.order import SECOND
from timeline.history.lifelines import Moment, Track

GroupKind = tuple[str, str]


class Commit(msgspec.Struct, frozen=True, gc=False):
    """One change as it is served.

    `change` is the type of the watch event, and `body` the object after the change, as JSON.
    """

    resource: Resource
    namespace: str
    name: str
    uid: str
    change: str
    revision: int
    time: int  # when it is played, µs
    body: bytes

    @property
    def key(self) -> tuple[str, str]:
        """Return namespace and name, by which lists are ordered."""
        return self.namespace, self.name


class Draft(NamedTuple):
    """A commit that may lack its resourceVersion."""

    track: Track
    moment: Moment
    change: str
    body: bytes
    after: int  # its resourceVersion is greater than this one
    before: int  # and less than this one; 0: there is no upper limit

    @property
    def time(self) -> int:
        """Return when it is played: its time in the drawing, or when it arrived at the recorder if that is later."""
        return max(self.moment.time, self.moment.entry.arrived)


def in_commit_order(drafts: list[Draft], served: dict[GroupKind, Resource]) -> list[Commit]:
    """Return the commits of one space in the order of resourceVersions, with times that never decrease.

    A space is a set of resources that share one counter of resourceVersions.
    """
    with_revision = sorted(
        (draft for draft in drafts if draft.moment.entry.resource_version is not None), key=_recorded_revision
    )
    used = {_recorded_revision(draft) for draft in with_revision}
    times, highest = [], 0
    for draft in with_revision:
        highest = max(highest, draft.time)
        times.append(highest)
    revisions = [_recorded_revision(draft) for draft in with_revision]
    placed_drafts = [
        (revision, time, draft) for revision, time, draft in zip(revisions, times, with_revision, strict=True)
    ]
    last_given: dict[Track, int] = {}  # track -> the last resourceVersion that was given to it
    without_revision = (draft for draft in drafts if draft.moment.entry.resource_version is None)
    for draft in sorted(without_revision, key=lambda draft: draft.time):
        place = bisect_right(times, draft.time)
        least = max(revisions[place - 1] if place else 0, draft.after, last_given.get(draft.track, 0))
        revision = _free_revision(least, draft.after, draft.before, used)
        used.add(revision)
        last_given[draft.track] = revision
        placed_drafts.append((revision, draft.time, draft))
    commits, highest = [], 0
    for revision, time, draft in sorted(placed_drafts, key=lambda each: each[0]):
        highest = max(highest, time)
        commits.append(commit_of(draft, served, revision, highest))
    return commits


def _recorded_revision(draft: Draft) -> int:
    return draft.moment.entry.resource_version or 0


def _free_revision(least: int, after: int, before: int, used: set[int]) -> int:
    """Return an unused resourceVersion between `after` and `before`, as little above `least` as possible."""
    revision = least + 1
    while revision in used and (not before or revision < before):
        revision += 1
    if not before or revision < before:
        return revision
    revision = before - 1
    while revision in used and revision > after + 1:
        revision -= 1
    return revision


class _Version(msgspec.Struct, gc=False):
    resourceVersion: str = ""


class _Versioned(msgspec.Struct, gc=False):
    metadata: _Version


_versioned = msgspec.json.Decoder(_Versioned)


def revision_of(body: bytes) -> int | None:
    """Return the resourceVersion in an object."""
    return revision(_versioned.decode(body).metadata.resourceVersion)


def commit_of(draft: Draft, served: dict[GroupKind, Resource], own: int, time: int) -> Commit:
    """Return the commit of a draft, with this resourceVersion in its body."""
    name, body = draft.track.name, draft.body
    if revision_of(body) != own:
        with_revision = orjson.loads(body)
        with_revision["metadata"]["resourceVersion"] = str(own)
        body = orjson.dumps(with_revision)
    uid = draft.moment.entry.ref.uid
    return Commit(served[name[:2]], name.namespace, name.name, uid, draft.change, own, time, body)


def spread(commits: list[Commit]) -> list[Commit]:
    """Distribute commits that have the same whole second evenly over it; objects have times in whole seconds."""
    evenly: list[Commit] = []
    at = 0
    while at < len(commits):
        time, end = commits[at].time, at + 1
        while end < len(commits) and commits[end].time == time:
            end += 1
        until = min(time + SECOND, commits[end].time if end < len(commits) else time + SECOND)
        step = (until - time) // (end - at) if time % SECOND == 0 else 0
        for number, commit in enumerate(commits[at:end]):
            evenly.append(msgspec.structs.replace(commit, time=time + number * step) if number and step else commit)
        at = end
    return evenly

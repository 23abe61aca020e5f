"""Pure: a recording becomes what stood when it begins, and the commits that follow, each with the object after it.

Order and times are those that Causeline draws (`timeline/ledger.py`). What a recording tells of without its revision,
such as most deletions in an audit log, gets an unused one between its neighbours. Of a binding the log does not show
the Pod: it is the Pod before, on its node.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import orjson

from collectors.analysis import processors, two_clusters
from collectors.formats import Limits, NotARecording, Reading, Skipped, named, read
from collectors.replay.resources import Names, Resource, defined_by, guessed
from timeline.entries import Change, Entry, moment, revision
from timeline.ledger import Ledger
from timeline.lifelines import Moment, Track
from timeline.observations import identity
from timeline.order import SECOND


class Commit(msgspec.Struct, frozen=True, gc=False):
    """One change as it is served. `change` is the word of a watch event; `body` the object after it, as JSON."""

    resource: Resource
    namespace: str
    name: str
    uid: str
    change: str
    revision: int
    time: int  # when it is played, microseconds
    body: bytes

    @property
    def key(self) -> tuple[str, str]:
        """In the order of keys objects are listed."""
        return self.namespace, self.name


class Tape(NamedTuple):
    """A recording as it is played. Revisions of two resources can be compared where both are of one space."""

    resources: list[Resource]
    spaces: dict[Resource, str]
    standing: list[Commit]  # what stood when it begins
    commits: list[Commit]  # in the order of their times, and of one space in that of revisions
    begins: int  # microseconds
    ends: int


def tape(inputs: Sequence[tuple[Path, str]], limits: Limits = Limits()) -> Tape:  # noqa: B008
    """Read recordings as one. Raises NotARecording where they hold no objects, or are of two clusters."""
    inputs = named(inputs)
    bodies = _Bodies()
    ledger = Ledger()
    skipped: list[Skipped] = []
    reading = read(inputs, bodies=True, limits=limits, processes=processors())
    for _ in ledger.learn(bodies.kept(_entries(reading, skipped))):
        pass
    called = ", ".join(name for _, name in inputs)
    if not ledger.seen and skipped:
        raise NotARecording(f"{called}: no change of an object can be used. The first reason: {skipped[0]}.")
    if not bodies:
        raise NotARecording(
            f"{called}: no objects are recorded, so there is nothing to serve. Record them: an audit log at level"
            " RequestResponse, kubectl get --watch --output-watch-events -o json, or a recording that Causeline wrote."
        )
    if mixed := ledger.mixed():
        raise NotARecording(two_clusters(*mixed))
    return _taped(ledger.settle().values(), bodies)


def _entries(reading: Reading, skipped: list[Skipped]) -> Iterator[Entry]:
    for item in reading:
        if isinstance(item, Entry):
            yield item
        elif isinstance(item, Skipped) and not skipped:
            skipped.append(item)


class _Bodies:
    """The objects that entries tell, by object and change."""

    def __init__(self) -> None:
        self._told: dict[tuple[str, object], bytes] = {}

    def __bool__(self) -> bool:
        return bool(self._told)

    def kept(self, entries: Iterable[Entry]) -> Iterator[Entry]:
        for entry in entries:
            if entry.body:
                who = _who(entry)
                self._told[who, identity(entry)] = entry.body
                if entry.identity:
                    self._told[who, entry.identity] = entry.body
            yield entry

    def of(self, entry: Entry) -> bytes:
        who = _who(entry)
        return self._told.get((who, identity(entry))) or self._told.get((who, entry.identity), b"")


def _who(entry: Entry) -> str:
    ref = entry.ref
    return ref.uid or f"{ref.group}/{ref.kind}/{ref.namespace}/{ref.name}"


class _Draft(NamedTuple):
    """A commit that may lack its revision."""

    track: Track
    moment: Moment
    change: str
    body: bytes
    after: int  # its revision is greater than this one,
    before: int  # and less than this one


def _taped(lanes: Iterable[list[Track]], bodies: _Bodies) -> Tape:
    standing: list[_Draft] = []
    drafts: dict[str, list[_Draft]] = defaultdict(list)
    for tracks in lanes:
        for number, track in enumerate(sorted(tracks, key=lambda track: track.first.at)):
            changes = _life(track, bodies)
            if changes and not number and changes[0].moment.change is not Change.CREATED:
                first = changes.pop(0)
                standing.append(first)
                if first.moment.change is not Change.OBSERVED:  # its state before that is not known
                    word = "DELETED" if first.moment.change is Change.DELETED else "MODIFIED"
                    changes.insert(0, first._replace(change=word))
            if changes:
                drafts[changes[0].moment.space] += changes
    everything = [*standing, *(draft for each in drafts.values() for draft in each)]
    served = _served(everything)
    spaces = {served[draft.track.name[:2]]: draft.moment.space for draft in everything}
    placed = [commit for each in drafts.values() for commit in _placed(each, served)]
    commits = _spread(sorted(placed, key=lambda commit: commit.time))
    begins = commits[0].time if commits else max(draft.moment.time for draft in standing)
    stood_as = [_commit(draft, served, revision_of(draft.body) or 1, begins) for draft in standing]
    return Tape(sorted(spaces), spaces, stood_as, commits, begins, commits[-1].time if commits else begins)


def _life(track: Track, bodies: _Bodies) -> list[_Draft]:
    """What is known of one object, the first as if it were being added; nothing where no body of it is known."""
    known = [bodies.of(each.entry) for each in track.moments]
    body = next((each for each in known if each), b"")
    if not body:
        return []
    drafts: list[_Draft] = []
    last = 0
    own = [each.entry.resource_version for each in track.moments]
    for at, (each, told) in enumerate(zip(track.moments, known, strict=True)):
        following = next((each for each in own[at + 1 :] if each is not None and each > last), 0)
        change = "ADDED" if not drafts else "DELETED" if each.change is Change.DELETED else "MODIFIED"
        if each.change is Change.MODIFIED and not told and drafts:
            told = _bound(body, each.entry)
            if not told:
                continue  # what it changed is not known
        body = told or body
        drafts.append(_Draft(track, each, change, body, last, following))
        last = max(last, own[at] or 0)
        if change == "DELETED":
            break
    return drafts


def _bound(body: bytes, entry: Entry) -> bytes:
    """A Pod on the node that a binding names; b"" for what is no binding."""
    node = dict(entry.sets).get("node") if entry.action == "binding" else None
    if not node:
        return b""
    pod: dict[str, Any] = orjson.loads(body)
    pod.setdefault("spec", {})["nodeName"] = node
    status = pod.setdefault("status", {})
    others = [each for each in status.get("conditions") or [] if each.get("type") != "PodScheduled"]
    since = moment(entry.received).strftime("%Y-%m-%dT%H:%M:%SZ")
    scheduled = {"type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": since}
    status["conditions"] = [*others, scheduled]
    return orjson.dumps(pod)


def _served(drafts: Iterable[_Draft]) -> dict[tuple[str, str], Resource]:
    """The resource of each kind: of several versions the last that was recorded."""
    versions: dict[tuple[str, str], str] = {}
    namespaced: dict[tuple[str, str], bool] = defaultdict(bool)
    defined: dict[tuple[str, str], Names] = {}
    for draft in drafts:
        name, ref = draft.track.name, draft.moment.entry.ref
        versions[name[:2]] = ref.version
        namespaced[name[:2]] |= bool(name.namespace)
        if name.kind == "CustomResourceDefinition":
            group, kind, names = defined_by(orjson.loads(draft.body))
            defined[group, kind] = names
    return {
        key: Resource(key[0], version, key[1], *defined.get(key, guessed(key[1], namespaced[key])))
        for key, version in versions.items()
    }


def _placed(drafts: list[_Draft], served: dict[tuple[str, str], Resource]) -> list[Commit]:
    """The commits of one space in the order of revisions, with times that never go back."""
    told = sorted((draft for draft in drafts if draft.moment.entry.resource_version is not None), key=_own)
    used = {_own(draft) for draft in told}
    times, highest = [], 0
    for draft in told:
        highest = max(highest, draft.moment.time)
        times.append(highest)
    revisions = [_own(draft) for draft in told]
    found = [(revision, time, draft) for revision, time, draft in zip(revisions, times, told, strict=True)]
    given: dict[Track, int] = {}  # the last of each life
    for draft in sorted((draft for draft in drafts if draft.moment.entry.resource_version is None), key=_time):
        place = bisect_right(times, draft.moment.time)
        least = max(revisions[place - 1] if place else 0, draft.after, given.get(draft.track, 0))
        revision = _unused(least, draft.after, draft.before, used)
        used.add(revision)
        given[draft.track] = revision
        found.append((revision, draft.moment.time, draft))
    commits, highest = [], 0
    for revision, time, draft in sorted(found, key=lambda each: each[0]):
        highest = max(highest, time)
        commits.append(_commit(draft, served, revision, highest))
    return commits


def _own(draft: _Draft) -> int:
    return draft.moment.entry.resource_version or 0


def _time(draft: _Draft) -> int:
    return draft.moment.time


def _unused(least: int, after: int, before: int, used: set[int]) -> int:
    """A revision that no other commit has, as near behind `least` as there is one."""
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
    """The revision that an object bears."""
    return revision(_versioned.decode(body).metadata.resourceVersion)


def _commit(draft: _Draft, served: dict[tuple[str, str], Resource], own: int, time: int) -> Commit:
    name, body = draft.track.name, draft.body
    if revision_of(body) != own:
        told = orjson.loads(body)
        told["metadata"]["resourceVersion"] = str(own)
        body = orjson.dumps(told)
    uid = draft.moment.entry.ref.uid
    return Commit(served[name[:2]], name.namespace, name.name, uid, draft.change, own, time, body)


def _spread(commits: list[Commit]) -> list[Commit]:
    """Those that share a whole second, as objects tell it, lie evenly in it."""
    spread: list[Commit] = []
    at = 0
    while at < len(commits):
        time, end = commits[at].time, at + 1
        while end < len(commits) and commits[end].time == time:
            end += 1
        until = min(time + SECOND, commits[end].time if end < len(commits) else time + SECOND)
        step = (until - time) // (end - at) if time % SECOND == 0 else 0
        for number, commit in enumerate(commits[at:end]):
            spread.append(msgspec.structs.replace(commit, time=time + number * step) if number and step else commit)
        at = end
    return spread

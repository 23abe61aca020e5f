"""Turn a recording into the objects that exist when it begins, and the commits that follow. It does no I/O.

Order and times are those of Causeline's timeline (`timeline/history/ledger/ledger.py`). An audit log does not show the
Pod of a binding: the replay serves the Pod as it was before, with the node filled in.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from collectors.analysis import two_clusters_message
from collectors.formats import Limits, NotARecording, Reading, Skipped, named, read
from collectors.replay import core_events
from collectors.replay.commit_order import Commit, Draft, commit_of, in_commit_order, revision_of, spread
from collectors.replay.resources import Names, Resource, guess_names, names_in_definition
from timeline.core.entries import Change, Entry, LogLine, Observation, Request, moment
from timeline.core.machine.processors import available_processors
from timeline.core.observations import identity
from timeline.history.ledger.ledger import Ledger
from timeline.history.lifelines import Track

__all__ = ["Commit", "Tape", "tape"]


class Tape(NamedTuple):
    """A recording prepared for replay.

    Resources of one space share a counter, so that their resourceVersions can be compared.
    """

    resources: list[Resource]
    spaces: dict[Resource, str]
    existing: list[Commit]  # the objects that exist when it begins
    commits: list[Commit]  # in the order of times; within a space also of resourceVersions
    begins: int  # µs since 1970, like `ends`
    ends: int


def tape(inputs: Sequence[tuple[Path, str]], limits: Limits = Limits()) -> Tape:  # noqa: B008
    """Read recordings as one. Raise NotARecording if they hold no objects, or come from two clusters."""
    inputs = named(inputs)
    bodies = _Bodies()
    ledger = Ledger()
    skipped: list[Skipped] = []
    reading = read(inputs, bodies=True, limits=limits, processes=available_processors())
    for _ in ledger.learn(bodies.collect(_observations(reading, skipped))):
        pass
    names_shown = ", ".join(name for _, name in inputs)
    if not ledger.seen and skipped:
        raise NotARecording(f"{names_shown}: no change of an object can be used. The first reason: {skipped[0]}.")
    if not bodies:
        raise NotARecording(
            f"{names_shown}: no objects are recorded, so there is nothing to serve. Record them: an audit log at level"
            " RequestResponse, kubectl get --watch --output-watch-events -o json, or a recording that Causeline wrote."
        )
    if conflict := ledger.two_clusters():
        raise NotARecording(two_clusters_message(*conflict))
    return _tape_of(ledger.settle().values(), bodies)


def _observations(reading: Reading, skipped: list[Skipped]) -> Iterator[Observation]:
    """Yield the observations of a reading, and keep what was skipped first."""
    for item in reading:
        if isinstance(item, Request | LogLine):
            continue  # it shows no change, so there is nothing to serve
        if not isinstance(item, Skipped):
            yield item
        elif not skipped:
            skipped.append(item)


class _Bodies:
    """Hold the bodies of recorded objects, by object and change."""

    def __init__(self) -> None:
        self._observations: dict[tuple[str, object], bytes] = {}

    def __bool__(self) -> bool:
        return bool(self._observations)

    def collect(self, observations: Iterable[Observation]) -> Iterator[Observation]:
        """Yield the observations, and keep the bodies in them."""
        for entry in observations:
            if isinstance(entry, Entry) and entry.body:
                object_key = _object_key(entry)
                self._observations[object_key, identity(entry)] = entry.body
                if entry.identity:
                    self._observations[object_key, entry.identity] = entry.body
            yield entry

    def of(self, entry: Entry) -> bytes:
        """Return the body of an entry; b"" if none was recorded."""
        object_key = _object_key(entry)
        return self._observations.get((object_key, identity(entry))) or self._observations.get(
            (object_key, entry.identity), b""
        )


def _object_key(entry: Entry) -> str:
    """Return the key by which an object is recognised: its UID, else its kind and name."""
    ref = entry.ref
    return ref.uid or f"{ref.group}/{ref.kind}/{ref.namespace}/{ref.name}"


def _tape_of(lanes: Iterable[list[Track]], bodies: _Bodies) -> Tape:
    """Return the tape of all tracks, which are in one list for each name of an object."""
    existing: list[Draft] = []
    drafts: dict[str, list[Draft]] = defaultdict(list)
    for tracks in lanes:
        for number, track in enumerate(sorted(tracks, key=lambda track: track.first.at)):
            changes = _drafts_of(track, bodies)
            if changes and not number and changes[0].moment.change is not Change.CREATED:
                first = changes.pop(0)
                existing.append(first)
                # Its earlier state is not known, so the change is served as well.
                if first.moment.change is not Change.OBSERVED:
                    word = "DELETED" if first.moment.change is Change.DELETED else "MODIFIED"
                    changes.insert(0, first._replace(change=word))
            if changes:
                drafts[changes[0].moment.space] += changes
    everything = [*existing, *(draft for each in drafts.values() for draft in each)]
    served = _served_resources(everything)
    spaces = {served[draft.track.name[:2]]: draft.moment.space for draft in everything}
    commits = [commit for each in drafts.values() for commit in in_commit_order(each, served)]
    commits = spread(sorted(commits, key=lambda commit: commit.time))
    begins = commits[0].time if commits else max(draft.moment.time for draft in existing)
    initial = [commit_of(draft, served, revision_of(draft.body) or 1, begins) for draft in existing]
    other = next(filter(core_events.is_events_group, spaces), None)
    if other and spaces.setdefault(core_events.CORE, spaces[other]) == spaces[other]:
        known = {commit.uid for commit in (*initial, *commits) if commit.resource == core_events.CORE}
        initial, commits = core_events.with_core_events(initial, known), core_events.with_core_events(commits, known)
    return Tape(sorted(spaces), spaces, initial, commits, begins, commits[-1].time if commits else begins)


def _drafts_of(track: Track, bodies: _Bodies) -> list[Draft]:
    """Return the changes of one object, the first as ADDED; [] if no body of it is known."""
    known = [bodies.of(each.entry) for each in track.moments]
    body = next((each for each in known if each), b"")
    if not body:
        return []
    drafts: list[Draft] = []
    last = 0
    own = [each.entry.resource_version for each in track.moments]
    for at, (each, body_known) in enumerate(zip(track.moments, known, strict=True)):
        following = next((each for each in own[at + 1 :] if each is not None and each > last), 0)
        change = "ADDED" if not drafts else "DELETED" if each.change is Change.DELETED else "MODIFIED"
        if each.change is Change.MODIFIED and not body_known and drafts:
            body_known = _pod_after_binding(body, each.entry)
            if not body_known:
                continue  # the result of this change is not known
        body = body_known or body
        drafts.append(Draft(track, each, change, body, last, following))
        last = max(last, own[at] or 0)
        if change == "DELETED":
            break
    return drafts


def _pod_after_binding(body: bytes, entry: Entry) -> bytes:
    """Return the Pod on the node that a binding names; b"" if the entry is not a binding."""
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


def _served_resources(drafts: Iterable[Draft]) -> dict[tuple[str, str], Resource]:
    """Return the resource of each kind, in the last of its recorded versions."""
    versions: dict[tuple[str, str], str] = {}
    namespaced: dict[tuple[str, str], bool] = defaultdict(bool)
    defined: dict[tuple[str, str], Names] = {}
    for draft in drafts:
        name, ref = draft.track.name, draft.moment.entry.ref
        versions[name[:2]] = ref.version
        namespaced[name[:2]] |= bool(name.namespace)
        if name.kind == "CustomResourceDefinition":
            group, kind, names = names_in_definition(orjson.loads(draft.body))
            defined[group, kind] = names
    return {
        key: Resource(key[0], version, key[1], *defined.get(key, guess_names(*key, namespaced[key])))
        for key, version in versions.items()
    }

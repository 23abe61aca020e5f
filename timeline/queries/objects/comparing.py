"""Read runs that are compared: an owner of a source with what belongs to it, or a whole source."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from timeline.comparing.comparison import compare_owners, compare_recordings
from timeline.comparing.lives import (
    OBSERVED,
    Change,
    Found,
    GroupKind,
    Life,
    Relation,
    Run,
    Tree,
    actor_name,
    is_state,
    life,
)
from timeline.comparing.specs import spec_of
from timeline.comparing.tracks import FURNITURE, MOST, RELATED, SPECS, first_of_each
from timeline.core.entries import Entry, Facts, ObjectRef, microseconds
from timeline.kinds import NOISE, kind_of, resource_of
from timeline.models import Finding, Source, Track
from timeline.payloads.comparison import ComparisonPayload
from timeline.queries.objects.attribution import anonymous, key_of
from timeline.queries.objects.lives import page
from timeline.queries.sources.extents import extent
from timeline.storage.entries import chunks

GOOD = 20  # the most good runs of a comparison
LARGEST = 5_000  # the most objects of a whole source that is compared; the command line compares larger ones
_PARTS = 4  # of the entries of a run, as `chunks.parts` divides them, that are read at most
_BEFORE = 3_600_000_000  # µs before the beginning of a track in which its first request may have been received


class Chosen(NamedTuple):
    """Which run is meant: an owner of a source, or the whole source."""

    source: int
    track: int | None = None

    def __str__(self) -> str:
        return str(self.source) if self.track is None else f"{self.source}-{self.track}"


class TooLarge(Exception):
    """A run has too many objects, or too many or too large changes, to be compared here. The message says what to
    do."""


def compare(good: Sequence[Chosen], bad: Chosen) -> ComparisonPayload:
    """Compare runs, all of them owners or all of them sources.

    Raises Source.DoesNotExist, Track.DoesNotExist and TooLarge.
    """
    runs = [_Loaded(each) for each in (*good, bad)]
    kinds = {kind for each in runs for kind in each.kinds}
    *fine, broken = (each.run(kinds) for each in runs)
    return compare_owners(fine, broken) if bad.track is not None else compare_recordings(fine, broken)


class _Loaded:
    """Hold the rows of one run."""

    def __init__(self, chosen: Chosen) -> None:
        self._source = Source.objects.get(pk=chosen.source, ready=True)
        self._chosen = chosen
        self._cut = False
        if chosen.track is None:
            self.root: Track | None = None
            self._owned = self._all()
            self._using: list[Track] = []
        else:
            self.root = Track.objects.get(source=chosen.source, id=chosen.track)
            self._owned = self._tree(self.root)
            naming = self._rows().filter(needs__contains=[self.root.lane], life__overlap=self.root.life)
            naming = naming.exclude(kind__in=OBSERVED).order_by("life", "id")
            known = {row.id for row in self._owned}
            self._using = [row for row in naming[: RELATED + 1] if _is_compared(row) and row.id not in known]
            self._cut = self._cut or len(self._using) > RELATED
        self._lanes = self._needed_lanes()
        rows = {
            row.id: row for row in (*self._owned, *self._using, *(each for of in self._lanes.values() for each in of))
        }
        self.kinds: set[GroupKind] = {(row.group, row.kind) for row in rows.values()}
        self._entries = _entries(self._source, list(rows.values()))
        self._own_counters = {tuple(each) for each in self._source.own_counters}
        self._spec_read = first_of_each(SPECS)
        self._findings: dict[int, list[Found]] = defaultdict(list)
        findings = Finding.objects.filter(source=self._source, withdrawn=False, subject__in=list(rows))
        for subject, *found in findings.values_list("subject", "identity", "rule", "severity", "document__summary"):
            self._findings[subject].append(Found(*found))

    def _rows(self) -> Any:
        return Track.objects.filter(source=self._source)

    def _all(self) -> list[Track]:
        rows = self._rows().exclude(family__in=NOISE).exclude(name__in=FURNITURE)
        if rows.count() > LARGEST:
            raise TooLarge(
                f"{self._source.name} has more than {LARGEST:,} objects. Compare two owners, or use causeline compare."
            )
        return list(rows)

    def _tree(self, root: Track) -> list[Track]:
        """Return an owner and everything that it owns, directly or not."""
        children: dict[int, list[int]] = defaultdict(list)
        of_root = self._rows().filter(root=root.root).exclude(owner=0).order_by("number", "id")
        for identity, owner in of_root.values_list("id", "owner"):
            children[owner].append(identity)
        wanted = {root.id: None}
        for identity in (order := [root.id]):  # the list grows while it is read
            for child in children[identity]:
                if child not in wanted:
                    wanted[child] = None
                    order.append(child)
        self._cut = len(order) > MOST
        rows = self._rows().filter(id__in=order[:MOST])
        return [row for row in rows if row.id == root.id or _is_compared(row)]

    def _needed_lanes(self) -> dict[int, list[Track]]:
        """Return the incarnations of the names that the owned objects refer to, by lane, in the order in which they
        began."""
        wanted = {lane for row in self._owned for lane in row.needs}
        found: dict[int, list[Track]] = defaultdict(list)
        for row in self._rows().filter(lane__in=wanted).order_by("life", "id")[: 2 * MOST]:
            if _is_compared(row):
                found[row.lane].append(row)
        return found

    def run(self, kinds: Iterable[GroupKind]) -> Run:
        """Return the run. Of `kinds`, those that the source did not observe are left out of `Run.kinds`."""
        complete = {
            (each["group"], each["resource"]): each["complete"]
            for each in self._source.document.get("coverage", ())
            if each["level"] != "Metadata"  # it shows no owners
        }
        observed = {
            (group, kind): complete[group, resource_of(kind)] and not self._source.skipped
            for group, kind in kinds
            if (group, resource_of(kind)) in complete
        }
        first, last = extent(self._source)
        trees = [self._make(root, rows) for root, rows in self._groups()]
        url = "" if self.root is None else page(self._source.pk, self.root.id)
        label = self._source.name
        if self.root is not None:
            where = f" in {self.root.namespace}" if self.root.namespace else ""
            label = f"{self.root.kind} {self.root.name}{where} · {self._source.name}"
        return Run(label, trees, observed, first, last, url or f"/sources/{self._source.pk}/")

    def _groups(self) -> Iterator[tuple[Track, list[Track]]]:
        """Yield each root with the rows of its tree."""
        if self.root is not None:
            yield self.root, self._owned
            return
        by_id = {row.id: row for row in self._owned}
        trees: dict[int, list[Track]] = defaultdict(list)
        for row in self._owned:
            root, seen = row, {row.id}
            while (owner := by_id.get(root.owner)) and owner.id not in seen:
                seen.add(owner.id)
                root = owner
            trees[root.id].append(row)
        for identity in sorted(trees):
            yield by_id[identity], trees[identity]

    def _make(self, root: Track, owned: Sequence[Track]) -> Tree:
        known = {row.id for row in owned}
        needed: dict[int, Track] = {}
        for row in owned:
            for lane in row.needs:
                there = self._lanes.get(lane, ())
                end = row.life.upper
                before = [each for each in there if end is None or each.life.lower <= end]
                if there and (one := before[-1] if before else there[0]).id not in known:
                    needed.setdefault(one.id, one)
        related: list[tuple[Track, Relation]] = [
            (row, "needed") for row in sorted(needed.values(), key=_place)[:RELATED]
        ]
        related += [(row, "needs it") for row in self._using[:RELATED]]
        lives = [
            self._life(row, str(row.owner) if row.id != root.id else "", "owned", owned)
            for row in sorted(owned, key=_place)
        ]
        lives += [self._life(row, "", relation, owned) for row, relation in related]
        of_root = next(each for each in lives if each.key == str(root.id))
        findings = [found for each in lives for found in self._findings[int(each.key)]]
        return Tree(of_root, lives, findings, self._cut or len(needed) > RELATED)

    def _life(self, row: Track, parent: str, relation: Relation, owned: Sequence[Track]) -> Life:
        kind = kind_of(row.group, row.kind)
        ref = ObjectRef(row.group, row.version, row.kind, row.namespace, row.name, row.uid)
        space = row.kind if (row.group, row.kind) in self._own_counters else ""
        entries = self._entries.get(key_of(row.id), [])
        if anonymous(row):  # other incarnations without a UID have the same key
            start, end = microseconds(row.life.lower), row.life.upper and microseconds(row.life.upper)
            entries = [each for each in entries if start <= each.received and (end is None or each.received <= end)]
        changes = list(_changes(row, kind.facts_type, space, entries))
        spec = None
        if self._spec_read(parent, row.kind):
            owner = next((each.owner for each in entries if each.owner), None)
            bodies = sorted((each.resource_version or 0, each.received, each.body) for each in entries if each.body)
            created = changes[0].facts if changes[0].change == "created" and is_state(changes[0].facts) else None
            spec = spec_of(ref, owner, [body for *_, body in (*bodies[:1], *bodies[-1:])], created)
        return life(str(row.id), ref, parent, relation, kind, changes, spec)


def _is_compared(row: Track) -> bool:
    return row.family not in NOISE and row.name not in FURNITURE


def _place(row: Track) -> tuple[Any, int]:
    return row.life.lower, row.number


def _changes(row: Track, facts_type: type[Facts], space: str, entries: Sequence[Entry]) -> Iterator[Change]:
    """Yield the changes of a track from its stored lifeline, each with its writer as the entries name it."""
    writers = {
        _known(each.resource_version, each.change.value, each.received): each
        for each in entries
        if each.actor or each.user_agent
    }
    facts: Any = None
    for time, text, change, action, *bounds, stored in row.lifeline:
        if stored is not None:
            facts = msgspec.convert(stored, facts_type)
        revision = int(text) if text else None
        before, after = bounds[0] if bounds else (0, None)
        entry = writers.get(_known(revision, change, time - before))
        actor = actor_name(entry) if entry else ""
        yield Change(
            change, action, time, time - before, None if after is None else time + after, revision, space, facts, actor
        )


def _known(revision: int | None, change: str, received: int) -> tuple[str, int]:
    """Return what identifies a change among those of its object: its revision, or else when it was received."""
    return (change, received) if revision is None else ("", revision)


def _entries(source: Source, rows: Sequence[Track]) -> dict[int, list[Entry]]:
    """Return the stored entries of these tracks, by key. Only the first and the last body of each key is kept. Raises
    TooLarge."""
    found: dict[int, list[Entry]] = defaultdict(list)
    keys = {key_of(row.id) for row in rows}
    if len(chunks.parts(source.pk, keys)) > _PARTS:
        raise TooLarge(
            f"The changes of {source.name} are too many, or too large, to be compared here. Use causeline compare."
        )
    ends = [row.life.upper for row in rows]
    listed = any(row.lifeline and row.lifeline[0][2] == "observed" for row in rows)
    start = None if listed else min(microseconds(row.life.lower) for row in rows) - _BEFORE
    end = None if None in ends else max(microseconds(each) for each in ends if each)
    ends_of: dict[int, list[tuple[int, int, int]]] = defaultdict(list)  # (revision, received, index) of kept bodies
    for each in chunks.entries(source.pk, keys, start=start, end=end):
        entries, kept = found[each.key], ends_of[each.key]
        entries.append(each.entry)
        if each.entry.body:
            kept.append((each.entry.resource_version or 0, each.entry.received, len(entries) - 1))
            if len(kept) == 3:
                *_, at = kept.pop(sorted(range(3), key=kept.__getitem__)[1])
                entries[at] = msgspec.structs.replace(entries[at], body=b"")
    return found

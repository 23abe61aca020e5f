"""A live source in the hands of the worker that holds it: what is known of it, and its rows in PostgreSQL.

Only what changed is written: the lanes that a batch moves, the findings of the subjects that it touches.
"""

from __future__ import annotations

import time
from collections import Counter
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Min
from django.db.models.functions import Now
from django.utils import timezone
from msgspec.structs import replace
from psycopg import sql

from timeline.core.entries import FOREVER, Entry, MarkType, ObjectRef, Observation, Owner, microseconds, moment
from timeline.history.lifelines import Key, name_of, public_uid
from timeline.history.lifelines import Track as Life
from timeline.history.packing import ENTRIES, LIFELINES, Packer, unpack
from timeline.history.recording import RecordingWorld
from timeline.history.snapshot import lines_of, snapshot_of
from timeline.history.streams import Stream as Watch
from timeline.judge import horizons, judged, rulebook, settled
from timeline.judging.findings import Finding as Found
from timeline.judging.findings import Status
from timeline.judging.rulebook import VERSION
from timeline.layout import outline
from timeline.layout.arrangement import Arrangement, StoredGroups
from timeline.layout.places import rank_of
from timeline.models import Cluster, Delta, Finding, Memory, Source, Stream, Track
from timeline.payloads import documents
from timeline.storage import chunks, notify, retention, store

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import datetime

    from timeline.history.seen import GroupKind
    from timeline.history.world import World

_REMEMBER = 600.0  # seconds between two times that what is known is written down
_PAGE = 5_000  # lines of it in a row
KEPT = 1000  # deltas, for browsers that come back
_EVENTS = 300_000_000  # µs that an Event is remembered when the cluster has dropped it; there are so many
_PULSE = 1.0  # seconds between two judgements of what only time changes, at least
_PULSE_SHARE = 40  # and of the time between them, they take at most one part in so many;
_QUIET_SHARE = 4  # while nothing else is to be done
_SUMS_EVERY = 2.0  # seconds, at least, between two sums over all of a source
_SUMS_SHARE = 20  # and of the time between them, they take at most one part in so many


class KnownObject(NamedTuple):
    """An object as the source knows it: what a watch has to know to tell what a list shows anew, and what is gone."""

    ref: ObjectRef
    revision: int
    owner: Owner | None
    managers: int = 0  # a hash of its managedFields; 0 where it is not known


class Live:
    """One source, its world, and what was written of that. Void once `pipeline.follow` has raised."""

    def __init__(self, source: Source, world: RecordingWorld, stored: StoredGroups) -> None:
        self.source = source
        self.world = world
        self._arrangement = Arrangement(world, stored)
        self._found: dict[Key, dict[str, Found]] = {}  # by the subject that was judged, and identity
        self._reached: dict[GroupKind, tuple[int, int]] = {}  # watermarks as they were written
        self._least = FOREVER  # from the arrival of an entry until it is written, as clocks have it; microseconds
        self._pulsed = self._pulse_took = 0.0  # when by a monotonic clock, and how long that took; seconds
        self._sums_due = 0.0
        self._sums_owed = False  # something was written since
        self._memory_due = time.monotonic() + _REMEMBER

    @property
    def owes(self) -> bool:
        """Whether the sums over all of it are to be written, also where nothing more comes."""
        return self._sums_owed and time.monotonic() >= self._sums_due

    def standing(self, group: str, kind: str) -> dict[str, KnownObject]:
        """All objects of a kind that are taken to stand, by UID."""
        return {
            uid: KnownObject(track.ref, track.last.entry.resource_version or 0, track.owner)
            for track in self.world.of_kind(group, kind)
            if track.until is None and (uid := public_uid(track.ref))
        }

    @contextmanager
    def pulse(self, batch: Sequence[Observation]) -> Iterator[dict[str, int] | None]:
        """Where the source ends for each rule, if what depends on that is to be judged anew: where time has passed, and
        now and then. With an empty batch it waits for less long."""
        began = time.monotonic()
        ends = horizons(self.world)
        share = _PULSE_SHARE if batch else _QUIET_SHARE
        due = began >= self._pulsed + max(_PULSE if batch else 0, self._pulse_took * share)
        if not due or not self.world.passed(ends):
            yield None
            return
        yield ends
        self._pulsed = time.monotonic()
        self._pulse_took = self._pulsed - began

    def write(self, batch: Iterable[Observation], changed: list[Life], found: dict[Key, list[Found]]) -> None:
        """What follows from a batch that the world has learned; `found` of the subjects that were judged anew."""
        source = self.source
        source.sequence += 1
        tracks = self._write_tracks(changed)
        findings, gone = self._write_findings(found)
        entries = self._write_streams(batch)
        self._write_source()
        moved = {"tracks": tracks, "findings": findings, "gone": gone, "entries": entries, "lag": self._lag(batch)}
        Delta.objects.create(source=source, sequence=source.sequence, at=Now(), changed=moved)
        if source.sequence % KEPT == 0:
            Delta.objects.filter(source=source, sequence__lte=source.sequence - KEPT).delete()
        if time.monotonic() >= self._memory_due:
            self._remember()

    def _lag(self, batch: Iterable[Observation]) -> int:
        """How long the first entry of a batch had waited, microseconds, beyond the least that one ever waited: the
        clocks of cluster and worker need not agree for that."""
        arrived = [each.arrived for each in batch if isinstance(each, Entry) and each.arrived]
        if not arrived:
            return 0
        now = microseconds(timezone.now())
        self._least = min(self._least, now - max(arrived))
        return now - min(arrived) - self._least

    def _write_tracks(self, changed: Iterable[Life]) -> list[int]:
        """The rows of all lanes that moved or changed; which tracks those were."""
        source, world, order = self.source, self.world, self._arrangement
        arranged = order.arrange(changed)
        if not arranged.lanes:
            return []
        if {lane.tracks[0].family for lane in arranged.lanes} - {family for _, family, _ in source.census}:
            self._sums_due = 0.0  # windows show the families that the sums know
        packer = Packer(LIFELINES)
        rows = (row for lane in arranged.lanes for row in store.track_rows(source, world, lane, order, packer))
        written = store.upsert(store.track_table(source), store.TRACK, ("source_id", "id"), rows)
        if arranged.dissolved:
            source.strip_set.filter(place__in=arranged.dissolved).delete()
        if arranged.strips:
            strips = [store.strip_row(source, world, strip, order) for strip in arranged.strips]
            store.upsert(sql.Identifier("timeline_strip"), store.STRIP, ("source_id", "place"), strips)
        return written

    def _write_findings(self, found: dict[Key, list[Found]]) -> tuple[list[str], list[str]]:
        """What differs from what was found before; which rows of the list changed by that, and which are gone."""
        fresh, lost = self._compare(found)
        if not fresh and not lost:
            return [], []
        rows = [store.finding_row(self.source, self.world, each) for each in fresh.values()]
        changed = store.upsert(sql.Identifier("timeline_finding"), store.FINDING, ("source_id", "identity"), rows)
        self._withdraw(lost.values())
        rules = {each.rule for each in (*fresh.values(), *lost.values())}
        return store.write_occurrences(self.source, rules, set(changed))

    def _compare(self, found: dict[Key, list[Found]]) -> tuple[dict[str, Found], dict[str, Found]]:
        """What is new, or told otherwise than before; and what nobody tells any more."""
        fresh: dict[str, Found] = {}
        lost: dict[str, Found] = {}
        for key, of_track in found.items():
            before = self._found.pop(key, {})
            now = {each.id: each for each in of_track if each.id in before or self._is_judged(each)}
            fresh.update((id, each) for id, each in now.items() if each != before.get(id))
            lost.update((id, each) for id, each in before.items() if id not in now)
            if now:
                self._found[key] = now
        lost = {id: each for id, each in lost.items() if self._is_remembered(each)}
        for key, known in self._found.items():
            for id, each in known.items():
                lost.pop(id, None)  # another subject tells it, too
                if key not in found and each.status is Status.SUSPECTED:
                    again = settled(each, self.world)
                    if again != each:
                        fresh[id] = known[id] = again
        return fresh, lost

    def _is_judged(self, found: Found) -> bool:
        """Whether all is known that could explain it; or nothing had been forgotten when it was found."""
        if found.occurrences[-1].last >= self.world.remembered:
            return True
        return Finding.objects.filter(source=self.source, identity=found.id, withdrawn=False).exists()

    def _is_remembered(self, found: Found) -> bool:
        """Whether it would still be found, had nothing been explained: what proves it is known."""
        proofs = (proof.ref for each in found.occurrences for proof in each.proof)
        known = all(self.world.track((name_of(ref), ref.uid)) for ref in proofs)
        return known and found.occurrences[-1].last >= self.world.remembered

    def _withdraw(self, lost: Iterable[Found]) -> None:
        """They stay for whoever has their address, with the reason."""
        for each in lost:
            before = "" if each.status is Status.SUSPECTED else ", after it had been confirmed"
            reason = f"Withdrawn{before}: what arrived up to {self._last():%H:%M:%S} UTC explains it."
            told = replace(each, status=Status.WITHDRAWN, status_reason=reason)
            row = Finding.objects.filter(source=self.source, identity=each.id)
            row.update(withdrawn=True, document=documents.finding(told))

    def withdraw_older(self, found: dict[Key, list[Found]]) -> None:
        """Withdraw what an older version of the rules found and this one, which judged everything that is remembered,
        does not."""
        lives = {self.world.number(track) for track in self.world.tracks()}
        told = {each.id for of_track in found.values() for each in of_track}
        stored = Finding.objects.filter(
            source=self.source, withdrawn=False, last__gte=moment(max(0, self.world.remembered))
        )
        lost = [row for row in stored.exclude(identity__in=told) if lives.issuperset(row.tracks)]
        for row in lost:
            row.withdrawn = True
            row.document["status"] = Status.WITHDRAWN
            row.document["status_reason"] = (
                "Withdrawn: a newer version of Causeline judged it again and does not find it."
            )
            row.save(update_fields=["withdrawn", "document"])
        store.write_occurrences(self.source, {row.rule for row in lost})

    def _last(self) -> datetime:
        return moment(self.world.last)

    def _write_streams(self, batch: Iterable[Observation]) -> int:
        """How far each stream has come, in this very transaction; and where it was blind. How many entries came."""
        counts: Counter[GroupKind] = Counter()
        gaps = []
        listed = {}
        for each in batch:
            if isinstance(each, Entry):
                counts[each.ref.group, each.ref.kind] += 1
                continue
            if each.what is MarkType.GAP:
                gaps.append(each)
            elif each.what is MarkType.LISTED:
                listed[each.group, each.kind] = moment(each.time)
        store.write_gaps(self.source, gaps)
        rows = []
        for kind in {*self.world.streams, *counts}:  # a long list is told before the mark that ends it
            stream = self.world.streams.get(kind) or Watch()
            reached = stream.reached, stream.reached_at
            if counts[kind] or kind in listed or (stream.reached and self._reached.get(kind) != reached):
                self._reached[kind] = reached
                at = moment(stream.reached_at) if stream.reached_at else None
                rows.append((stream.reached or None, at, listed.get(kind), counts[kind], self.source.pk, *kind))
        with connection.cursor() as cursor:
            cursor.executemany(
                "UPDATE timeline_stream SET watermark = %s, watermark_at = %s, listed_at = coalesce(%s, listed_at),"
                ' entries = entries + %s WHERE source_id = %s AND "group" = %s AND kind = %s',
                rows,
            )
        return counts.total()

    def _write_source(self) -> None:
        """How far it goes; and now and then the sums over all of it."""
        source, world = self.source, self.world
        if time.monotonic() >= self._sums_due:
            began = time.monotonic()
            self._sums_owed = False
            source.census, source.tide = self._census()
            store.write_source(source, world, documents.source_document(world, rulebook()))
            took = time.monotonic() - began
            self._sums_due = time.monotonic() + max(_SUMS_EVERY, took * _SUMS_SHARE)
        else:
            self._sums_owed = True
            store.write_reach(source, world)

    def _census(self) -> tuple[list[tuple[str, str, int]], dict[str, list[int]]]:
        lanes = self._arrangement.lanes()
        return outline.census(lanes), outline.tide(self.world, lanes)._asdict()

    def remember_at_once(self) -> None:
        """With the next batch; else it is done now and then."""
        self._memory_due = 0.0

    def _remember(self) -> None:
        """Forget what is long over, and write down what is known, for whoever takes the source over."""
        before = self.world.last - round(settings.LIVE_MEMORY.total_seconds() * 1e6)
        over = self.world.expired(before, self.world.last - _EVENTS)
        for track in over:
            self._arrangement.forget(track)
            self._found.pop(track.key, None)
        self.world.forget(over, before)
        if self.source.cluster:
            self.source.cluster.refresh_from_db(fields=["keep_bytes", "keep_days"])
            chunks.renew(self.source, retention.limit(self.source.cluster))
            kept = timedelta(days=retention.days(self.source.cluster))
            self.world.begins_at(max(self.world.first, self.world.last - kept // timedelta(microseconds=1)))
        packer = Packer(ENTRIES)
        lines = list(lines_of(self.world.snapshot()))
        Memory.objects.filter(source=self.source).delete()
        for number, first in enumerate(range(0, len(lines), _PAGE)):
            page = packer.pack(b"\n".join(lines[first : first + _PAGE]))
            Memory.objects.create(source=self.source, number=number, after=self.source.stored, lines=page)
        self._memory_due = time.monotonic() + _REMEMBER


def begin(cluster: Cluster, ended: str = "") -> Source:
    """A new source for what is observed of a cluster from now on. The one before, if there is one, gets a name of its
    own and the reason why it ended."""
    with transaction.atomic():
        number = cluster.sources.count() + 1
        if before := cluster.source:
            before.name = f"{cluster.name} (until {timezone.now():%Y-%m-%d %H:%M})"[: store.NAME_LENGTH]
            before.ended = ended
            before.save(update_fields=["name", "ended"])
            notify.notify(source=before.pk)
        source = store.open_source(cluster.name)
        source.cluster = cluster
        source.inputs = [cluster.name if number == 1 else f"{cluster.name}, part {number}"]
        source.save(update_fields=["cluster", "inputs"])
        store.show_source(source)
        cluster.source = source
        cluster.save(update_fields=["source"])
        notify.notify(source=source.pk, cluster=cluster.pk)
    return source


def open_again(source: Source) -> Live:
    """Take a source over: its world as it was stored, judged. Raises store.Overtaken where it is gone."""
    source.refresh_from_db()
    world = RecordingWorld()
    after = _recall(world, source)
    for _ in world.learn(chunks.observations(source.pk, after=after)):
        pass
    with transaction.atomic():
        store.hold_again(source)
        changed = world.settle()
        live = Live(source, world, _stored_groups(source, world))
        found = judged(world, world.tracks())
        if source.judged < VERSION:
            live.withdraw_older(found)
            source.judged = VERSION
        live.write((), changed, found)
        notify.notify(source=source.pk, sequence=source.sequence)
    return live


def _recall(world: World, source: Source) -> int:
    """Let the world know what was written down of it; up to which place in the sequence that is."""
    rows = list(Memory.objects.filter(source=source).order_by("number"))
    lines = (line for row in rows for line in unpack(bytes(row.lines)).split(b"\n"))
    if not rows or not (snapshot := snapshot_of(lines)):
        return 0
    world.restore(snapshot)
    return rows[0].after


def _stored_groups(source: Source, world: World) -> StoredGroups:
    """The places that groups have, and how many of them are not remembered."""
    remembered = [world.number(track) for track in world.tracks()]
    groups = (
        Track.objects.filter(source=source, id__in=remembered)
        .values_list("root")
        .annotate(place=Min("place"), first=Min("number"))
    )
    ranks = {root: rank_of(place) for root, place, _ in groups}
    return StoredGroups(ranks, {root: first - 1 for root, _, first in groups})


def tell(source: Source, resource: tuple[str, str, str, str, bool], state: Stream.State, error: str = "") -> None:
    """What the watch of a resource (group, version, kind, plural, namespaced) is at."""
    group, version, kind, plural, namespaced = resource
    told = {"version": version, "kind": kind, "namespaced": namespaced, "state": state, "error": error}
    if error:
        told["error_at"] = timezone.now()
    with transaction.atomic():
        Stream.objects.update_or_create(source=source, group=group, resource=plural, defaults=told)
        if source.cluster_id:
            notify.notify(cluster=source.cluster_id)

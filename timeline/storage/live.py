"""Keep a live source for its worker: the world in memory, and its rows in PostgreSQL.

Each batch writes only what it changes: the lanes that it moves, and the findings of subjects that were judged again.
"""

from __future__ import annotations

import time
from collections import Counter
from contextlib import contextmanager
from datetime import timedelta
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Min
from django.utils import timezone
from psycopg import sql

from timeline.core.dating import Present
from timeline.core.entries import (
    FOREVER,
    Clock,
    Entry,
    LogLine,
    MarkType,
    ObjectRef,
    Observation,
    Owner,
    Request,
    microseconds,
    moment,
)
from timeline.history import lifelines, streams
from timeline.history.lifelines import public_uid
from timeline.history.packing import ENTRIES, LIFELINES, Packer, unpack
from timeline.history.snapshot import healed, lines_of, snapshot_of
from timeline.history.world.recording import RecordingWorld
from timeline.judge import horizons, judged, rulebook
from timeline.judging.findings import namespace_of
from timeline.judging.rulebook import VERSION
from timeline.layout import outline
from timeline.layout.live_arrangement import LiveArrangement, StoredGroups
from timeline.layout.places import rank_of
from timeline.models import Cluster, Delta, SnapshotPart, Source, Track
from timeline.payloads import documents
from timeline.storage import logs, notify, store
from timeline.storage.copying import as_json, upsert
from timeline.storage.entries import chunks, tables
from timeline.storage.judged import actors, incidents, views
from timeline.storage.judged.changes import LiveChanges
from timeline.storage.judged.live_findings import LiveFindings
from timeline.storage.keeping import freed, retention

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from timeline.history.lifelines import Key
    from timeline.history.seen import GroupKind
    from timeline.history.world.world import World
    from timeline.judging.findings import Finding

_SNAPSHOT_EVERY = 600.0  # seconds between two snapshots
_PAGE = 5_000  # the most lines of a snapshot in one row
KEPT = 1000  # about how many deltas are kept for browsers that reconnect
_EVENTS = 300_000_000  # µs for which an Event is kept in memory after the cluster has deleted it
_TIME_EVERY = 1.0  # the least seconds between two judgements of what only the passing of time changes
_TIME_SHARE = 40  # such judgements take at most 1/40 of a worker's time
_QUIET_SHARE = 4  # while no batch waits, they take at most 1/4 of it
_TOTALS_EVERY = 5.0  # the least seconds between two computations of the totals of a source
_NAMED = 200  # the most namespaces of a batch that its delta names
_DELTA = "INSERT INTO timeline_delta (source_id, sequence, at, changed) VALUES (%s, %s, statement_timestamp(), %s)"
_TOTALS_SHARE = 20  # computing the totals takes at most 1/20 of a worker's time


class KnownObject(NamedTuple):
    """An object that is believed to exist. A watch compares a new list with these to find what has changed."""

    ref: ObjectRef
    revision: int
    owner: Owner | None
    managers: int = 0  # a hash of its managedFields; 0 if it is not known


class Live:
    """Keep one live source and its world. After `pipeline.follow` has raised, it must not be used again."""

    def __init__(self, source: Source, world: RecordingWorld, stored: StoredGroups) -> None:
        self.source = source
        self.world = world
        self._arrangement = LiveArrangement(world, stored)
        self._findings = LiveFindings(source, world)
        self._written: dict[int, int] = {}  # by the number of a track: a hash of what its row takes from other tracks
        self._changes = LiveChanges(source, world)
        # The watermarks that were written last, by kind and namespace.
        self._reached: dict[tuple[GroupKind, str], tuple[int, int]] = {}
        self._least = FOREVER  # the least µs from the arrival of an entry, by the cluster's clock, until it was written
        # When what only time changes was last judged, by a monotonic clock, and how long that took; seconds.
        self._time_judged = self._time_took = 0.0
        self._totals_due_at = 0.0
        self._totals_changed = False  # whether something was written since the totals were
        self._snapshot_due = time.monotonic() + _SNAPSHOT_EVERY
        # The database may have lost its last commits, if it was restored or a stand-by was promoted. Browsers know the
        # numbers of those, so no other commit gets them: the first number is at least the milliseconds since 1970.
        self._least_sequence = round(time.time() * 1000)

    @property
    def totals_due(self) -> bool:
        """Return whether the totals of the source are out of date and should be written now."""
        return self._totals_changed and time.monotonic() >= self._totals_due_at

    def dated(self, batch: Sequence[Observation]) -> Sequence[Observation]:
        """Return what was observed with times that may be true by the clock of this worker."""
        present = present_for(max(self.world.first, self.world.remembered))
        return [present.dated(each) for each in batch]

    def existing_objects(self, group: str, kind: str, namespace: str = "") -> dict[str, KnownObject]:
        """Return all objects of a kind that are believed to exist, by UID: those in a namespace, or in all."""
        return {
            uid: KnownObject(track.ref, track.last.entry.resource_version or 0, track.owner)
            for track in self.world.of_kind(group, kind)
            if track.until is None
            and (uid := public_uid(track.ref))
            and (not namespace or track.ref.namespace == namespace)
        }

    def found_about(self, subject: Key) -> Iterable[Finding]:
        """Return the findings about a subject as it was judged last."""
        return self._findings.about(subject)

    @contextmanager
    def judge_passed_time(self, batch: Sequence[Observation]) -> Iterator[dict[str, int] | None]:
        """Yield the horizons if judgements that depend on the mere passing of time are due now, else None.

        A horizon is the time up to which the watches that a rule needs are complete, in microseconds since 1970, by
        rule id. The judgements must be made in the body of the `with` statement, which is timed: they may take only a
        limited share of a worker's time, which is larger if the batch is empty.
        """
        began = time.monotonic()
        now = horizons(self.world)
        share = _TIME_SHARE if batch else _QUIET_SHARE
        due = began >= self._time_judged + max(_TIME_EVERY if batch else 0, self._time_took * share)
        if not due or not self.world.passed(now):
            yield None
            return
        yield now
        self._time_judged = time.monotonic()
        self._time_took = self._time_judged - began

    def write(
        self, batch: Sequence[Observation], changed: list[lifelines.Track], judged: dict[Key, list[Finding]]
    ) -> None:
        """Write everything that follows from a batch that the world has learned.

        `changed` are the tracks that it changed, and `judged` has the findings of each subject that was judged again.
        """
        source = self.source
        before, source.sequence = source.sequence, max(source.sequence + 1, self._least_sequence)
        tracks, namespaces = self._write_tracks(changed)
        self._changes.write(changed)
        if any(isinstance(each, LogLine) for each in batch):
            logs.write(source, self.world)
        views.write(source, self.world, chain(*judged.values()), all_judged=False)
        moved = self._findings.write(judged)
        entries = self._write_streams(batch)
        self._write_source()
        if "namespaces" in moved:
            moved["namespaces"] = sorted(namespaces.union(moved["namespaces"]))
            if len(moved["namespaces"]) > _NAMED:
                del moved["namespaces"]
        changes = {"after": before, "tracks": tracks, **moved, "entries": entries, "lag": self._lag(batch)}
        with connection.cursor() as cursor:
            cursor.execute(_DELTA, [source.pk, source.sequence, as_json(changes)])
        if source.sequence % KEPT == 0:
            Delta.objects.filter(source=source, sequence__lte=source.sequence - KEPT).delete()
        if time.monotonic() >= self._snapshot_due:
            self._write_snapshot()

    def _lag(self, batch: Iterable[Observation]) -> int:
        """Return for how many microseconds the first entry of a batch has waited since it arrived.

        The shortest wait of any entry so far counts as 0, so the clocks of cluster and worker need not agree.
        """
        arrived = [each.arrived for each in batch if isinstance(each, Entry) and each.arrived]
        if not arrived:
            return 0
        now = microseconds(timezone.now())
        self._least = min(self._least, now - max(arrived))
        return now - min(arrived) - self._least

    def _write_tracks(self, changed: Sequence[lifelines.Track]) -> tuple[list[int], set[str]]:
        """Write the rows of all lanes that moved or changed; return the numbers of their tracks, and the namespaces of
        these lanes."""
        keys = {track.key for track in changed}

        def is_written(track: lifelines.Track, others: tuple[object, ...]) -> bool:
            number, now = world.number(track), hash(others)
            before, self._written[number] = self._written.get(number), now
            return before == now and track.key not in keys

        source, world = self.source, self.world
        arranged = self._arrangement.arrange(changed)
        if not arranged.lanes:
            return [], set()
        if {lane.tracks[0].family for lane in arranged.lanes} - {family for _, family, _ in source.census}:
            self._totals_due_at = 0.0  # windows show only families that are in the totals
        packer = Packer(LIFELINES)
        rows = (row for lane in arranged.lanes for row in store.track_rows(source, world, lane, packer, is_written))
        written = upsert(store.track_table(source), store.TRACK, ("source_id", "id"), rows)
        if arranged.dissolved:
            source.strip_set.filter(place__in=arranged.dissolved).delete()
        if arranged.strips:
            strips = [store.strip_row(source, world, strip) for strip in arranged.strips]
            upsert(sql.Identifier("timeline_strip"), store.STRIP, ("source_id", "place"), strips)
        return written, {namespace_of(lane.tracks[0].ref) for lane in arranged.lanes}

    def withdraw_older(self, judged: dict[Key, list[Finding]]) -> None:
        """Withdraw the stored findings of an older version of the rules that this version, which has judged all
        subjects, does not report."""
        self._findings.withdraw_older(judged)

    def _write_streams(self, batch: Iterable[Observation]) -> int:
        """Write up to where each stream is complete, and its gaps; return the number of entries in the batch."""
        counts: Counter[tuple[GroupKind, str]] = Counter()
        gaps = []
        listed = {}
        for each in batch:
            if isinstance(each, Entry):
                kind = each.ref.group, each.ref.kind
                limited = self.source.namespaces and each.ref.namespace
                counts[kind, each.ref.namespace if limited else ""] += each.clock is Clock.OBJECT
            elif isinstance(each, Request | LogLine):
                continue
            elif each.what is MarkType.GAP:
                gaps.append(each)
            elif each.what is MarkType.LISTED:
                listed[(each.group, each.kind), each.namespace] = moment(each.time)
        store.write_gaps(self.source, gaps)
        rows = []
        known = self.world.streams
        watched = {(kind, namespace) for kind, stream in known.items() for namespace in stream.namespaces or [""]}
        for key in watched | counts.keys():  # a long list arrives before the mark that ends it
            kind, namespace = key
            reach = known[kind].reach_in(namespace) if kind in known else streams.Reach()
            reached = reach.revision, reach.at
            if counts[key] or key in listed or (reach.revision and self._reached.get(key) != reached):
                self._reached[key] = reached
                at = moment(reach.at) if reach.at else None
                counted = listed.get(key), counts[key]
                rows.append((reach.revision or None, at, *counted, self.source.pk, *kind, namespace))
        with connection.cursor() as cursor:
            cursor.executemany(
                "UPDATE timeline_stream SET watermark = %s, watermark_at = %s, listed_at = coalesce(%s, listed_at),"
                ' entries = entries + %s WHERE source_id = %s AND "group" = %s AND kind = %s AND namespace = %s',
                rows,
            )
        return counts.total()

    def _write_source(self) -> None:
        """Write the range of time that the source covers, and from time to time its totals."""
        source, world = self.source, self.world
        if time.monotonic() >= self._totals_due_at:
            began = time.monotonic()
            self._totals_changed = False
            source.census, source.tide = self._census()
            document = documents.source_document(world, rulebook())
            store.write_source(source, world, store.totals(source, world, document))
            actors.write(source, actors.added_up(world, self._findings.known()))
            took = time.monotonic() - began
            self._totals_due_at = time.monotonic() + max(_TOTALS_EVERY, took * _TOTALS_SHARE)
        else:
            self._totals_changed = True
            store.write_reach(source, world)

    def _census(self) -> tuple[list[tuple[str, str, int]], dict[str, list[int]]]:
        lanes = [*self._arrangement.lanes()]
        return outline.census(lanes), outline.tide(self.world, lanes)._asdict()

    def snapshot_with_next_batch(self) -> None:
        """Make the next batch write a snapshot, instead of one after some minutes."""
        self._snapshot_due = 0.0

    def _write_snapshot(self) -> None:
        """Forget tracks that ended long ago, and write a snapshot for a worker that takes over the source."""
        before = self.world.last - round(settings.LIVE_MEMORY.total_seconds() * 1e6)
        over = self.world.expired(before, self.world.last - _EVENTS)
        for track in over:
            self._arrangement.forget(track)
            self._findings.forget(track.key)
            self._written.pop(self.world.number(track), None)
            self._changes.forget(track.key)
        self.world.forget(over, before)
        if self.source.cluster:
            self.source.cluster.refresh_from_db(fields=["keep_bytes", "keep_days", "keep_incident_days"])
            tables.renew(self.source, retention.limit(self.source.cluster))
            kept = timedelta(days=retention.incident_days(self.source.cluster))
            self.world.begins_at(max(self.world.first, self.world.last - kept // timedelta(microseconds=1)))
        packer = Packer(ENTRIES)
        lines = list(lines_of(self.world.snapshot()))
        SnapshotPart.objects.filter(source=self.source).delete()
        for number, first in enumerate(range(0, len(lines), _PAGE)):
            page = packer.pack(b"\n".join(lines[first : first + _PAGE]))
            SnapshotPart.objects.create(source=self.source, number=number, after=self.source.stored, lines=page)
        self._snapshot_due = time.monotonic() + _SNAPSHOT_EVERY


def present_for(since: int = 0) -> Present:
    """Return the present by the clock of this worker. `since` is a time from which on everything is observed."""
    now = time.time_ns() // 1000
    return Present(now, now + settings.CLOCK_AHEAD // timedelta(microseconds=1), min(since, now) or now)


def begin(cluster: Cluster, ended: str = "") -> Source:
    """Create a new source for a cluster, and return it.

    The cluster's previous source, if there is one, is renamed, and gets `ended` as the reason why it ended. What people
    know of its incidents holds in the new source, too.
    """
    with transaction.atomic():
        number = cluster.sources.count() + 1
        if before := cluster.source:
            before.name = f"{cluster.name} (until {timezone.now():%Y-%m-%d %H:%M})"[: store.NAME_LENGTH]
            before.ended = ended
            before.save(update_fields=["name", "ended"])
            notify.notify(source=before.pk)
        source = store.open_source(cluster.name)
        source.cluster, source.namespaces = cluster, cluster.namespaces
        source.inputs = [cluster.name if number == 1 else f"{cluster.name}, part {number}"]
        source.save(update_fields=["cluster", "inputs", "namespaces"])
        if before:
            incidents.carry_over(before, source)
        store.show_source(source)
        cluster.source = source
        cluster.save(update_fields=["source"])
        notify.notify(source=source.pk, cluster=cluster.pk)
    return source


def open_again(source: Source) -> Live:
    """Take over a live source: read its world from the database, and judge it. Raises store.Overtaken if the source was
    deleted or changed meanwhile."""
    source.refresh_from_db()
    world = RecordingWorld(followed=True)
    present = present_for()
    after = _recall(world, source, present)
    present = present_for(max(world.first, world.remembered))
    for _ in world.learn(map(present.dated, chunks.observations(source.pk, after=after))):
        pass
    with transaction.atomic():
        store.hold_again(source)
        if source.last and source.last > moment(present.latest):
            chunks.bound(source, moment(present.now), moment(present.latest))
            freed.bound(source, moment(present.now), moment(present.latest))
        changed = world.settle()
        live = Live(source, world, _stored_groups(source, world))
        found = judged(world, world.tracks())
        if source.judged < VERSION:
            live.withdraw_older(found)
            source.judged = VERSION
        live.write((), changed, found)
        notify.notify(source=source.pk, sequence=source.sequence)
    return live


def _recall(world: World, source: Source, present: Present) -> int:
    """Restore the world from its snapshot; return the sequence number up to which entries are in it, 0 without one.

    A version that did not bound its clock may have written one that a time in the future has moved.
    """
    rows = list(SnapshotPart.objects.filter(source=source).order_by("number"))
    lines = (line for row in rows for line in unpack(bytes(row.lines)).split(b"\n"))
    if not rows or not (snapshot := snapshot_of(lines)):
        return 0
    world.restore(healed(snapshot, present, microseconds(source.created)))
    return rows[0].after


def _stored_groups(source: Source, world: World) -> StoredGroups:
    """Return the ranks of the stored groups, and how many members of each the world has forgotten."""
    remembered = [world.number(track) for track in world.tracks()]
    groups = (
        Track.objects.filter(source=source, id__in=remembered)
        .values_list("root")
        .annotate(place=Min("place"), first=Min("number"))
    )
    ranks = {root: rank_of(place) for root, place, _ in groups}
    return StoredGroups(ranks, {root: first - 1 for root, _, first in groups})

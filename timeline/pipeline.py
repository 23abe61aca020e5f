"""Ingest entries of recordings and of live clusters.

Each call orders, judges and stores them, and notifies browsers, in one transaction.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from django.db import transaction

from timeline import metrics
from timeline.core.dating import of_recording
from timeline.core.entries import Observation
from timeline.core.machine import beside, memory
from timeline.core.machine.processors import available_processors
from timeline.history.lifelines import Key
from timeline.history.world.world import World
from timeline.judge import in_order, judge, judged_again, rulebook, touched
from timeline.judging.findings import Finding
from timeline.judging.rulebook import VERSION
from timeline.models import Source
from timeline.payloads import documents
from timeline.storage import logs, notify, store, tracks
from timeline.storage.entries import chunks
from timeline.storage.judged import actors, changes, findings, views
from timeline.storage.keeping import freed
from timeline.storage.live import Live, present_for

_FEWEST = 40_000  # tracks that are worth another copy of the process


class TwoClusters(Exception):
    """The entries cannot come from one cluster; `args` are two entries that show it."""


def ingest(source: Source, world: World, entries: Iterable[Observation]) -> int:
    """Store and judge the entries of a recording; return how many changes were new.

    `world` has learned what the source has so far, and learns the entries. Either everything is committed and browsers
    are notified, or nothing. Raises TwoClusters, and store.Overtaken if another import has changed the source
    meanwhile.
    """
    known, stored = source.entries, source.stored
    dated = of_recording(entries, present_for().latest)
    with transaction.atomic():
        chunks.write(source, world.learn(dated))
        if conflict := world.two_clusters():
            raise TwoClusters(*conflict)
        store.hold(source, stored)
        _judge(source, world, "import")
    _count("import", source.entries - known)
    return source.entries - known


def judge_again(source: Source, world: World) -> None:
    """Judge a stored recording again; its `world` must have learned all stored entries. Either everything is committed,
    or nothing. Raises store.Overtaken if the source has changed since, or was deleted."""
    with transaction.atomic():
        store.hold_again(source)
        _judge(source, world, "again")


def _judge(source: Source, world: World, cause: str) -> None:
    """Store the tracks, findings and gaps that follow from everything that the world has learned."""
    world.settle()
    _ = rulebook(), world.completeness  # what is computed and given back before copies are made is shared by them
    memory.give_back()
    source.judged = VERSION
    # The copy that judges is made first, because a thread writes tracks from then on.
    with _second_half(world) as answer, tracks.writing(source, world):
        with metrics.JUDGE_SECONDS.labels(cause).time():
            found = _judged(world, answer)
        acted = actors.added_up(world, found)
        meant = changes.rows_of(source, world)
        totals = store.totals(source, world, documents.source_document(world, rulebook(), shown=False))
    findings.write(source, world, found)
    changes.write(source, meant)
    logs.write(source, world)
    views.write(source, world, found)
    actors.write(source, acted)
    store.write_gaps(source, (gap for stream in world.streams.values() for gap in stream.gaps))
    freed.add(source, world.freed.spans)
    store.write_source(source, world, totals)
    notify.notify(source=source.pk)


_Half = tuple[list[Finding], dict[tuple[str, Key | None], str]]  # findings, and `World.failures`


@contextmanager
def _second_half(world: World) -> Iterator[Iterator[_Half] | None]:
    """Judge the second half of the tracks in a copy of this process, if they are many and there is a third processor:
    the rows of tracks are made on another one meanwhile. Yield what the copy answers, or None."""
    if world.count_of_tracks < _FEWEST or available_processors() < 3:
        yield None
        return
    half = world.count_of_tracks // 2
    with beside.computed(lambda: iter([(judge(world, world.tracks(half)), world.failures)])) as answer:
        yield answer


def _judged(world: World, answer: Iterator[_Half] | None) -> list[Finding]:
    """Return the findings about all tracks. A copy of this process may have judged the second half of them."""
    if answer is None:
        return judge(world, world.tracks())
    half = world.count_of_tracks // 2
    first = judge(world, world.tracks(stop=half))
    try:
        second, failures = next(answer)
        world.failures.update(failures)
    except beside.Broken:
        second = judge(world, world.tracks(half))
    return in_order(first, second)


class Committed(NamedTuple):
    """The result of one commit of a live source."""

    entries: int  # how many changes were new
    sequence: int  # the number of the commit, which browsers use as their cursor


def follow(live: Live, batch: Sequence[Observation], renew: Callable[[], None] = lambda: None) -> Committed:
    """Store and judge a batch of observations of a live source.

    `renew` is called inside the transaction, and must raise if another worker holds the source now. After any error
    nothing is committed, and `live` must not be used any more, since it has learned what is not stored. Raises
    TwoClusters if another cluster answers now.

    Judgements that depend on the mere passing of time are made from time to time. Call this with an empty batch
    regularly while the watches report nothing, so that they are made then, too.
    """
    source, world = live.source, live.world
    known, stored = source.entries, source.stored
    batch = live.dated(batch)
    with transaction.atomic():
        renew()
        store.hold(source, stored)
        chunks.write(source, world.learn(batch))
        if conflict := world.two_kube_systems():
            raise TwoClusters(*conflict)
        changed = world.settle()
        with live.judge_passed_time(batch) as horizons:
            if not batch and horizons is None and not live.totals_due:
                return Committed(0, source.sequence)
            with metrics.JUDGE_SECONDS.labels("live").time():
                found = judged_again(world, touched(world, changed, horizons), live.found_about)
        live.write(batch, changed, found)
        notify.notify(source=source.pk, sequence=source.sequence)
    _count("live", source.entries - known)
    return Committed(source.entries - known, source.sequence)


def _count(how: str, changes: int) -> None:
    metrics.INGESTED_CHANGES.labels(how).inc(max(0, changes))

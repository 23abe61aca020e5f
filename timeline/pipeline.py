"""The road of every entry, live or uploaded: order, tracks, judgement, store, push; one transaction."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from django.db import transaction

from timeline.core.entries import Observation
from timeline.history.world import World
from timeline.judge import judge, judged, rulebook, touched
from timeline.judging.rulebook import VERSION
from timeline.models import Source
from timeline.payloads import documents
from timeline.storage import chunks, notify, store
from timeline.storage.live import Live


class Mixed(Exception):
    """The entries cannot be of one cluster; `args` are two of them that show it."""


def ingest(source: Source, world: World, entries: Iterable[Observation]) -> int:
    """Take a recording in, with all that follows from it; the number of changes that were new.

    `world` is what is known of the source so far. Either everything is committed and told to the browsers, or nothing.
    Raises Mixed; and store.Overtaken where another import has changed the source meanwhile.
    """
    known, stored = source.entries, source.stored
    with transaction.atomic():
        chunks.write(source, world.learn(entries))
        if mixed := world.two_clusters():
            raise Mixed(*mixed)
        store.hold(source, stored)
        _judge(source, world)
    return source.entries - known


def judge_again(source: Source, world: World) -> None:
    """Judge a recording again whose `world` was learned from what is stored of it. Either all of it is committed, or
    nothing. Raises store.Overtaken where the source has changed since, or is gone."""
    with transaction.atomic():
        store.hold_again(source)
        _judge(source, world)


def _judge(source: Source, world: World) -> None:
    """What follows from all that the world has learned, into the database."""
    world.settle()
    source.judged = VERSION
    store.write_tracks(source, world)
    store.write_findings(source, world, judge(world, world.tracks()))
    store.write_gaps(source, (gap for stream in world.streams.values() for gap in stream.gaps))
    store.write_source(source, world, documents.source_document(world, rulebook()))
    notify.notify(source=source.pk)


class Committed(NamedTuple):
    """What one commit of a live source did."""

    entries: int  # changes that were new
    sequence: int  # its number


def follow(live: Live, batch: Sequence[Observation], renew: Callable[[], None] = lambda: None) -> Committed:
    """Take in what the streams of a live source told, with all that follows from it.

    `renew` is called inside the transaction, and raises where somebody else holds the source now; then, as after any
    other error (Mixed: it is another cluster now), nothing is committed, and `live` is void: it has learned what is not
    stored. What depends on the mere passing of time is judged now and then, and when a batch is empty: send one when
    the streams fall silent.
    """
    source, world = live.source, live.world
    known, stored = source.entries, source.stored
    with transaction.atomic():
        renew()
        store.hold(source, stored)
        chunks.write(source, world.learn(batch))
        if foreign := world.two_kube_systems():
            raise Mixed(*foreign)
        changed = world.settle()
        with live.pulse(batch) as ends:
            if not batch and ends is None and not live.owes:
                return Committed(0, source.sequence)
            found = judged(world, touched(world, changed, ends))
        live.write(batch, changed, found)
        notify.notify(source=source.pk, sequence=source.sequence)
    return Committed(source.entries - known, source.sequence)

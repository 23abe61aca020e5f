"""The road of every entry, live or uploaded: order, tracks, judgement, store, push; one transaction."""

from collections.abc import Iterable

from django.db import transaction

from timeline import chunks, documents, push, store
from timeline.entries import Observation
from timeline.judge import judge, rulebook, touched
from timeline.models import Source
from timeline.world import World


class Mixed(Exception):
    """The entries cannot be of one cluster; `args` are two of them that show it."""


def ingest(source: Source, world: World, entries: Iterable[Observation]) -> int:
    """Take entries of a source in, with all that follows from them; the number of changes that were new.

    `world` is what is known of the source so far. Either everything is committed and told to the browsers, or nothing.
    Raises Mixed; and store.Overtaken where another import has changed the source meanwhile.
    """
    known, stored = source.entries, source.stored
    with transaction.atomic():
        chunks.write(source, world.learn(entries))
        if mixed := world.mixed():
            raise Mixed(*mixed)
        store.hold(source, stored)
        changed = world.settle()
        subjects = touched(world, changed)
        store.write_tracks(source, world)
        store.write_findings(source, world, subjects, judge(world, subjects))
        store.write_source(source, world, documents.told(world, rulebook()))
        push.notify(source=source.pk)
    return source.entries - known

"""The road of every entry, live or uploaded: order, tracks, judgement, store, push; one transaction."""

from collections.abc import Iterable

from django.db import transaction

from timeline import push, store
from timeline.entries import Entry
from timeline.judge import judge, touched
from timeline.models import Source
from timeline.world import World


def ingest(source: Source, world: World, entries: Iterable[Entry]) -> int:
    """Take entries of a source in, with all that follows from them; the number of entries that were new.

    `world` is what is known of the source so far. Whoever calls this holds the source: one writer at a time.
    Either everything is committed and told to the browsers, or nothing.
    """
    with transaction.atomic():
        count = store.write_entries(source, world.learn(entries))
        changed = world.settle()
        subjects = touched(world, changed)
        store.write_tracks(source, world)
        store.write_findings(source, world, subjects, judge(world, subjects))
        store.write_source(source, world, count)
        push.notify(source=source.pk)
    return count

"""This module stores recordings and what clusters feed, and asks Causeline about them, for tests below `database`."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoDbBlocker

from collectors.formats import Limits, Skipped, read
from collectors.uploads.recordings import Count, import_into
from collectors.watch.server import connections
from tests.inputs.live import batches, observations
from tests.rows import stored
from timeline.core.entries import Observation
from timeline.history.world.world import World
from timeline.models import Cluster, Source
from timeline.pipeline import follow, ingest
from timeline.storage import live, store
from timeline.storage.entries import tables


def imported(*paths: Path, into: Source | None = None, name: str = "test") -> Source:
    """Import files together, into a new source if none is given."""
    source = into or store.open_source(name)
    import_into(source, [(path, path.name) for path in paths], Limits(), Count())
    source.refresh_from_db()
    return source


def ingested(*parts: Iterable[Observation], name: str = "test") -> Source:
    """Return a source in which these parts were stored one after the other. It is shown once the first one is."""
    source, world = store.open_source(name), World()
    for part in parts:
        ingest(source, world, part)
        if not source.ready:
            store.show_source(source)
    return source


@contextmanager
def lasting(blocker: DjangoDbBlocker, observed: Iterable[Observation], name: str) -> Iterator[Source]:
    """Store a source for all tests of a module."""
    with blocker.unblock():
        source = ingested(observed, name=name)
    yield source
    with blocker.unblock():
        store.discard_source(source)


def with_bodies(path: Path) -> Iterator[Observation]:
    """Return what a recording shows, with whole objects."""
    return (item for item in read([(path, path.name)], bodies=True) if not isinstance(item, Skipped))


def watched(folder: Path, size: int, *, tables_each: bool = False, **kept: Any) -> Source:
    """Return the source of a cluster whose watches have observed a recording, in batches of this size.

    With `tables_each`, there is a table of entries for each batch.
    """
    source = live.begin(Cluster.objects.create(name="prod", **kept))
    held = live.open_again(source)
    for batch in batches(observations(folder), size):
        if tables_each:
            tables.renew(source, 1)
        follow(held, batch)
    source.refresh_from_db()
    return source


def again(source: Source) -> Source:
    """Return a source as the database has it now."""
    return Source.objects.get(pk=source.pk)


def connected(name: str = "prod") -> tuple[Cluster, Source]:
    """Return a cluster that a worker watches, and the source that it feeds."""
    cluster = connections.connect(name, connections.in_cluster(), connections.WatchOptions())
    source = stored.opened(name)
    Source.objects.filter(pk=source.pk).update(cluster=cluster, inputs=[name])
    Cluster.objects.filter(pk=cluster.pk).update(source=source)
    cluster.refresh_from_db()
    return cluster, source


def end_the_minute() -> None:
    """Let the minute be over in which a deletion can be undone."""
    over = timezone.now() - timedelta(seconds=1)
    Source.everything.exclude(delete_after=None).update(delete_after=over)
    Cluster.everything.exclude(delete_after=None).update(delete_after=over)


def asked(client: Client, source: Source, path: str = "", status: int = 200, **query: Any) -> Any:
    """Return what the API answers about a source."""
    answer = client.get(f"/api/sources/{source.pk}{path and '/'}{path}", query)
    assert answer.status_code == status, answer.content
    return answer.json()


def ran(*command: str) -> int:
    """Return the status with which a command of `causeline` ends."""
    try:
        call_command("causeline", *command)
    except SystemExit as error:
        return int(error.code or 0)
    return 0

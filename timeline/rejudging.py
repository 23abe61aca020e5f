"""Judge sources again that an older version of the rules has judged, from their stored entries.

It handles recordings and live sources that have ended. A live source that goes on is judged again whenever a worker
takes it over (`live.open_again`).
"""

import gc
import logging
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import DatabaseError, connection
from django.db.models import F, Q, QuerySet
from django.db.models.expressions import Case, Value, When

from timeline import pipeline
from timeline.history.world.world import World
from timeline.judging.rulebook import ATTEMPTS, VERSION
from timeline.models import Source
from timeline.storage import live, store
from timeline.storage.entries import chunks

logger = logging.getLogger(__name__)
_LOCK = 0x6A7564676564  # the number of the PostgreSQL advisory lock under which a worker judges again


def waiting() -> QuerySet[Source]:
    """Return the sources that should be judged again, those with the fewest attempts first."""
    given_up = Q(judging=VERSION, attempts__gte=ATTEMPTS)
    old = Source.objects.filter(ready=True, judged__lt=VERSION, current_of=None, cluster__delete_after=None)
    return old.exclude(given_up).order_by("attempts", "pk")


def judge_next() -> bool:
    """Judge one waiting source again. Return False if none waits, or if another worker judges one right now."""
    with _alone() as alone:
        source = waiting().first() if alone else None
        if source is None:
            return False
        tried_before = Case(When(judging=VERSION, then=F("attempts")), default=Value(0))
        Source.objects.filter(pk=source.pk).update(judging=VERSION, attempts=tried_before + 1)
        try:
            _judge(source)
        except (store.Overtaken, Source.DoesNotExist):
            logger.info("source %s was imported again or deleted while it was judged again", source.pk)
        except DatabaseError:
            raise
        except Exception:
            logger.exception("source %s could not be judged again", source.pk)
        else:
            logger.info("source %s was judged again", source.pk)
        return True


def _judge(source: Source) -> None:
    gc.disable()  # the entries that are read form no reference cycles, and the collector would scan them repeatedly
    try:
        if source.sequence:  # it was live, and most of its entries may not be stored any more
            live.open_again(source)
            return
        world = World()
        for _ in world.learn(chunks.observations(source.pk)):
            pass
        pipeline.judge_again(source, world)
    finally:
        gc.enable()


@contextmanager
def _alone() -> Iterator[bool]:
    """Take the advisory lock unless another worker holds it, and yield whether this worker has it.

    Judging a source again needs as much memory as an import, so only one worker does it at a time.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s)", [_LOCK])
        (alone,) = cursor.fetchone()
    try:
        yield alone
    finally:
        if alone and connection.is_usable():
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s)", [_LOCK])

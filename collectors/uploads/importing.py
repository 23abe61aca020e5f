"""Import a claimed upload as a recording, and report the progress while it runs."""

import json
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from typing import Any

from django.conf import settings
from django.db import DatabaseError, DataError, OperationalError, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import F, QuerySet
from django.utils import timezone
from structlog.contextvars import bind_contextvars

from collectors.formats import NotARecording
from collectors.uploads import receiving
from collectors.uploads.additions import read_into
from collectors.uploads.portions import Portions
from collectors.uploads.recordings import Count, Stopped, import_into, title
from timeline import metrics
from timeline.core.machine import beside
from timeline.models import Addition, Source, Upload
from timeline.storage import notify, store
from timeline.storage.entries import tables

logger = logging.getLogger(__name__)
EXAMPLES = 20  # skipped pieces that are kept with their reasons in the upload's row
REPORT_EVERY = 0.3  # seconds between two reports of progress
ATTEMPTS = 5  # times that an upload is imported, if workers die or the database fails
HELPERS = 16  # other workers that are asked to help with one import
State = Upload.State


def take_up(upload_id: int) -> Upload | None:
    """Claim an upload and return it; None if it is not waiting."""
    claimed = Upload.objects.filter(pk=upload_id, state=State.WAITING).update(
        state=State.IMPORTING, attempt=F("attempt") + 1, seen=timezone.now(), bytes_read=0, error=""
    )
    return Upload.objects.get(pk=upload_id) if claimed else None


def run(upload: Upload, ask_for_help: Callable[[int], None] = lambda workers: None) -> None:
    """Import a claimed upload. `ask_for_help` asks so many other workers at most to help with a large one.

    Its row says how it ended, whatever happens; its files are removed when it has ended. Raise DatabaseError if the
    database failed and the upload shall be tried again.
    """
    source = None if upload.cluster_id else store.open_source(title(upload.name), upload.owner_id)
    if source:
        _mine(upload).update(source=source)
        bind_contextvars(upload=upload.pk, source=source.pk)
    else:
        bind_contextvars(upload=upload.pk, cluster=upload.cluster_id)
    progress = Progress(upload)
    try:
        with progress:
            if source:
                _import(source, upload, progress, ask_for_help)
            else:
                _read_for(upload, progress)
    except Stopped:  # another attempt has the files now, or the upload was cancelled
        if source:
            store.discard_source(source)
    except (NotARecording, OSError) as error:
        _fail(upload, progress, source, str(error))
    except Exception as error:
        logger.exception("upload %s, attempt %s failed", upload.pk, upload.attempt)
        if _is_of_the_database(error) and upload.attempt < ATTEMPTS:
            raise  # nothing was committed; `take_up_uploads` queues it again
        _fail(upload, progress, source, _unforeseen(error))
    else:
        metrics.INGESTED_BYTES.labels("import").inc(upload.bytes_total)
        receiving.discard(upload)
    notify.notify(upload=upload.pk)


def _import(source: Source, upload: Upload, progress: "Progress", ask_for_help: Callable[[int], None]) -> None:
    """Import a claimed upload as a recording."""
    with _portions(upload, ask_for_help) as reading, transaction.atomic():
        entries = import_into(source, progress.inputs, settings.LIMITS, progress.count, reading)
        _end(upload, progress, State.DONE, entries=entries, bytes_read=upload.bytes_total)


def _read_for(upload: Upload, progress: "Progress") -> None:
    """Read a claimed upload that is to be added to what is watched of a cluster; the cluster's worker adds it."""
    with transaction.atomic():
        source = read_into(upload, progress.inputs, settings.LIMITS, progress.count)
        _end(upload, progress, State.ADDING, source=source, entries=0, bytes_read=upload.bytes_total)


@contextmanager
def _portions(upload: Upload, ask_for_help: Callable[[int], None]) -> Iterator[Portions | None]:
    """Yield the portions in which several workers read a large upload of several files; None if it is read whole."""
    portions = Portions(upload, settings.LIMITS)
    if portions.count == 1:
        yield None
        return
    with closing(portions):
        portions.begin()
        ask_for_help(min(portions.count - 1, HELPERS))
        yield portions


def cancel(upload: Upload) -> None:
    """Stop an upload that has not ended. Its worker notices within a second, and nothing of the upload is kept."""
    open_states = [State.RECEIVING, State.WAITING, State.IMPORTING, State.ADDING]
    if Upload.objects.filter(pk=upload.pk, state__in=open_states).update(state=State.CANCELLED, source=None):
        receiving.discard(upload)
        Addition.objects.filter(upload=upload).delete()
        notify.notify(upload=upload.pk)


def discard_abandoned() -> None:
    """Remove what interrupted attempts have left.

    A worker that is only suspended still locks its source, which is then left for the next call.
    """
    abandoned = 3 * settings.IMPORT_SILENCE
    at_work = Upload.objects.filter(state=State.IMPORTING, source__isnull=False).values("source_id")
    for source in Source.objects.filter(ready=False, created__lt=timezone.now() - abandoned).exclude(pk__in=at_work):
        try:
            store.discard_source(source, patience=1)
        except OperationalError:
            logger.warning("source %s is still held by a worker that gave no sign of life", source.pk)
    for source in Source.objects.filter(ready=True).defer("document", "skips", "histogram"):
        tables.drop_leftovers(source, older=abandoned)


def _mine(upload: Upload) -> QuerySet[Upload]:
    """Return a query for the upload's row that finds nothing once another attempt has claimed it."""
    return Upload.objects.filter(pk=upload.pk, attempt=upload.attempt, state=State.IMPORTING)


def _end(upload: Upload, progress: "Progress", state: State, **fields: Any) -> None:
    """Write to the row how this attempt ended. Raise Stopped if it is not the current attempt any more."""
    kept = {"skipped": progress.count.skips.count, "skipped_examples": progress.examples, "seen": timezone.now()}
    if not _mine(upload).update(state=state, **kept, **fields):
        raise Stopped


def _fail(upload: Upload, progress: "Progress", source: Source | None, error: str) -> None:
    """Write to the row why this attempt failed, and remove its files and its source."""
    with suppress(Stopped):
        _end(upload, progress, State.FAILED, error=error, source=None)
        receiving.discard(upload)
    if source:
        try:
            store.discard_source(source)
        except DatabaseError:  # a periodic task (`discard_abandoned`) removes it later
            logger.warning("source %s could not be discarded", source.pk, exc_info=True)


def _is_of_the_database(error: Exception) -> bool:
    return isinstance(error, DatabaseError) and not isinstance(error, DataError)


def _unforeseen(error: Exception) -> str:
    who = "The database" if isinstance(error, DatabaseError) else "Causeline"
    return f"{who} could not take it; the worker's log says more. {_first_line(error)}"


def _first_line(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"


class Progress:
    """Write the progress of an import to the upload's row.

    It uses a thread and a database connection of its own, beside the transaction of the import.
    """

    def __init__(self, upload: Upload) -> None:
        self.count = Count(receiving.refused_of(upload))
        self._upload = upload
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._report_often, name=f"progress of upload {upload.pk}", daemon=True)
        self.inputs = receiving.inputs_of(upload)  # queried now: while entries are copied, the connection is busy

    def __enter__(self) -> "Progress":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    @property
    def examples(self) -> list[str]:
        """Return the first skips, with their reasons, as they are shown."""
        return [str(each) for each in self.count.skips.kept[:EXAMPLES]]

    def _report_often(self) -> None:
        with beside.at_work():
            connection = connections.create_connection("default")
        over = False
        while not over:
            over = self._over.wait(REPORT_EVERY)
            with beside.at_work():
                over = not self._reported(connection) or over
        with beside.at_work():
            connection.close()

    def _reported(self, connection: BaseDatabaseWrapper) -> bool:
        """Report, and return whether that was possible."""
        try:
            self._report(connection)
        except DatabaseError:
            logger.warning("upload %s: its progress could not be written", self._upload.pk, exc_info=True)
            return False
        return True

    def _report(self, connection: BaseDatabaseWrapper) -> None:
        count = self.count
        done = count.reading.bytes_read if count.reading else 0
        with connection.cursor() as cursor:
            cursor.execute(
                "UPDATE timeline_upload SET bytes_read = %s, entries = %s, skipped = %s, skipped_examples = %s::jsonb,"
                " seen = now() WHERE id = %s AND attempt = %s AND state = 'importing'",
                [done, count.read, count.skips.count, json.dumps(self.examples), self._upload.pk, self._upload.attempt],
            )
            if not cursor.rowcount:
                count.stopped = True
        notify.notify(connection, upload=self._upload.pk)

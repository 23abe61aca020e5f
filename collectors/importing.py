"""An upload becomes a recording: read, counted, reported while it runs, and taken in by the pipeline as one."""

import json
import logging
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

from django.conf import settings
from django.db import DatabaseError, DataError, OperationalError, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import F, QuerySet
from django.utils import timezone

from collectors.formats import NotARecording, Skipped, read
from collectors.formats.stream import Recording
from timeline import push, store
from timeline.entries import Entry
from timeline.models import Source, Upload
from timeline.pipeline import ingest
from timeline.world import World

logger = logging.getLogger(__name__)
ABANDONED = timedelta(minutes=1)
EXAMPLES = 20  # skipped pieces that are kept with their reasons
REPORT_EVERY = 0.3  # seconds between two reports of progress
ATTEMPTS = 5  # at the same upload, when workers die or the database fails
State = Upload.State


class Stopped(Exception):
    """The upload was cancelled, or another worker has taken it over."""


def path_of(upload: Upload) -> Path:
    """Where the file lies until it is imported."""
    return settings.UPLOAD_DIR / f"{upload.pk}"


def check(path: Path, name: str) -> None:
    """Raises NotARecording for a file that cannot be understood, before anything of it is kept."""
    recording, _ = read(path, name, bodies=False)
    recording.close()


def queue(upload: Upload) -> None:
    """The file has arrived: hand it to a worker. Should the broker lose the message, beat queues it again."""
    from collectors.tasks import import_upload

    Upload.objects.filter(pk=upload.pk).update(state=State.WAITING, seen=timezone.now())
    upload.refresh_from_db()
    import_upload.delay(upload.pk)


def take_up(upload_id: int) -> Upload | None:
    """Claim an upload; None if it is not waiting."""
    claimed = Upload.objects.filter(pk=upload_id, state=State.WAITING).update(
        state=State.IMPORTING, attempt=F("attempt") + 1, seen=timezone.now(), bytes_read=0, error=""
    )
    return Upload.objects.get(pk=upload_id) if claimed else None


def run(upload: Upload) -> None:
    """Import a claimed upload. Whatever happens is written down in it; its file goes when it has ended."""
    path = path_of(upload)
    name = upload.name.partition(".")[0] or upload.name
    source = store.open_source(name)
    _mine(upload).update(source=source)
    try:
        with Progress(upload, path) as progress, transaction.atomic():
            entries = ingest(source, World(), progress.entries())
            if not entries:
                raise NotARecording(_nothing_in_it(upload.name, progress))
            Source.objects.filter(pk=source.pk).update(ready=True, skipped=progress.skipped)
            ended = _mine(upload).update(
                state=State.DONE, entries=entries, bytes_read=upload.bytes_total, seen=timezone.now()
            )
            if not ended:
                raise Stopped
    except Stopped:
        store.discard_source(source)
        path.unlink(missing_ok=True)
    except (NotARecording, OSError) as error:
        store.discard_source(source)
        path.unlink(missing_ok=True)
        _mine(upload).update(state=State.FAILED, error=str(error), source=None)
    except DatabaseError as error:
        logger.exception("upload %s, attempt %s: the database failed", upload.pk, upload.attempt)
        if upload.attempt < ATTEMPTS and not isinstance(error, DataError):
            raise  # nothing was committed; it is taken up again
        store.discard_source(source)
        _mine(upload).update(state=State.FAILED, error=f"The database could not take it: {error}", source=None)
        path.unlink(missing_ok=True)
    else:
        path.unlink(missing_ok=True)
    push.notify(upload=upload.pk)


def cancel(upload: Upload) -> None:
    """Stop an upload that has not ended. Its worker notices within a second; nothing of it stays."""
    open_states = [State.RECEIVING, State.WAITING, State.IMPORTING]
    if Upload.objects.filter(pk=upload.pk, state__in=open_states).update(state=State.CANCELLED, source=None):
        path_of(upload).unlink(missing_ok=True)
        push.notify(upload=upload.pk)


def discard_abandoned() -> None:
    """Remove what attempts that were cut off have left. A worker that is only frozen still holds its own: later then."""
    at_work = Upload.objects.filter(state=State.IMPORTING, source__isnull=False).values("source_id")
    for source in Source.objects.filter(ready=False, created__lt=timezone.now() - ABANDONED).exclude(pk__in=at_work):
        try:
            store.discard_source(source, patience=1)
        except OperationalError:
            logger.warning("source %s is still held by a worker that gave no sign of life", source.pk)


def _mine(upload: Upload) -> QuerySet[Upload]:
    """The upload's row, as long as this attempt is the one that counts."""
    return Upload.objects.filter(pk=upload.pk, attempt=upload.attempt, state=State.IMPORTING)


def _nothing_in_it(name: str, progress: "Progress") -> str:
    if progress.examples:
        return f"{name} holds no change of an object that can be used. The first reason: {progress.examples[0]}"
    return (
        f"{name} is an audit log, but none of its events changes an object. "
        "The audit policy should log create, update, patch and delete at level RequestResponse."
    )


class Progress:
    """Counts what is read and writes it to the upload's row on a connection of its own, beside the import's transaction."""

    def __init__(self, upload: Upload, path: Path) -> None:
        self._upload = upload
        self._path = path
        self._recording: Recording | None = None
        self._over = threading.Event()
        self._stopped = False
        self._thread = threading.Thread(target=self._report_often, name=f"progress of upload {upload.pk}", daemon=True)
        self.read = 0
        self.skipped = 0
        self.examples: list[str] = []

    def __enter__(self) -> "Progress":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def entries(self) -> Iterator[Entry]:
        recording, items = read(self._path, self._upload.name, bodies=True)
        self._recording = recording
        for item in items:
            if isinstance(item, Skipped):
                self.skipped += 1
                if len(self.examples) < EXAMPLES:
                    self.examples.append(str(item))
            else:
                self.read += 1
                yield item
            if self._stopped:
                raise Stopped

    def _report_often(self) -> None:
        connection = connections.create_connection("default")
        try:
            while True:
                over = self._over.wait(REPORT_EVERY)
                self._report(connection)
                if over:
                    return
        except DatabaseError:
            logger.warning("upload %s: its progress could not be written", self._upload.pk, exc_info=True)
        finally:
            connection.close()

    def _report(self, connection: BaseDatabaseWrapper) -> None:
        done = self._recording.bytes_read if self._recording else 0
        with connection.cursor() as cursor:
            cursor.execute(
                "UPDATE timeline_upload SET bytes_read = %s, entries = %s, skipped = %s, skipped_examples = %s::jsonb,"
                " seen = now() WHERE id = %s AND attempt = %s AND state = 'importing'",
                [done, self.read, self.skipped, json.dumps(self.examples), self._upload.pk, self._upload.attempt],
            )
            if not cursor.rowcount:
                self._stopped = True
        push.notify(connection, upload=self._upload.pk)

"""Receive files, whole or in pieces, and keep them on disk until they are imported.

The size of a file on disk is how much of it has arrived, so a broken connection, a reloaded page or a restarted server
continues from there. A file that must never be stored, such as a kubeconfig, is refused by its name, or by its first
bytes before they are written.
"""

import errno
import os
import shutil
import time
from collections.abc import Collection, Sequence
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple, Protocol

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from collectors.formats import NotARecording, Skipped, read, rejected_file, rejection_reason
from collectors.formats.stream import HEAD_BYTES
from timeline.models import Cluster, Upload, UploadFile
from timeline.storage import notify

FILES = 10_000  # of one upload; more should be packed into an archive
PIECE_BYTES = 32 * 1024**2  # of one request at most; the page sends 8 MB or less
SPARE_BYTES = 64 * 1024**2  # that stay free on disk
LEFT_OVER = timedelta(hours=1)  # age after which files without an open upload are removed
NOTIFY_EVERY = timedelta(seconds=1)  # between two notifications of progress
State = Upload.State
_CHUNK = 1024 * 1024
_NAME_LENGTH = 500


class Readable(Protocol):
    """A stream of bytes that can be read."""

    def read(self, size: int, /) -> bytes: ...


class Announced(NamedTuple):
    """A file that the client will send."""

    name: str
    size: int


class TooLarge(Exception):
    """An upload exceeds a limit or what was announced. The message says what to do."""


class Misplaced(Exception):
    """A piece does not begin where the received part of its file ends."""

    def __init__(self, file: UploadFile, offset: int, received: int) -> None:
        self.received = received
        super().__init__(f"{received} bytes of {file.name} have arrived; this piece begins at {offset}.")


class Incomplete(Exception):
    """An upload was ended before all of it had arrived. The message says what is missing."""


class Ended(Exception):
    """An upload accepts nothing any more. The message says why."""


def folder_of(upload: Upload) -> Path:
    """Return the folder that holds the files of this upload and nothing else."""
    return settings.UPLOAD_DIR / f"{upload.pk}"


def path_of(upload: Upload, number: int = 0) -> Path:
    """Return the path of a file of this upload by its number."""
    return folder_of(upload) / f"{number}"


def inputs_of(upload: Upload, numbers: Collection[int] | None = None) -> list[tuple[Path, str]]:
    """Return the files to read, all or those with these numbers, each with the name that the user knows."""
    files = upload.files.filter(refused="").order_by("number")
    if numbers is not None:
        files = files.filter(number__in=numbers)
    return [(path_of(upload, file.number), file.name) for file in files]


def refused_of(upload: Upload) -> list[Skipped]:
    """Return the files that were refused, each with the reason."""
    return [Skipped(file.name, 0, file.refused) for file in upload.files.exclude(refused="").order_by("number")]


def received_of(upload: Upload) -> list[int]:
    """Return how many bytes of each file have arrived; the full sizes once the upload is complete."""
    files = upload.files.order_by("number")
    if upload.state != State.RECEIVING:
        return [0 if file.refused else file.size for file in files]
    return [_size(path_of(upload, file.number)) for file in files]


def begin(name: str, files: Sequence[Announced], owner: int | None = None, cluster: Cluster | None = None) -> Upload:
    """Create an upload of this user that waits for these files. With a cluster, it is added to what is watched of it.

    Raise TooLarge, NotARecording if no file may be kept, and OSError if the disk lacks space.
    """
    total = sum(file.size for file in files)
    if total > settings.UPLOAD_LIMIT_BYTES:
        raise TooLarge(_over_the_limit(name))
    if len(files) > FILES:
        raise TooLarge(f"{name} has {len(files)} files; {FILES} can be sent at a time. Pack them into an archive.")
    reasons = [rejection_reason(file.name) for file in files]
    if all(reasons):
        raise rejected_file(files[0].name, reasons[0]) if files else NotARecording(f"{name} has no files in it.")
    settings.UPLOAD_DIR.mkdir(mode=0o700, parents=True, exist_ok=True)
    if total + SPARE_BYTES > shutil.disk_usage(settings.UPLOAD_DIR).free:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    with transaction.atomic():
        called = _plain(name)[:253] or "recording"
        upload = Upload.objects.create(name=called, bytes_total=total, owner_id=owner, cluster=cluster)
        UploadFile.objects.bulk_create(
            UploadFile(
                upload=upload,
                number=number,
                name=_plain(file.name)[-_NAME_LENGTH:] or "recording",
                size=file.size,
                refused=reason,
            )
            for number, (file, reason) in enumerate(zip(files, reasons, strict=True))
        )
        folder_of(upload).mkdir(mode=0o700)
    return upload


def put(file: UploadFile, offset: int, piece: bytes) -> int:
    """Append a piece to a file, and return how many of its bytes have arrived.

    Raise Ended, Misplaced, TooLarge, NotARecording for a file that must not be kept, or OSError. After an OSError the
    upload has failed and its files are removed.
    """
    try:
        with transaction.atomic():
            upload = Upload.objects.select_for_update().get(pk=file.upload_id)
            if upload.state != State.RECEIVING:
                raise Ended(ended(upload))
            received = _add(upload, file, offset, piece)
            if timezone.now() - upload.seen > NOTIFY_EVERY:
                notify.notify(upload=upload.pk)
            upload.seen = timezone.now()
            upload.bytes_read += len(piece)
            upload.save(update_fields=["seen", "bytes_read"])
    except NotARecording as error:
        _leave_out(file, str(error))
        raise rejected_file(file.name, str(error)) from None
    except OSError as error:
        fail(Upload.objects.get(pk=file.upload_id), f"{error.strerror or error}. Nothing of it was stored.")
        raise
    return received


def _add(upload: Upload, file: UploadFile, offset: int, piece: bytes) -> int:
    path = path_of(upload, file.number)
    received = _size(path)
    if file.refused:
        raise NotARecording(file.refused)
    if offset != received:
        raise Misplaced(file, offset, received)
    if received + len(piece) > file.size:
        raise TooLarge(f"{file.name} was announced with {file.size} bytes, and more have come.")
    if received < HEAD_BYTES:
        head = (path.read_bytes() if received else b"") + piece[:HEAD_BYTES]
        if words := rejection_reason(file.name, head):
            raise NotARecording(words)
    with path.open("ab") as stream:
        stream.write(piece)
    return received + len(piece)


def _leave_out(file: UploadFile, words: str) -> None:
    """Remove a refused file. The upload continues without it; without any other file, the upload fails."""
    UploadFile.objects.filter(pk=file.pk).update(refused=words)
    path_of(file.upload, file.number).unlink(missing_ok=True)
    if not file.upload.files.filter(refused="").exists():
        fail(file.upload, str(rejected_file(file.name, words)))


def complete(upload: Upload) -> None:
    """Check an upload that has arrived completely.

    Raise Ended, Incomplete, or NotARecording if nothing in it can be understood.
    """
    upload.refresh_from_db()
    if upload.state != State.RECEIVING:
        raise Ended(ended(upload))
    for file in upload.files.filter(refused=""):
        path = path_of(upload, file.number)
        if not file.size:
            path.touch()
        received = _size(path)
        if received < file.size:
            raise Incomplete(f"Only {received} of the {file.size} bytes of {file.name} have arrived.")
    try:
        check(inputs_of(upload))
    except NotARecording as error:
        fail(upload, str(error))
        raise


def check(inputs: Sequence[tuple[Path, str]]) -> None:
    """Raise NotARecording if none of these files can be understood, before a worker has to read them."""
    read(inputs, bodies=False, limits=settings.LIMITS).close()


def keep(upload: Upload, stream: Readable) -> None:
    """Write the only file of an upload, whose bytes come in one stream. Raise as `put` and `complete` do."""
    file, received = upload.files.get(), 0
    while piece := stream.read(_CHUNK):
        received = put(file, received, piece)
    complete(upload)


def fail(upload: Upload, error: str) -> None:
    """End an upload that no worker has claimed, and remove its files."""
    open_states = [State.RECEIVING, State.WAITING]
    if Upload.objects.filter(pk=upload.pk, state__in=open_states).update(state=State.FAILED, error=error):
        discard(upload)
        notify.notify(upload=upload.pk)


def discard(upload: Upload) -> None:
    """Remove the files of an upload. If that fails, the periodic `discard_leftovers` does it."""
    shutil.rmtree(folder_of(upload), ignore_errors=True)


def discard_leftovers() -> None:
    """Remove the files in the upload folder that belong to no open upload."""
    if not settings.UPLOAD_DIR.is_dir():
        return
    old = time.time() - LEFT_OVER.total_seconds()
    lying = {int(each.name): each for each in settings.UPLOAD_DIR.iterdir() if each.name.isdecimal()}
    open_ones = Upload.objects.filter(pk__in=lying, state__in=[State.RECEIVING, State.WAITING, State.IMPORTING])
    for number in lying.keys() - set(open_ones.values_list("pk", flat=True)):
        if lying[number].stat().st_mtime < old:
            shutil.rmtree(lying[number], ignore_errors=True)


def ended(upload: Upload) -> str:
    """Return why an upload accepts nothing any more."""
    return upload.error or {
        State.CANCELLED.value: "It was cancelled.",
        State.FAILED.value: "It could not be imported.",
    }.get(upload.state, "All of it has arrived already.")


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _over_the_limit(name: str) -> str:
    limit = f"larger than {settings.UPLOAD_LIMIT_BYTES} bytes"
    return f"{name} is {limit}. CAUSELINE_UPLOAD_LIMIT_BYTES raises the limit."


def _plain(name: str) -> str:
    return name.replace("\0", "\N{REPLACEMENT CHARACTER}")  # PostgreSQL's text cannot hold a NUL character

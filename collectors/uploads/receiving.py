"""This module receives files, whole or in pieces, and keeps them on disk until they are imported.

The size of a file on disk says how much of it has arrived, so a broken connection, a reloaded page or a restarted
server continues from there. What must never be kept is refused by its name, or by its first bytes before
they are written.
"""

import errno
import os
import shutil
import time
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple, Protocol

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from collectors.formats import NotARecording, Skipped, read, rejected_file, rejection_reason
from collectors.formats.stream import HEAD_BYTES
from timeline.models import Upload, UploadFile
from timeline.storage import notify

FILES = 10_000  # of one upload; more are better packed into an archive
PIECE_BYTES = 32 * 1024**2  # that come at a time at most; a page sends 8 MB and less
SPARE_BYTES = 64 * 1024**2  # that stay free on the disk
LEFT_OVER = timedelta(hours=1)
TELL_EVERY = timedelta(seconds=1)
State = Upload.State
_CHUNK = 1024 * 1024
_NAME_LENGTH = 500


class Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


class Announced(NamedTuple):
    """A file that is to come."""

    name: str
    size: int


class TooLarge(Exception):
    """What comes exceeds a limit or what was announced; the message says which and what to do."""


class Misplaced(Exception):
    """A piece does not begin where the file ends so far."""

    def __init__(self, file: UploadFile, offset: int, received: int) -> None:
        self.received = received
        super().__init__(f"{received} bytes of {file.name} have arrived; this piece begins at {offset}.")


class Incomplete(Exception):
    """The end was told before everything had arrived; the message says what is missing."""


class Ended(Exception):
    """The upload takes nothing any more; the message says why."""


def folder_of(upload: Upload) -> Path:
    """Where the files of an upload lie, and nothing else."""
    return settings.UPLOAD_DIR / f"{upload.pk}"


def path_of(upload: Upload, number: int = 0) -> Path:
    return folder_of(upload) / f"{number}"


def inputs_of(upload: Upload) -> list[tuple[Path, str]]:
    """The files to read, each with its name."""
    files = upload.files.filter(refused="").order_by("number")
    return [(path_of(upload, file.number), file.name) for file in files]


def refused_of(upload: Upload) -> list[Skipped]:
    """What was left out, each with the reason."""
    return [Skipped(file.name, 0, file.refused) for file in upload.files.exclude(refused="").order_by("number")]


def received_of(upload: Upload) -> list[int]:
    """How many bytes of each file have arrived; all of them once the upload is complete."""
    files = upload.files.order_by("number")
    if upload.state != State.RECEIVING:
        return [0 if file.refused else file.size for file in files]
    return [_size(path_of(upload, file.number)) for file in files]


def begin(name: str, files: Sequence[Announced], owner: int | None = None) -> Upload:
    """An upload of this user that waits for these files.

    Raises TooLarge, NotARecording, and OSError where the disk lacks space.
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
        upload = Upload.objects.create(name=_plain(name)[:253] or "recording", bytes_total=total, owner_id=owner)
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
    """Add a piece to a file; how many of its bytes have arrived then.

    Raises Ended, Misplaced, TooLarge, NotARecording for what must not be kept, and OSError; after that the upload has
    failed, and what was kept of it is given back.
    """
    try:
        with transaction.atomic():
            upload = Upload.objects.select_for_update().get(pk=file.upload_id)
            if upload.state != State.RECEIVING:
                raise Ended(ended(upload))
            received = _add(upload, file, offset, piece)
            if timezone.now() - upload.seen > TELL_EVERY:
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
    """The rest of its upload goes on without it; one that is the only one takes its upload with it."""
    UploadFile.objects.filter(pk=file.pk).update(refused=words)
    path_of(file.upload, file.number).unlink(missing_ok=True)
    if not file.upload.files.filter(refused="").exists():
        fail(file.upload, str(rejected_file(file.name, words)))


def complete(upload: Upload) -> None:
    """All has arrived: look at it. Raises Ended, Incomplete, and NotARecording for what cannot be understood."""
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
    """Raises NotARecording for files of which none can be understood, before a worker is asked to read them."""
    read(inputs, bodies=False, limits=settings.LIMITS).close()


def keep(upload: Upload, stream: Readable) -> None:
    """All bytes of an upload's only file come at once. Raises as `put` and `complete` do."""
    file, received = upload.files.get(), 0
    while piece := stream.read(_CHUNK):
        received = put(file, received, piece)
    complete(upload)


def fail(upload: Upload, error: str) -> None:
    """End an upload that has not been taken up, and give its space back."""
    open_states = [State.RECEIVING, State.WAITING]
    if Upload.objects.filter(pk=upload.pk, state__in=open_states).update(state=State.FAILED, error=error):
        discard(upload)
        notify.notify(upload=upload.pk)


def discard(upload: Upload) -> None:
    """Remove the files of an upload. A full disk may give nothing up either: a periodic task does it then."""
    shutil.rmtree(folder_of(upload), ignore_errors=True)


def discard_leftovers() -> None:
    """Remove what lies where uploads lie and belongs to none that is open."""
    if not settings.UPLOAD_DIR.is_dir():
        return
    old = time.time() - LEFT_OVER.total_seconds()
    lying = {int(each.name): each for each in settings.UPLOAD_DIR.iterdir() if each.name.isdecimal()}
    open_ones = Upload.objects.filter(pk__in=lying, state__in=[State.RECEIVING, State.WAITING, State.IMPORTING])
    for number in lying.keys() - set(open_ones.values_list("pk", flat=True)):
        if lying[number].stat().st_mtime < old:
            shutil.rmtree(lying[number], ignore_errors=True)


def ended(upload: Upload) -> str:
    """Why an upload takes nothing any more."""
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
    return name.replace("\0", "\N{REPLACEMENT CHARACTER}")  # PostgreSQL knows no NUL character

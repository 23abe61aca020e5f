"""Divide the files of a large upload into portions that several workers read, on one machine or on many.

One worker imports the upload: it takes what the portions hold in their order, and judges and stores it. The others
read: each claims a portion that nobody has, and stores its observations, redacted and packed, until the import takes
them. A portion whose reader gives no sign of life is read again by another, and what the first one stores is ignored.
"""

import logging
import secrets
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import sleep
from typing import ParamSpec, TypeVar

from django.conf import settings
from django.db import connections, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from collectors.analysis import Skips
from collectors.formats import AnyReading, Bounds, Limits, Skipped, named, read
from collectors.uploads import receiving
from timeline.core.entries import LogLine, Mark, Observation
from timeline.core.machine import beside
from timeline.core.machine.processors import available_processors
from timeline.models import Portion, PortionPart, Upload, UploadFile
from timeline.storage.entries import additions

logger = logging.getLogger(__name__)
AHEAD = 32  # portions that are read ahead of the import, so that what waits in the database stays bounded
_PART_BYTES = 4 * 1024**2  # bytes of objects that are packed together
_PAUSE = 0.2  # seconds between two looks at a portion that another worker reads
_SIGN_OF_LIFE = 2_000  # observations between two signs of life of a reader
State = Portion.State
_P = ParamSpec("_P")
_T = TypeVar("_T")


class Taken(Exception):
    """Another worker has the portion now, or the import has ended."""


class Portions:
    """The reading of an upload in portions, for the worker that imports it.

    While entries are copied, the connection of the import is busy. A thread has another one for the rows of portions.
    """

    def __init__(self, upload: Upload, limits: Limits) -> None:
        self.files: dict[str, str] = {}  # each file that was begun so far -> the name of its format
        self._upload = upload
        self._limits = limits
        self._read_before = 0  # bytes of the portions before the present one
        self._present: AnyReading | None = None
        self._decompressed = 0
        self._closed = False
        self._thread = ThreadPoolExecutor(1, "portions")
        files = list(upload.files.filter(refused="").order_by("number"))
        self.bytes_total = sum(file.size for file in files)
        self._groups = divide(files, settings.PORTION_BYTES)

    @property
    def bytes_read(self) -> int:
        """Return how many bytes were read of what the import has taken."""
        return self._read_before + (self._present.bytes_read if self._present else 0)

    @property
    def count(self) -> int:
        return len(self._groups)

    def begin(self) -> None:
        """Write the rows of the portions, instead of those that an earlier attempt may have left."""
        with transaction.atomic():
            discard(self._upload)
            Portion.objects.bulk_create(
                Portion(upload=self._upload, number=number, files=[file.number for file in files])
                for number, files in enumerate(self._groups)
            )

    def close(self) -> None:
        """Remove the portions and close the connection. It may be called twice."""
        if self._present:
            self._present.close()
        if not self._closed:
            self._closed = True
            try:
                self._in_thread(discard, self._upload)
            finally:
                self._in_thread(connections.close_all)
                self._thread.shutdown()

    def __iter__(self) -> Iterator[Observation | Skipped]:
        bounds = Bounds(self._limits)
        for number in range(len(self._groups)):
            for item in self._portion(number):
                if isinstance(item, Skipped):
                    yield item
                    continue
                if (kept := bounds.keep(item, _file_of(item))) is not None:
                    yield kept
                if bounds.reached:
                    return
            if self._decompressed > self._limits.content_bytes:
                limit = f"more than {self._limits.content_bytes} bytes come out of what is packed"
                reason = f"is not read further: {limit}; CAUSELINE_CONTENT_LIMIT_BYTES raises the limit"
                yield Skipped(self._groups[number][-1].name, 0, reason)
                return

    def _portion(self, number: int) -> Iterator[Observation | Skipped]:
        """Yield what a portion holds: read it here if nobody reads it, and otherwise what another worker has stored."""
        while True:
            if claimed := self._in_thread(claim, self._upload.pk, Q(number=number)):
                yield from self._read_here(claimed)
                return
            portion = self._in_thread(Portion.objects.get, upload=self._upload, number=number)
            if portion.state == State.READ:
                yield from self._stored(portion)
                return
            ahead = Q(number__gt=number, number__lt=number + AHEAD)
            if claimed := self._in_thread(claim, self._upload.pk, ahead):
                self._in_thread(_store, claimed, self._limits)
            else:
                sleep(_PAUSE)

    def _read_here(self, portion: Portion) -> Iterator[Observation | Skipped]:
        inputs = self._in_thread(_inputs, portion)
        reading = read(inputs, bodies=True, limits=self._limits, processes=available_processors(), part=True)
        self._present = reading
        for count, item in enumerate(reading, 1):
            if count % _SIGN_OF_LIFE == 0:
                self._in_thread(_mine(portion).update, seen=timezone.now())
            yield item
        self._end(reading.files, reading.bytes_read, reading.bytes_decompressed)
        self._in_thread(_mine(portion).update, state=State.READ)

    def _stored(self, portion: Portion) -> Iterator[Observation | Skipped]:
        yield from (Skipped(*each) for each in portion.skips)
        parts = PortionPart.objects.filter(upload=portion.upload_id, portion=portion.number, reader=portion.reader)
        number = 0
        while part := self._in_thread(parts.filter(number=number).first):
            yield from additions.unpacked(bytes(part.lines))
            self._in_thread(parts.filter(number=number).delete)
            number += 1
        self._end(portion.formats, portion.bytes_read, portion.bytes_decompressed)

    def _end(self, formats: dict[str, str], size: int, decompressed: int) -> None:
        self.files |= formats
        self._present = None
        self._read_before += size
        self._decompressed += decompressed

    def _in_thread(self, function: Callable[_P, _T], *args: _P.args, **options: _P.kwargs) -> _T:
        return self._thread.submit(beside.at_work()(function), *args, **options).result()


def divide(files: Sequence[UploadFile], size: int) -> list[list[UploadFile]]:
    """Divide files, in their order, into portions of at least `size` bytes; a last one that is smaller stays."""
    portions: list[list[UploadFile]] = []
    room = 0
    for file in files:
        if room <= 0:
            portions.append([])
            room = size
        portions[-1].append(file)
        room -= file.size
    return portions or [[]]


def discard(upload: Upload) -> None:
    """Remove the portions of an upload, and what waits of them."""
    PortionPart.objects.filter(upload=upload).delete()
    Portion.objects.filter(upload=upload).delete()


def help_reading(upload_id: int) -> None:
    """Read portions of an upload that another worker imports, until nobody needs help."""
    while True:
        wanted = _wanted(upload_id)
        portion = None if wanted is None else claim(upload_id, wanted)
        if portion is None:
            return
        if not all(path.exists() for path, _ in _inputs(portion)):
            _mine(portion).update(state=State.WAITING, reader="")
            logger.warning("upload %s is not in %s, which has to be shared to help", upload_id, settings.UPLOAD_DIR)
            return
        _store(portion, settings.LIMITS)


def _wanted(upload_id: int) -> Q | None:
    """Return which portions may be read: those soon after what the import takes next; None if the import has ended."""
    if not Upload.objects.filter(pk=upload_id, state=Upload.State.IMPORTING).exists():
        return None
    kept = PortionPart.objects.filter(upload=upload_id).order_by("portion").values_list("portion", flat=True).first()
    return Q() if kept is None else Q(number__lt=kept + AHEAD)


def claim(upload_id: int, which: Q = Q()) -> Portion | None:  # noqa: B008
    """Claim the first of these portions that nobody reads, or whose reader gives no sign of life."""
    silent = Q(state=State.READING, seen__lt=timezone.now() - settings.IMPORT_SILENCE)
    free = Portion.objects.filter(which, Q(state=State.WAITING) | silent, upload=upload_id)
    with transaction.atomic():
        portion = free.order_by("number").select_for_update(skip_locked=True).first()
        if portion is not None:
            portion.state, portion.seen, portion.reader = State.READING, timezone.now(), secrets.token_hex(8)
            portion.save(update_fields=["state", "seen", "reader"])
    return portion


def _mine(portion: Portion) -> QuerySet[Portion]:
    """Return a query for the portion that finds nothing once another worker has claimed it."""
    return Portion.objects.filter(
        upload=portion.upload_id, number=portion.number, reader=portion.reader, state=State.READING
    )


def _sign_of_life(portion: Portion) -> None:
    """Note that a claimed portion is being read. Raise Taken if another worker has it."""
    if not _mine(portion).update(seen=timezone.now()):
        raise Taken


def _store(portion: Portion, limits: Limits) -> None:
    """Read a claimed portion and store what it holds. Nothing of it counts if another worker has it by then."""
    reading = read(_inputs(portion), bodies=True, limits=limits, processes=available_processors(), part=True)
    skips = Skips()
    held: list[Observation] = []
    number = size = 0
    try:
        for count, item in enumerate(reading, 1):
            if count % _SIGN_OF_LIFE == 0:
                _sign_of_life(portion)
            if isinstance(item, Skipped):
                skips.add(item)
                continue
            held.append(item)
            size += _size(item)
            if size >= _PART_BYTES:
                number, held, size = store_part(portion, number, held), [], 0
        if held:
            store_part(portion, number, held)
        ended = _mine(portion).update(
            state=State.READ,
            seen=timezone.now(),
            bytes_read=reading.bytes_read,
            bytes_decompressed=reading.bytes_decompressed,
            formats=reading.files,
            skips=[list(each) for each in skips.all()],
        )
        if not ended:
            raise Taken
    except Taken:
        left = PortionPart.objects.filter(upload=portion.upload_id, portion=portion.number, reader=portion.reader)
        left.delete()
    finally:
        reading.close()


def store_part(portion: Portion, number: int, held: list[Observation]) -> int:
    """Store observations of a portion; return the number of the next part. Raise Taken."""
    with transaction.atomic():
        _sign_of_life(portion)
        PortionPart.objects.create(
            upload_id=portion.upload_id,
            portion=portion.number,
            reader=portion.reader,
            number=number,
            lines=additions.packed(held),
        )
    return number + 1


def _size(item: Observation) -> int:
    """Return about how many bytes an observation takes."""
    return 500 + (0 if isinstance(item, Mark | LogLine) else len(getattr(item, "body", b"")))


def _file_of(item: Observation) -> str:
    place = getattr(item, "place", None)
    return place.file if place else ""


def _inputs(portion: Portion) -> list[tuple[Path, str]]:
    return named(receiving.inputs_of(Upload(pk=portion.upload_id), portion.files))

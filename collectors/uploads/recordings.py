"""This module imports recordings into a source: it reads, judges and stores them in one transaction."""

import gc
import itertools
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePath

from django.conf import settings
from django.db import DatabaseError, transaction
from psycopg.errors import DiskFull

from collectors.analysis import SKIPS_KEPT, Report, Skips, available_processors, nothing_to_judge, two_clusters_message
from collectors.formats import Limits, NotARecording, Reading, Skipped, named, read
from timeline.core.entries import Observation
from timeline.history.world import World
from timeline.models import Source
from timeline.pipeline import TwoClusters, ingest
from timeline.storage import store

_ENDINGS = {".gz", ".json", ".jsonl", ".log", ".ndjson", ".txt", ".zst"}
_EVERY = 2_000  # entries between two reports
_RESERVE = 64 * 1024**2  # bytes of the disk that an import leaves to others
_TO_COME = 1024  # bytes that an entry may still take when all are read: tracks, their indexes, PostgreSQL's log
_NO_ROOM = "{}. Nothing was imported, and its space was given back. Make room, or import less, and try again."
Inputs = Sequence[tuple[Path, str]]  # each with what the user calls it


class Stopped(Exception):
    """The import was given up on purpose."""


class NoRoom(OSError):
    """The disk is full, or nearly so; the message says what to do."""


class Count:
    """What an import has read so far."""

    def __init__(self, refused: Iterable[Skipped] = (), report: Report | None = None) -> None:
        """`refused` are inputs that were left out before."""
        self._report = report
        self.reading: Reading | None = None
        self.read = 0
        self.skips = Skips()
        for each in refused:
            self.skips.add(each)
        self.stopped = False  # to be set by whoever wants the import to end

    def entries(self, reading: Reading) -> Iterator[Observation]:
        self.reading = reading
        for item in reading:
            if isinstance(item, Skipped):
                self.skips.add(item)
            else:
                self.read += 1
                self.skips.use(item)
                if self.read % _EVERY == 0:
                    _check_room(self.read)
                    if self._report:
                        self._report(reading, self.read)
                yield item
            if self.stopped:
                raise Stopped


def import_into(source: Source, inputs: Inputs, limits: Limits, count: Count) -> int:
    """Take in what these paths record; the number of changes that were new to the source, which is shown then.

    Files that were taken in before change nothing. Raises NotARecording, OSError, Stopped, and store.Overtaken where
    another import has changed the source meanwhile; then nothing has changed.
    """
    inputs = named(inputs)
    names = [name for _, name in inputs]
    called = ", ".join(names)
    reading = read(inputs, bodies=True, limits=limits, processes=available_processors())
    world = store.open_again(source) if source.ready else World()
    gc.disable()  # nothing that is read forms cycles, and the collector would walk all of it again and again
    try:
        with transaction.atomic():
            new = ingest(source, world, count.entries(reading))
            if not count.read:
                raise NotARecording(_nothing(called, reading, count.skips))
            _tell(source, names, count.skips)
            store.show_source(source)
    except DatabaseError as error:
        store.close_again(source)
        if isinstance(error.__cause__, DiskFull):
            raise NoRoom(_NO_ROOM.format("The disk of the database is full")) from error
        raise
    except TwoClusters as error:
        store.close_again(source)
        raise NotARecording(two_clusters_message(*error.args)) from None
    except BaseException:
        store.close_again(source)
        raise
    finally:
        gc.enable()
    return new


def database_folder(host: str, data_dir: Path) -> Path | None:
    """The folder of the PostgreSQL that Causeline runs itself, which is asked by a socket; None for any other."""
    folder = data_dir / "postgres"
    return folder if host.startswith("/") and folder.is_dir() else None


def _check_room(entries: int) -> None:
    """Raises NoRoom before there is none: a PostgreSQL beside this that cannot write its log any more has to stop.

    Where PostgreSQL runs elsewhere, an import takes nothing of this machine's disk: PostgreSQL says by itself when its
    own is full.
    """
    folder = database_folder(str(settings.DATABASES["default"]["HOST"]), settings.DATA_DIR)
    if folder is None:
        return
    free = shutil.disk_usage(folder).free
    if free < _RESERVE + entries * _TO_COME:
        raise NoRoom(_NO_ROOM.format(f"The disk is nearly full, {free >> 20} MiB are free"))


def _nothing(called: str, reading: Reading, skips: Skips) -> str:
    if skips.kept:
        return f"{called}: no change of an object can be used. The first reason: {skips.kept[0]}."
    return nothing_to_judge(called, reading)


def _tell(source: Source, names: list[str], skips: Skips) -> None:
    """Write down what was read and what was skipped of it; what was told before is not counted twice."""
    source.inputs += [name for name in names if name not in source.inputs]
    known = {tuple(each) for each in source.skips}
    new = [each for each in skips.kept if each not in known]
    if new:
        room = SKIPS_KEPT - len(source.skips)
        source.skips += [list(each) for at, each in enumerate(new) if at < room or not each.line]
        source.skipped += skips.count - (len(skips.kept) - len(new))
    source.mostly_skipped |= dict(itertools.islice(skips.mostly_skipped().items(), SKIPS_KEPT))
    source.save(update_fields=["inputs", "skips", "skipped", "mostly_skipped"])


def title(name: str) -> str:
    """What the recording is called: the file's name without the endings that say how it is packed."""
    path = PurePath(name)
    while path.suffix.lower() in _ENDINGS:
        path = path.with_suffix("")
    return path.name or name

"""Import recordings into a source: read, judge and store them in one transaction."""

import gc
import itertools
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from errno import ENOSPC
from pathlib import Path, PurePath

from django.conf import settings
from django.db import DatabaseError, transaction
from psycopg.errors import DiskFull

from collectors.analysis import SKIPS_KEPT, Report, Skips, nothing_to_judge, two_clusters_message
from collectors.formats import AnyReading, Limits, NotARecording, Skipped, named, read
from timeline.core.entries import LogLine, Observation, Request
from timeline.core.machine.processors import available_processors
from timeline.core.machine.spill import Spill, Spilling
from timeline.history.world.world import World
from timeline.models import Source
from timeline.pipeline import TwoClusters, ingest
from timeline.storage import store

_ENDINGS = {".gz", ".json", ".jsonl", ".log", ".ndjson", ".txt", ".zst"}
IN_MEMORY = 150_000  # changes that an import keeps in memory; what more there are is in a file of the data directory
# Of files that are so large that most of their changes are going to be in the file, fewer are kept in memory from the
# beginning: what many small objects leave between others when they are freed cannot be used for all else.
_LARGE = 1024**3  # bytes
_IN_MEMORY_OF_LARGE = 40_000
_EVERY = 2_000  # entries between two reports
_RESERVE = 64 * 1024**2  # bytes that an import leaves free on disk
_TO_COME = 1024  # bytes per entry that storing may still take after reading: tracks, indexes, PostgreSQL's log
_NO_ROOM = "{}. Nothing was imported, and its space was given back. Make room, or import less, and try again."
Inputs = Sequence[tuple[Path, str]]  # each path with the name that the user knows


class Stopped(Exception):
    """The import was stopped on purpose."""


class NoRoom(OSError):
    """The disk is full, or nearly. The message says what to do."""


class Count:
    """Count what an import has read so far."""

    def __init__(self, refused: Iterable[Skipped] = (), report: Report | None = None) -> None:
        """Begin with `refused`, the inputs that were skipped before."""
        self._report = report
        self.reading: AnyReading | None = None
        self.read = 0  # how many changes of objects, and marks
        self.kept = 0  # how many of these, of requests that changed nothing, and of lines of logs
        self.skips = Skips()
        for each in refused:
            self.skips.add(each)
        self.stopped = False  # set it to end the import

    def entries(self, reading: AnyReading) -> Iterator[Observation]:
        """Yield the entries of a reading and count them. Raise Stopped if `stopped` was set, and NoRoom."""
        self.reading = reading
        for item in reading:
            if isinstance(item, Skipped):
                self.skips.add(item)
            else:
                self.skips.use(item)
                self.kept += 1
                self.read += not isinstance(item, Request | LogLine)
                if self.kept % _EVERY == 0:
                    _check_room(self.kept)
                    if self._report:
                        self._report(reading, self.read)
                yield item
            if self.stopped:
                raise Stopped


def import_into(source: Source, inputs: Inputs, limits: Limits, count: Count, reading: AnyReading | None = None) -> int:
    """Import these paths into a source, and return the number of changes that were new to it.

    `reading` is what reads them, if that is not this process alone. The source becomes visible with them. Files that
    were imported before change nothing. Raise NotARecording, OSError, Stopped, or store.Overtaken if another import has
    changed the source meanwhile; then nothing has changed.
    """
    inputs = named(inputs)
    names = [name for _, name in inputs]
    called = ", ".join(names)
    reading = reading or read(inputs, bodies=True, limits=limits, processes=available_processors())
    spill = Spill(settings.DATA_DIR)
    size = sum(path.stat().st_size for path, _ in inputs if path.is_file())
    spilling = Spilling(spill, min(IN_MEMORY, _IN_MEMORY_OF_LARGE) if size >= _LARGE else IN_MEMORY)
    world = store.open_again(source, spilling) if source.ready else World(spilling=spilling)
    gc.disable()  # nothing that is read forms cycles, and the collector would walk all of it again and again
    try:
        with spill, explained(), transaction.atomic():
            new = ingest(source, world, count.entries(reading))
            if not count.read and not (source.ready and count.kept) and not world.dated_logs:
                raise NotARecording(_nothing(called, reading, count.skips))
            _save_inputs_and_skips(source, names, count.skips)
            store.show_source(source)
    except BaseException:
        store.close_again(source)
        raise
    finally:
        gc.enable()
    return new


@contextmanager
def explained() -> Iterator[None]:
    """Raise NoRoom in place of errors that a full disk causes, and NotARecording in place of TwoClusters."""
    try:
        yield
    except DatabaseError as error:
        if isinstance(error.__cause__, DiskFull):
            raise NoRoom(_NO_ROOM.format("The disk of the database is full")) from error
        raise
    except OSError as error:
        if error.errno == ENOSPC:
            raise NoRoom(_NO_ROOM.format("The disk of the data directory is full")) from error
        raise
    except TwoClusters as error:
        raise NotARecording(two_clusters_message(*error.args)) from None


def database_folder(host: str, data_dir: Path) -> Path | None:
    """Return the data folder of the PostgreSQL that Causeline runs itself; None for any other.

    Its own PostgreSQL is the one that is reached by a socket.
    """
    folder = data_dir / "postgres"
    return folder if host.startswith("/") and folder.is_dir() else None


def _check_room(entries: int) -> None:
    """Raise NoRoom before the disk is full: a PostgreSQL that cannot write its log has to stop.

    If PostgreSQL runs elsewhere, an import takes no space of this machine, and PostgreSQL reports its own full disk.
    """
    folder = database_folder(str(settings.DATABASES["default"]["HOST"]), settings.DATA_DIR)
    if folder is None:
        return
    free = shutil.disk_usage(folder).free
    if free < _RESERVE + entries * _TO_COME:
        raise NoRoom(_NO_ROOM.format(f"The disk is nearly full, {free >> 20} MiB are free"))


def _nothing(called: str, reading: AnyReading, skips: Skips) -> str:
    """Return why nothing was imported."""
    if any(format.startswith("log of") for format in reading.files.values()):
        return (
            f"{called}: the lines of this log do not say their whole date, and nothing else does. Save it again with "
            "kubectl logs --timestamps or journalctl -o short-iso, or import it with an audit log, a watch or a list."
        )
    if skips.kept and not all(each.reason.startswith("is a log") for each in skips.kept):
        return f"{called}: no change of an object can be used. The first reason: {skips.kept[0]}."
    return nothing_to_judge(called, reading)


def _save_inputs_and_skips(source: Source, names: list[str], skips: Skips) -> None:
    """Add to the source what was read and what was skipped; a piece that was skipped before counts once."""
    source.inputs += [name for name in names if name not in source.inputs]
    known = {tuple(each) for each in source.skips}
    new = [each for each in skips.kept if each.place not in known]
    if new:
        room = SKIPS_KEPT - len(source.skips)
        more = room + SKIPS_KEPT  # for what is not a single line
        source.skips += [[*each.place] for at, each in enumerate(new) if at < (room if each.line else more)]
        source.skipped += skips.count - (len(skips.kept) - len(new))
    source.mostly_skipped |= dict(itertools.islice(skips.mostly_skipped().items(), SKIPS_KEPT))
    source.save(update_fields=["inputs", "skips", "skipped", "mostly_skipped"])


def title(name: str) -> str:
    """Return the recording's title: the file's name without endings such as .json.gz."""
    path = PurePath(name)
    while path.suffix.lower() in _ENDINGS:
        path = path.with_suffix("")
    return path.name or name

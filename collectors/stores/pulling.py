"""Pull a window into a file, page after page, and continue where a killed process had stopped.

Beside the file is its cursor, `FILE.cursor`, which says how many bytes of the file are whole pages, and where the next
page begins. A page is written to the disk first and its cursor after it, so a kill at any time leaves at most a part of
one page behind the last cursor; that part is cut off, and only that page is fetched again.
"""

import fcntl
import hashlib
import os
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import orjson
import zstandard

from collectors.stores.kinds import Cursor, Kind, RecordPage, Store, StoreRefused, Window
from collectors.stores.patience import Stopped, patiently

_VERSION = 1
_EXAMPLES = 20  # of what was skipped that are kept
_LEVEL = 3  # of zstd
Report = Callable[["Progress"], None]


class Busy(Exception):
    """Another process pulls into the same file."""


@dataclass
class Progress:
    """How far a pull has come. It is written beside the file after each page."""

    store: str
    window: Window
    configuration: str  # a fingerprint; another configuration must not continue it
    asked: str = ""  # the window as the user wrote it, such as "2h"
    cursor: Cursor | None = None
    size: int = 0  # bytes of the file that are whole pages
    records: int = 0
    bytes: int = 0  # of the records
    scanned: int = 0
    pages: int = 0
    skipped: int = 0
    examples: list[str] = field(default_factory=list)  # of what was skipped, with the reasons; the first ones
    reached: int = 0
    done: bool = False
    waiting: str = field(default="", compare=False)  # why nothing comes at the moment


def fingerprint(kind: Kind, configuration: Mapping[str, str]) -> str:
    """Return a text that is the same for the same configuration of a store. Secrets are left out: what is hashed can
    be guessed."""
    secret = {each.name for each in kind.fields if each.secret}
    shown = {name: value for name, value in configuration.items() if name not in secret}
    return hashlib.sha256(orjson.dumps([kind.name, shown], option=orjson.OPT_SORT_KEYS)).hexdigest()


def cursor_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.cursor")


def unfinished(path: Path) -> Progress | None:
    """Return how far the pull into a file had come; None if none was begun. Raise Refused if that cannot be read."""
    try:
        kept = orjson.loads(cursor_path(path).read_bytes())
        if kept.pop("version") != _VERSION:
            raise ValueError("another version wrote it")
        return Progress(**{**kept, "window": Window(*kept["window"])})
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, KeyError) as error:
        raise StoreRefused(
            f"{cursor_path(path)} cannot be read ({error}). Delete it and {path} to begin again."
        ) from None


def pull(
    store: Store,
    path: Path,
    progress: Progress,
    stop: threading.Event,
    report: Report = lambda progress: None,
    limit: int | None = None,
) -> Progress:
    """Write the records of a window to a file, and return how far it came, which is the end.

    A name that ends in .zst packs it. Begin a new file, or continue the one to which `progress` belongs. Raise Stopped,
    Refused, Busy, or OSError; then the file can be continued. `limit` is the most bytes that the records may have.
    """
    with _opened(path, progress) as file:
        while not progress.done:
            _step(store, file, path, progress, stop, report, limit)
            report(progress)
    return progress


def finish(path: Path) -> None:
    """Remove the cursor of a file that is complete."""
    cursor_path(path).unlink(missing_ok=True)


def _opened(path: Path, progress: Progress) -> IO[bytes]:
    """Open the file for this process alone, without what a killed process wrote of a page.

    A new file gets its cursor before anything else, so that it is never taken for a file of somebody else.
    """
    if progress.pages == 0 and not cursor_path(path).exists():
        if path.exists():
            raise StoreRefused(f"{path} already exists, and it is not an unfinished pull. Choose another file.")
        _save(path, progress)
    # What is pulled is not redacted yet, so only its owner may read it.
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    file = os.fdopen(descriptor, "ab", buffering=1024 * 1024)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(file.fileno()).st_size < progress.size:
            raise StoreRefused(
                f"{path} is shorter than what was pulled. Delete it and {cursor_path(path)} to begin again."
            )
    except BlockingIOError:
        file.close()
        raise Busy(f"Another process is pulling into {path}.") from None
    except BaseException:
        file.close()
        raise
    return file


def _step(
    store: Store,
    file: IO[bytes],
    path: Path,
    progress: Progress,
    stop: threading.Event,
    report: Report,
    limit: int | None,
) -> None:
    """Fetch and write one page, and save the cursor after it."""

    def fetch() -> tuple[RecordPage, int, int]:
        file.truncate(progress.size)
        page = store.page(progress.window, progress.cursor)
        return page, *_write(file, path, page.records, stop, None if limit is None else limit - progress.bytes)

    def waits(words: str) -> None:
        progress.waiting = words
        report(progress)

    page, records, written = patiently(fetch, stop, waits)
    file.flush()
    os.fsync(file.fileno())
    progress.size = os.fstat(file.fileno()).st_size
    progress.records += records
    progress.bytes += written
    progress.scanned += page.scanned
    progress.pages += 1
    progress.skipped += len(page.skipped)
    progress.examples += page.skipped[: _EXAMPLES - len(progress.examples)]
    progress.reached = max(progress.reached, page.reached)
    progress.cursor, progress.done, progress.waiting = page.cursor, page.cursor is None, ""
    _save(path, progress)


def _write(
    file: IO[bytes], path: Path, records: Iterable[bytes], stop: threading.Event, room: int | None
) -> tuple[int, int]:
    """Append records, one on each line; return how many these are, and their bytes."""
    packer: Any = None
    if path.suffix == ".zst":  # each page is a frame of its own, so a file can be cut between pages
        packer = zstandard.ZstdCompressor(_LEVEL, write_checksum=True).stream_writer(file, closefd=False)
    count = size = 0
    for each in records:
        if stop.is_set():
            raise Stopped
        size += len(each) + 1
        if room is not None and size > room:
            raise StoreRefused("The window has more bytes than one recording may have. Ask for a shorter window.")
        (packer or file).write(each + b"\n")
        count += 1
    if packer and count:
        packer.flush(zstandard.FLUSH_FRAME)
    return count, size


def _save(path: Path, progress: Progress) -> None:
    """Replace the cursor beside the file, so that a kill leaves either the old one or the new one."""
    kept = {"version": _VERSION, **vars(progress), "window": list(progress.window)}
    kept.pop("waiting")
    target = cursor_path(path)
    new = target.with_name(f"{target.name}.new")
    new.unlink(missing_ok=True)
    # A file or a link that somebody else has put there is not followed.
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(orjson.dumps(kept))
        file.flush()
        os.fsync(file.fileno())
    new.replace(target)

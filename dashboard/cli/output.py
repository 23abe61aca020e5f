"""Write to standard output, or a file completely or not at all."""

import os
import signal
import stat
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


class NotWritable(Exception):
    """A file or standard output cannot be written. The message says why and what to do."""


@contextmanager
def writing_standard_output() -> Iterator[None]:
    """Ignore that the reader of standard output closes it early. Raises NotWritable for any other error, such as a full
    disk."""
    try:
        yield
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the buffer is written there at the exit
        if not isinstance(error, BrokenPipeError):
            raise NotWritable(f"standard output cannot be written: {error.strerror}.") from None


def writable(path: Path, inputs: Iterable[Path]) -> None:
    """Raise NotWritable before the work starts if it is clear that `path` cannot be written."""
    folder = path.absolute().parent
    if path.is_dir():
        raise NotWritable(f"{path} is a folder. Name a file in it.")
    if not folder.is_dir():
        raise NotWritable(f"{path} cannot be written: there is no folder {folder}.")
    if path.exists() and any(each.exists() and path.samefile(each) for each in inputs):
        raise NotWritable(f"{path} is one of the files to read. Name another file for the report.")
    if not os.access(folder if not path.exists() or path.is_file() else path, os.W_OK):
        raise NotWritable(f"{path} cannot be written: {folder} does not let you.")


def write(path: Path, pieces: Iterable[bytes]) -> None:
    """Replace the file by the pieces in one step. A pipe or a device is written directly.

    Raises NotWritable; what was there before is then as it was.
    """
    try:
        if path.exists() and not path.is_file():
            with path.open("wb") as file:
                file.writelines(pieces)
            return
        target = path.resolve()  # a symbolic link keeps pointing to it
        handle, beside = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.writelines(pieces)
            Path(beside).chmod(_mode(target))
            Path(beside).replace(target)
        except BaseException:
            with suppress(OSError):
                Path(beside).unlink()
            raise
    except OSError as error:
        raise NotWritable(f"{path} cannot be written: {error.strerror or error}.") from None


class _Ended(Exception):
    def __init__(self, status: int) -> None:
        self.status = status


def written_by_root(path: Path, command: Callable[[], int]) -> int:
    """Run a command that leaves root in a child, and put its standard output into the file, which root alone may write.

    This function returns twice: the exit status of the command in the child process, and the same in this process.
    Raises NotWritable.
    """
    writable(path, [])
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.dup2(writing, 1)
        os.closerange(reading, writing + 1)
        return command()
    os.close(writing)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to the child as well
    signal.signal(signal.SIGTERM, lambda number, frame: os.kill(child, number))

    def pieces() -> Iterator[bytes]:
        with os.fdopen(reading, "rb") as pipe:
            while piece := pipe.read(1 << 16):
                yield piece
        if status := os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
            raise _Ended(status)

    try:
        write(path, pieces())
    except _Ended as ended:
        return ended.status
    return 0


def _mode(path: Path) -> int:
    """Return the permissions of the existing file, else those of a new file."""
    if path.exists():
        return stat.S_IMODE(path.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask

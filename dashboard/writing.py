"""Writes a file whole or not at all."""

import os
import stat
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path


class NotWritable(Exception):
    """The file cannot be written; says why and what to do."""


def writable(path: Path, inputs: Iterable[Path]) -> None:
    """Raises NotWritable where it is plain before the work that nothing can be written to `path`."""
    folder = path.absolute().parent
    if path.is_dir():
        raise NotWritable(f"{path} is a folder. Name a file in it.")
    if not folder.is_dir():
        raise NotWritable(f"{path} cannot be written: there is no folder {folder}.")
    if path.exists() and any(each.exists() and path.samefile(each) for each in inputs):
        raise NotWritable(f"{path} is what is to be read. Name another file for the report.")
    if not os.access(folder if not path.exists() or path.is_file() else path, os.W_OK):
        raise NotWritable(f"{path} cannot be written: {folder} does not let you.")


def write(path: Path, pieces: Iterable[bytes]) -> None:
    """Put what the pieces make in the place of the file, in one step. A pipe or device is written to as it is.

    Raises NotWritable; what was there before is then as it was.
    """
    try:
        if path.exists() and not path.is_file():
            with path.open("wb") as file:
                file.writelines(pieces)
            return
        target = path.resolve()  # a link goes on pointing to it
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


def _mode(path: Path) -> int:
    """The permissions of the file that is there, else those of any new file."""
    if path.exists():
        return stat.S_IMODE(path.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask

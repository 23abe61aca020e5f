"""What a person names becomes recordings, one after the other: files, folders, archives, the standard input."""

import os
import stat
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

from collectors.formats.stream.byte_stream import PIECE, Content
from collectors.formats.stream.compression import unpacked, unpacking
from collectors.formats.stream.limits import Intake, Lost
from collectors.formats.stream.recording import NotARecording, Recording, Skipped
from collectors.formats.stream.tar import is_tar, tar_members
from collectors.formats.stream.zip import is_zip, zip_members

STANDARD_INPUT = Path("-")
_LAYERS = 6  # a compressed archive of compressed archives of compressed files has five
_MAGIC_BYTES = 512
_NAME_LENGTH = 500  # characters of a name that are shown


class _File(NamedTuple):
    path: Path
    name: str


def open_all(inputs: Sequence[tuple[Path, str]], intake: Intake) -> Generator[Recording | Skipped, None, None]:
    """The recordings in these paths, each path with what a person calls it; what holds none is told.

    A recording must have been read, as far as it shall be, before the next is asked for. Raises NotARecording for a
    path that is not there.
    """
    return _opened([each for path, name in inputs for each in _found(path, _shown(name), intake)], intake)


def _found(path: Path, name: str, intake: Intake) -> Iterator[_File | Skipped]:
    try:
        status = os.fstat(0) if path == STANDARD_INPUT else path.stat()
    except (OSError, ValueError) as error:
        raise NotARecording(f"{name} cannot be opened: {getattr(error, 'strerror', None) or error}.") from None
    if stat.S_ISDIR(status.st_mode):
        found = list(_walked(path.absolute(), name.rstrip("/"), intake))
        yield from found or [Skipped(name, 0, "is a folder without files")]
    else:
        if stat.S_ISREG(status.st_mode):
            intake.bytes_total += status.st_size
        yield _File(path, name)


def _walked(folder: Path, name: str, intake: Intake) -> Iterator[_File | Skipped]:
    """The files in a folder, sorted, and then those in the folders inside it. No link is followed."""
    folders = [_File(folder, name)]
    while folders:
        folder, name = folders.pop()
        inside = []
        try:
            for entry in sorted(os.scandir(folder), key=lambda each: each.name):
                each = _File(folder / entry.name, f"{name}/{_shown(entry.name)}")
                if _is_hidden(entry.name):
                    yield Skipped(each.name, 0, "is hidden")
                elif entry.is_symlink():
                    yield Skipped(each.name, 0, "is a link; name the file it leads to instead")
                elif entry.is_dir():
                    inside.append(each)
                elif not entry.is_file():
                    yield Skipped(each.name, 0, "is not a regular file")
                else:
                    intake.member()
                    intake.bytes_total += entry.stat().st_size
                    yield each
        except OSError as error:
            yield Skipped(name, 0, f"cannot be opened: {error.strerror}")
        except Lost as lost:
            yield Skipped(name, 0, f"is not read further: {lost}")
            return
        folders += reversed(inside)


def _opened(found: Sequence[_File | Skipped], intake: Intake) -> Generator[Recording | Skipped, None, None]:
    for each in found:
        if isinstance(each, Skipped):
            yield each
            continue
        try:
            file = _open(each.path)
        except OSError as error:
            yield Skipped(each.name, 0, f"cannot be opened: {error.strerror}")
            continue
        with file:
            intake.begin()
            yield from _recordings(each.name, Content(_pieces(file, intake)), intake)


def _open(path: Path) -> BinaryIO:
    return open(0, "rb", closefd=False) if path == STANDARD_INPUT else path.open("rb")


def _pieces(file: BinaryIO, intake: Intake) -> Iterator[bytes]:
    try:
        while piece := file.read(PIECE):
            intake.bytes_read += len(piece)
            yield piece
    except OSError as error:
        raise Lost(f"it cannot be read further: {error.strerror}") from None


def _recordings(name: str, content: Content, intake: Intake, layers: int = 0) -> Iterator[Recording | Skipped]:
    """The recordings in a stream of bytes, whatever it is packed in."""
    head = content.head(_MAGIC_BYTES)
    unpack = unpacking(head)
    members = tar_members if is_tar(head) else zip_members if is_zip(head) else None
    if not (unpack or members):
        yield Recording(name, content, intake.limits)
    elif layers == _LAYERS:
        yield Skipped(name, 0, f"is packed more than {_LAYERS} times over; unpack it first")
    elif unpack:
        yield from _recordings(name, Content(unpacked(content, unpack, intake)), intake, layers + 1)
    elif members:
        path = ""
        try:
            for path, inside in members(content, intake):
                label = f"{name}/{_shown(path.removeprefix('./'))}"
                if isinstance(inside, str):
                    yield Skipped(label, 0, inside)
                elif any(map(_is_hidden, path.split("/"))):
                    yield Skipped(label, 0, "is hidden")
                else:
                    yield from _recordings(label, inside, intake, layers + 1)
            if not path:
                yield Skipped(name, 0, "is an archive without files")
        except Lost as lost:
            until = f" behind {_shown(path)}" if path else ""
            yield Skipped(name, 0, f"cannot be read further{until}: {lost}")


def _is_hidden(name: str) -> bool:
    return name == "__MACOSX" or (name.startswith(".") and name not in {".", ".."})


def _shown(name: str) -> str:
    """A name as it may be printed and stored: it comes from outside, and is nothing but a name."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in name[-_NAME_LENGTH:])

"""Open the files, folders, archives and the standard input that a user names, one recording at a time."""

import os
import stat
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

from collectors.formats.stream.byte_stream import PIECE, ByteStream
from collectors.formats.stream.compression import decompress_frames, decompressor_of
from collectors.formats.stream.limits import Unreadable, Usage
from collectors.formats.stream.recording import NotARecording, Recording
from collectors.formats.stream.tar import is_tar, tar_members
from collectors.formats.stream.zip import is_zip, zip_members
from collectors.gate import Skipped

STANDARD_INPUT = Path("-")
_LAYERS = 6  # layers of packing; a compressed archive of compressed archives of compressed files has five
_MAGIC_BYTES = 512
_NAME_LENGTH = 500  # characters of a name that are kept


class _File(NamedTuple):
    path: Path
    name: str


def open_all(inputs: Sequence[tuple[Path, str]], usage: Usage) -> Generator[Recording | Skipped, None, None]:
    """Yield the recordings in these paths, and a Skipped for each file that is not opened.

    Each path comes with the name that messages use for it. The caller reads a recording, as far as it wants, before it
    asks for the next. Raise NotARecording for a path that does not exist.
    """
    return _open_files([each for path, name in inputs for each in _files_in(path, _display_name(name), usage)], usage)


def _files_in(path: Path, name: str, usage: Usage) -> Iterator[_File | Skipped]:
    try:
        status = os.fstat(0) if path == STANDARD_INPUT else path.stat()
    except (OSError, ValueError) as error:
        raise NotARecording(f"{name} cannot be opened: {getattr(error, 'strerror', None) or error}.") from None
    if stat.S_ISDIR(status.st_mode):
        files = list(_walk(path.absolute(), name.rstrip("/"), usage))
        yield from files or [Skipped(name, 0, "is a folder without files")]
    else:
        if stat.S_ISREG(status.st_mode):
            usage.bytes_total += status.st_size
        yield _File(path, name)


def _walk(folder: Path, name: str, usage: Usage) -> Iterator[_File | Skipped]:
    """Yield the files in a folder, sorted, and then those in the folders inside it; do not follow links."""
    folders = [_File(folder, name)]
    while folders:
        folder, name = folders.pop()
        inside = []
        try:
            for entry in sorted(os.scandir(folder), key=lambda each: each.name):
                each = _File(folder / entry.name, f"{name}/{_display_name(entry.name)}")
                if _is_hidden(entry.name):
                    yield Skipped(each.name, 0, "is hidden")
                elif entry.is_symlink():
                    yield Skipped(each.name, 0, "is a link; name the file it leads to instead")
                elif entry.is_dir():
                    inside.append(each)
                elif not entry.is_file():
                    yield Skipped(each.name, 0, "is not a regular file")
                else:
                    usage.add_member()
                    usage.bytes_total += entry.stat().st_size
                    yield each
        except OSError as error:
            yield Skipped(name, 0, f"cannot be opened: {error.strerror}")
        except Unreadable as error:
            yield Skipped(name, 0, f"is not read further: {error}")
            return
        folders += reversed(inside)


def _open_files(files: Sequence[_File | Skipped], usage: Usage) -> Generator[Recording | Skipped, None, None]:
    for each in files:
        if isinstance(each, Skipped):
            yield each
            continue
        try:
            file = _open(each.path)
        except OSError as error:
            yield Skipped(each.name, 0, f"cannot be opened: {error.strerror}")
            continue
        with file:
            usage.begin_input()
            yield from _recordings(each.name, ByteStream(_pieces(file, usage)), usage, _modified(file))


def _open(path: Path) -> BinaryIO:
    return open(0, "rb", closefd=False) if path == STANDARD_INPUT else path.open("rb")


def _modified(file: BinaryIO) -> int:
    """Return when a file was written, in µs since 1970; 0 for a pipe."""
    status = os.fstat(file.fileno())
    return status.st_mtime_ns // 1000 if stat.S_ISREG(status.st_mode) else 0


def _pieces(file: BinaryIO, usage: Usage) -> Iterator[bytes]:
    try:
        while piece := file.read(PIECE):
            usage.bytes_read += len(piece)
            yield piece
    except OSError as error:
        raise Unreadable(f"it cannot be read further: {error.strerror}") from None


def _recordings(
    name: str, content: ByteStream, usage: Usage, modified: int, written: int = 0, layers: int = 0
) -> Iterator[Recording | Skipped]:
    """Yield the recordings in a stream of bytes, whatever compression and archives it is packed in."""
    head = content.head(_MAGIC_BYTES)
    decompress = decompressor_of(head)
    members = tar_members if is_tar(head) else zip_members if is_zip(head) else None
    if not (decompress or members):
        yield Recording(name, content, usage.limits, modified, written)
    elif layers == _LAYERS:
        yield Skipped(name, 0, f"is packed more than {_LAYERS} times over; unpack it first")
    elif decompress:
        unpacked = ByteStream(decompress_frames(content, decompress, usage))
        yield from _recordings(name, unpacked, usage, modified, written, layers + 1)
    elif members:
        path = ""
        try:
            for path, inside, own in members(content, usage):
                label = f"{name}/{_display_name(path.removeprefix('./'))}"
                if isinstance(inside, str):
                    yield Skipped(label, 0, inside)
                elif any(map(_is_hidden, path.split("/"))):
                    yield Skipped(label, 0, "is hidden")
                else:
                    yield from _recordings(label, inside, usage, modified, own or written, layers + 1)
            if not path:
                yield Skipped(name, 0, "is an archive without files")
        except Unreadable as error:
            until = f" behind {_display_name(path)}" if path else ""
            yield Skipped(name, 0, f"cannot be read further{until}: {error}")


def _is_hidden(name: str) -> bool:
    return name == "__MACOSX" or (name.startswith(".") and name not in {".", ".."})


def _display_name(name: str) -> str:
    """Return a name that is safe to print and store: file names are input from outside."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in name[-_NAME_LENGTH:])

"""What a person names becomes recordings, one after the other: files, folders, archives, the standard input."""

from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from collectors.formats.stream.content import PIECE, Content
from collectors.formats.stream.intake import Intake
from collectors.formats.stream.packing import unpacked, unpacking
from collectors.formats.stream.recording import NotARecording, Recording, Skipped


def open_all(inputs: Sequence[tuple[Path, str]], intake: Intake) -> Generator[Recording | Skipped, None, None]:
    """The recordings in these paths, each with what a person calls it; what holds none is told.

    A recording must have been read, as far as it shall be, before the next is asked for.
    """
    for path, name in inputs:
        try:
            intake.bytes_total += path.stat().st_size
        except OSError as error:
            raise NotARecording(f"{name} cannot be opened: {error.strerror}.") from None
    return _opened(inputs, intake)


def _opened(inputs: Sequence[tuple[Path, str]], intake: Intake) -> Generator[Recording | Skipped, None, None]:
    for path, name in inputs:
        intake.begin()
        with path.open("rb") as file:
            yield from unwrapped(name, Content(_pieces(file, intake)), intake)


def unwrapped(name: str, content: Content, intake: Intake) -> Generator[Recording | Skipped, None, None]:
    """The recordings inside a stream of bytes, whatever it is packed in."""
    if unpack := unpacking(content.head(16)):
        content = Content(unpacked(content, unpack, intake))
    yield Recording(name, content, intake.limits)


def _pieces(file: BinaryIO, intake: Intake) -> Iterator[bytes]:
    while piece := file.read(PIECE):
        intake.bytes_read += len(piece)
        yield piece

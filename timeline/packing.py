"""Pure: lines packed together with zstd, by a dictionary of what entries have in common.

A frame names the dictionary that it needs. Dictionaries are never changed, only added: what is stored needs them. See
docs/decisions/0011-entries-in-chunks.md.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib.resources import files

import zstandard

DICTIONARY = 1  # by which new frames are packed; deploy/train_dictionary.py made it
_LEVEL = 1  # higher ones take longer and gain nothing on lines that repeat each other


class Packer:
    """For one thread."""

    def __init__(self) -> None:
        self._compressor = zstandard.ZstdCompressor(level=_LEVEL, dict_data=_dictionary(DICTIONARY))

    def pack(self, lines: Sequence[bytes]) -> bytes:
        """In one frame; no line may hold its own end."""
        return self._compressor.compress(b"\n".join(lines))


def unpack(frame: bytes) -> list[bytes]:
    """The lines that were packed. Raises LookupError for a dictionary of a newer Causeline."""
    number = zstandard.get_frame_parameters(frame).dict_id
    dictionary = _dictionary(number) if number else None
    return zstandard.ZstdDecompressor(dict_data=dictionary).decompress(frame).split(b"\n")


def packed(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """A stream of bytes as one zstd frame that needs no dictionary."""
    packer = zstandard.ZstdCompressor(level=3).compressobj()
    for piece in pieces:
        if ready := packer.compress(piece):
            yield ready
    yield packer.flush()


@cache
def _dictionary(number: int) -> zstandard.ZstdCompressionDict:
    file = files("timeline") / "dictionaries" / f"{number}.zstd"
    if not file.is_file():
        raise LookupError(f"this was packed by a newer Causeline, with dictionary {number}; update Causeline")
    dictionary = zstandard.ZstdCompressionDict(file.read_bytes())
    dictionary.precompute_compress(level=_LEVEL)
    return dictionary

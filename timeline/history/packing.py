"""Pure: what is stored is packed with zstd, by a dictionary of what things of its sort have in common.

A frame names the dictionary that it needs. Dictionaries are never changed, only added: what is stored needs them. See
docs/decisions/0011-entries-in-chunks.md.
"""

from collections.abc import Iterable, Iterator
from functools import cache
from importlib.resources import files

import zstandard

ENTRIES = 1  # the dictionaries by which new frames are packed; deploy/train_dictionary.py made them
LIFELINES = 2
_LEVEL = 1  # higher ones take longer and gain nothing on lines that repeat each other


class Packer:
    """For one thread."""

    def __init__(self, dictionary: int) -> None:
        self._compressor = zstandard.ZstdCompressor(level=_LEVEL, dict_data=_dictionary(dictionary))

    def pack(self, content: bytes) -> bytes:
        return self._compressor.compress(content)


def unpack(frame: bytes) -> bytes:
    """What was packed. Raises LookupError for a dictionary of a newer Causeline."""
    number = zstandard.get_frame_parameters(frame).dict_id
    dictionary = _dictionary(number) if number else None
    return zstandard.ZstdDecompressor(dict_data=dictionary).decompress(frame)


def packed(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """A stream of bytes as one zstd frame that needs no dictionary."""
    packer = zstandard.ZstdCompressor(level=3).compressobj()
    for piece in pieces:
        if ready := packer.compress(piece):
            yield ready
    yield packer.flush()


@cache
def _dictionary(number: int) -> zstandard.ZstdCompressionDict:
    file = files("timeline") / "history" / "dictionaries" / f"{number}.zstd"
    if not file.is_file():
        raise LookupError(f"this was packed by a newer Causeline, with dictionary {number}; update Causeline")
    dictionary = zstandard.ZstdCompressionDict(file.read_bytes())
    dictionary.precompute_compress(level=_LEVEL)
    return dictionary

"""This module compresses stored data with zstd, by dictionaries that were trained on data of the same sort.

A zstd frame names the dictionary that it needs. Dictionaries are only added and never changed or removed, because
stored data needs them. See docs/decisions/0011-entries-in-chunks.md.
"""

from collections.abc import Iterable, Iterator
from functools import cache
from importlib.resources import files

import zstandard

ENTRIES = 1  # the dictionaries for new frames; deploy/train_dictionary.py made them
LIFELINES = 2
_LEVEL = 1  # higher levels take longer and gain nothing on lines that resemble each other


class Packer:
    """This class compresses by one dictionary, given by its number. Only one thread may use it."""

    def __init__(self, dictionary: int) -> None:
        self._compressor = zstandard.ZstdCompressor(level=_LEVEL, dict_data=_dictionary(dictionary))

    def pack(self, content: bytes) -> bytes:
        return self._compressor.compress(content)


def unpack(frame: bytes) -> bytes:
    """Return the content of a frame. Raises LookupError if it needs a dictionary of a newer Causeline."""
    number = zstandard.get_frame_parameters(frame).dict_id
    dictionary = _dictionary(number) if number else None
    return zstandard.ZstdDecompressor(dict_data=dictionary).decompress(frame)


def packed(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Compress a stream of bytes into one zstd frame that needs no dictionary, and yield it in pieces."""
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

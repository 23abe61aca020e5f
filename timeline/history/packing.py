"""Compress stored data with zstd, using dictionaries that were trained on data of the same sort.

A zstd frame names the dictionary that it needs. New dictionaries may be added, but none may be changed or removed,
because stored data needs them. See docs/decisions/0011-entries-in-chunks.md.
"""

import threading
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.resources import files

import zstandard

# The numbers of the dictionaries for new frames, which deploy/train_dictionary.py made.
ENTRIES = 1
LIFELINES = 3
HEAD = 18  # bytes of the longest head of a frame
_LEVEL = 1  # higher levels take longer and make lines that resemble each other no smaller


class Packer:
    """Compress with the dictionary of a number. Each thread needs a Packer of its own."""

    def __init__(self, dictionary: int) -> None:
        self._compressor = zstandard.ZstdCompressor(level=_LEVEL, dict_data=_dictionary(dictionary))

    def pack(self, content: bytes) -> bytes:
        return self._compressor.compress(content)


def unpack(frame: bytes) -> bytes:
    """Return the decompressed content of a frame. Raises LookupError if it needs a dictionary that only a newer
    Causeline has."""
    number = zstandard.get_frame_parameters(frame).dict_id
    decompressor = _of_thread.decompressors.get(number)
    if decompressor is None:
        dictionary = _dictionary(number) if number else None
        decompressor = _of_thread.decompressors[number] = zstandard.ZstdDecompressor(dict_data=dictionary)
    return decompressor.decompress(frame)


def unpacked_bytes(head: bytes) -> int:
    """Return how many bytes a frame has when it is decompressed, of its first `HEAD` bytes."""
    return int(zstandard.get_frame_parameters(head).content_size)


class _OfThread(threading.local):
    """The decompressors of a thread by the numbers of their dictionaries. They are kept because to make one takes ten
    times as long as to unpack a lifeline."""

    def __init__(self) -> None:
        self.decompressors: dict[int, zstandard.ZstdDecompressor] = {}


_of_thread = _OfThread()


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

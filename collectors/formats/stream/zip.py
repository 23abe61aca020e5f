"""Read the files of a zip archive one after the other, as they arrive.

Python's zipfile starts with the directory at the end of the archive, so it can read neither a pipe nor a truncated
archive. The header before each file is enough. The format is PKWARE's APPNOTE.TXT (section 4.3);
docs/decisions/0023-libraries-for-input.md compares stream-unzip.
"""

import struct
import zlib
from collections.abc import Iterator
from typing import NamedTuple

from collectors.formats.stream.byte_stream import PIECE, ByteStream
from collectors.formats.stream.compression import Decompress, bunzip2, decompress_frame, inflate, unxz, unzstd
from collectors.formats.stream.limits import Unreadable, Usage

_FILE, _DIRECTORY, _END = b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06"
_FOLLOW = (_FILE, _DIRECTORY, b"PK\x06\x08")  # the signatures that may follow a file
_DESCRIPTOR = b"PK\x07\x08"  # the optional signature of the data descriptor, which has a file's sizes after its data
_HEADER = struct.Struct("<4x2xHH4xIIIHH")  # flags, method, checksum, compressed size, size, lengths of name and extra
_ENCRYPTED, _DESCRIBED = 1, 8  # bits of the flags: encrypted; a data descriptor follows
_DESCRIPTOR_BYTES = 24  # at most, with its signature and 64-bit sizes
_LONG = 0xFFFFFFFF  # this size says that the extra field has the real one in 64 bits
_METHODS: dict[int, Decompress | None] = {
    0: None,
    8: lambda content: inflate(content, -zlib.MAX_WBITS),
    12: bunzip2,
    93: unzstd,
    95: unxz,
}


class _Header(NamedTuple):
    """What the local header of a file says."""

    name: str
    checksum: int
    compressed: int | None  # bytes; None if only the data descriptor has them
    has_descriptor: bool  # whether a data descriptor follows the file
    decompress: Decompress | None  # None for a file that is stored uncompressed
    problem: str


def is_zip(head: bytes) -> bool:
    """Return whether a head begins a zip archive."""
    return head.startswith((_FILE, _END))


def zip_members(content: ByteStream, usage: Usage) -> Iterator[tuple[str, ByteStream | str, int]]:
    """Yield the name of each file, with its content or with a reason why it has none, and 0: the times in a zip archive
    have no zone.

    Raise Unreadable where the archive is damaged or truncated.
    """
    while (signature := content.head(4)) == _FILE:
        usage.add_member()
        header = _header(content)
        if header.compressed is not None:
            compressed = ByteStream(content.take(header.compressed))
        else:  # compressed data marks its own end
            compressed = content if header.decompress else ByteStream(_until_descriptor(content))
        file = ByteStream(_pieces(content, header, compressed, usage))
        if not header.name.endswith("/"):
            yield header.name, header.problem or file, 0
        (file if compressed is content else compressed).drain()
        if header.has_descriptor:
            content.read(_descriptor(content)[0])
    if signature not in (*_FOLLOW, _END):
        problem = "is damaged near" if signature else "ends too early, at"
        raise Unreadable(f"the zip archive {problem} byte {content.tell()}")


def _header(content: ByteStream) -> _Header:
    raw = content.read(_HEADER.size)
    if len(raw) < _HEADER.size:
        raise Unreadable(f"the zip archive ends too early, at byte {content.tell()}: the file was cut")
    flags, method, checksum, compressed, size, name, extra = _HEADER.unpack(raw)
    path = content.read(name).decode("utf-8", "replace")
    more = content.read(extra)
    if compressed == _LONG:
        compressed = _zip64_size(more, at=8 if size == _LONG else 0)
    has_descriptor = bool(flags & _DESCRIBED)
    problem = "is encrypted; unpack it first" if flags & _ENCRYPTED else ""
    if method not in _METHODS:
        problem = problem or f"is packed by zip's method {method}, which is not known here; unpack it first"
    decompress = None if problem else _METHODS[method]
    return _Header(
        path, checksum, compressed if compressed or not has_descriptor else None, has_descriptor, decompress, problem
    )


def _zip64_size(extra: bytes, at: int) -> int:
    """Return the compressed size from the zip64 extra field."""
    while len(extra) >= 4:
        kind, length = struct.unpack_from("<HH", extra)
        if kind == 1:
            return int.from_bytes(extra[4 + at : 12 + at], "little")
        extra = extra[4 + length :]
    return _LONG


def _pieces(content: ByteStream, header: _Header, compressed: ByteStream, usage: Usage) -> Iterator[bytes]:
    checksum = 0
    for piece in (
        decompress_frame(compressed, header.decompress, usage) if header.decompress else compressed.remaining()
    ):
        checksum = zlib.crc32(piece, checksum)
        yield piece
    if checksum != (_descriptor(content)[1] if header.has_descriptor else header.checksum):
        raise Unreadable("its checksum is not the one in the zip archive: it is damaged")


def _until_descriptor(content: ByteStream) -> Iterator[bytes]:
    """Yield the bytes before the data descriptor that states their number. Raise Unreadable if there is none."""
    passed = 0
    while len(window := content.head(PIECE)) > _DESCRIPTOR_BYTES:
        at = window.find(_DESCRIPTOR)
        while at >= 0 and int.from_bytes(window[at + 8 : at + 12], "little") != (passed + at) & _LONG:
            at = window.find(_DESCRIPTOR, at + 1)
        step = at if at >= 0 else len(window) - _DESCRIPTOR_BYTES
        passed += step
        yield content.read(step)
        if at >= 0:
            return
    raise Unreadable("the zip archive is damaged or cut, or tells nowhere how long a file is; unpack it first")


def _descriptor(content: ByteStream) -> tuple[int, int]:
    """Return the length of the data descriptor that comes next, and its checksum. Raise Unreadable without one."""
    head = content.head(_DESCRIPTOR_BYTES + 4)
    start = 4 if head.startswith(_DESCRIPTOR) else 0
    for length in (start + 12, start + 20):
        if head[length : length + 4] in _FOLLOW:
            return length, int.from_bytes(head[start : start + 4], "little")
    raise Unreadable(f"the zip archive is damaged or cut near byte {content.tell()}")

"""The files in a zip archive, read one after the other as they come.

zipfile begins with the directory at the archive's end, so it can neither read a pipe nor anything of an archive that
was cut. What stands before each file says enough.
"""

import struct
import zlib
from collections.abc import Iterator
from typing import NamedTuple

from collectors.formats.stream.byte_stream import PIECE, Content
from collectors.formats.stream.compression import Unpack, bunzip2, counted, inflate, unxz, unzstd
from collectors.formats.stream.limits import Intake, Lost

_FILE, _DIRECTORY, _END = b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06"
_FOLLOW = (_FILE, _DIRECTORY, b"PK\x06\x08")  # what stands behind a file
_DESCRIPTOR = b"PK\x07\x08"  # begins the sizes of a file where they are told behind it; many leave it out
_HEADER = struct.Struct("<4x2xHH4xIIIHH")  # flags, method, checksum, packed size, size, lengths of name and extra
_ENCRYPTED, _DESCRIBED = 1, 8  # flags
_DESCRIPTOR_BYTES = 24  # at most
_LONG = 0xFFFFFFFF  # a size that stands in the extra field, in 64 bits
_UNPACK: dict[int, Unpack | None] = {
    0: None,
    8: lambda content: inflate(content, -zlib.MAX_WBITS),
    12: bunzip2,
    93: unzstd,
    95: unxz,
}


class _Header(NamedTuple):
    name: str
    checksum: int
    packed: int | None  # bytes; None where only the descriptor tells them
    described: bool  # a descriptor stands behind the file
    unpack: Unpack | None  # None for what is stored as it is
    unreadable: str


def is_zip(head: bytes) -> bool:
    return head.startswith((_FILE, _END))


def zip_members(content: Content, intake: Intake) -> Iterator[tuple[str, Content | str]]:
    """The name of each file with what it holds, or what it is instead. Raises Lost where the archive breaks off."""
    while (signature := content.head(4)) == _FILE:
        intake.member()
        header = _header(content)
        if header.packed is not None:
            packed = Content(content.first(header.packed))
        else:  # compressed data tells its end itself
            packed = content if header.unpack else Content(_until_descriptor(content))
        file = Content(_pieces(content, header, packed, intake))
        if not header.name.endswith("/"):
            yield header.name, header.unreadable or file
        (file if packed is content else packed).drain()
        if header.described:
            content.read(_descriptor(content)[0])
    if signature not in (*_FOLLOW, _END):
        what = "is damaged near" if signature else "ends too early, at"
        raise Lost(f"the zip archive {what} byte {content.tell()}")


def _header(content: Content) -> _Header:
    raw = content.read(_HEADER.size)
    if len(raw) < _HEADER.size:
        raise Lost(f"the zip archive ends too early, at byte {content.tell()}: the file was cut")
    flags, method, checksum, packed, size, name, extra = _HEADER.unpack(raw)
    path = content.read(name).decode("utf-8", "replace")
    more = content.read(extra)
    if packed == _LONG:
        packed = _long(more, at=8 if size == _LONG else 0)
    described = bool(flags & _DESCRIBED)
    unreadable = "is encrypted; unpack it first" if flags & _ENCRYPTED else ""
    if method not in _UNPACK:
        unreadable = unreadable or f"is packed by zip's method {method}, which is not known here; unpack it first"
    unpack = None if unreadable else _UNPACK[method]
    return _Header(path, checksum, packed if packed or not described else None, described, unpack, unreadable)


def _long(extra: bytes, at: int) -> int:
    """The packed size out of the extra field of zip64."""
    while len(extra) >= 4:
        kind, length = struct.unpack_from("<HH", extra)
        if kind == 1:
            return int.from_bytes(extra[4 + at : 12 + at], "little")
        extra = extra[4 + length :]
    return _LONG


def _pieces(content: Content, header: _Header, packed: Content, intake: Intake) -> Iterator[bytes]:
    checksum = 0
    for piece in counted(packed, header.unpack, intake) if header.unpack else packed.rest():
        checksum = zlib.crc32(piece, checksum)
        yield piece
    if checksum != (_descriptor(content)[1] if header.described else header.checksum):
        raise Lost("its checksum is not the one in the zip archive: it is damaged")


def _until_descriptor(content: Content) -> Iterator[bytes]:
    """Everything before a descriptor that tells as many bytes as there were."""
    taken = 0
    while len(window := content.head(PIECE)) > _DESCRIPTOR_BYTES:
        at = window.find(_DESCRIPTOR)
        while at >= 0 and int.from_bytes(window[at + 8 : at + 12], "little") != (taken + at) & _LONG:
            at = window.find(_DESCRIPTOR, at + 1)
        step = at if at >= 0 else len(window) - _DESCRIPTOR_BYTES
        taken += step
        yield content.read(step)
        if at >= 0:
            return
    raise Lost("the zip archive is damaged or cut, or tells nowhere how long a file is; unpack it first")


def _descriptor(content: Content) -> tuple[int, int]:
    """How long the descriptor is that comes next, and the checksum it tells."""
    head = content.head(_DESCRIPTOR_BYTES + 4)
    start = 4 if head.startswith(_DESCRIPTOR) else 0
    for length in (start + 12, start + 20):
        if head[length : length + 4] in _FOLLOW:
            return length, int.from_bytes(head[start : start + 4], "little")
    raise Lost(f"the zip archive is damaged or cut near byte {content.tell()}")

"""Decompress gzip, zstd, bzip2 and xz, recognised by their first bytes, in bounded pieces."""

import bz2
import lzma
import re
import zlib
from collections.abc import Callable, Iterator

import zstandard

from collectors.formats.stream.byte_stream import PIECE, ByteStream
from collectors.formats.stream.limits import Unreadable, Usage

Decompress = Callable[[ByteStream], Iterator[bytes]]  # decompress one frame, and leave what follows it in the stream
# A decoder that meets damage returns nothing for that step, so steps are small to keep what comes before the damage.
_ZSTD_STEP = 256  # bytes of input, since its output cannot be limited; a step gives 8 MiB at most
_ZSTD_CHECKSUM = 4  # bytes
_ZLIB_STEP = 64 * 1024  # bytes of output; after damage, such a decoder can be asked again for single bytes
_STEP = 4096  # bytes of output of bzip2 and xz
_PREFIX = 4  # bytes of the length before a message
_PADDING = 4096  # bytes of padding that are skipped at a time
_XZ_MEMORY = 512 * 1024**2  # bytes; xz needs at most 65 MiB with its own presets


def inflate(content: ByteStream, window: int = zlib.MAX_WBITS | 16) -> Iterator[bytes]:
    """Decompress one gzip member; with the window `-zlib.MAX_WBITS` the bare deflate stream of a zip file.

    Raise zlib.error for damaged data and Unreadable for truncated data; the other decoders raise their own errors.
    """
    decoder = zlib.decompressobj(window)
    while not decoder.eof:
        data = decoder.unconsumed_tail or content.read_some(_ZLIB_STEP)
        before = decoder.copy()
        try:
            piece = decoder.decompress(data, _ZLIB_STEP)
        except zlib.error:
            while byte := before.decompress(data, 1):
                yield byte
                data = before.unconsumed_tail
            raise
        if not (data or piece or decoder.eof):
            raise _truncated(content)
        yield piece
    content.push_back(len(decoder.unused_data))


def unzstd(content: ByteStream) -> Iterator[bytes]:
    """Decompress one zstd frame."""
    decoder = zstandard.ZstdDecompressor().decompressobj()
    while not decoder.eof:
        data = _read_more(content, _ZSTD_STEP)
        if _ZSTD_CHECKSUM < len(data) < _ZSTD_STEP:  # these bytes may end the frame: decode all but its checksum first
            content.push_back(_ZSTD_CHECKSUM)
            data = data[:-_ZSTD_CHECKSUM]
        yield decoder.decompress(data)
    content.push_back(len(decoder.unused_data))


def unzstd_messages(content: ByteStream) -> Iterator[bytes]:
    """Decompress messages that were compressed one by one, each with its length in 4 bytes before it.

    The file exporter of OpenTelemetry writes such files.
    """
    while prefix := content.read(_PREFIX):
        if len(prefix) < _PREFIX:
            raise _truncated(content)
        message = ByteStream(content.take(int.from_bytes(prefix, "big")))
        while message.head(1):
            yield from unzstd(message)


def bunzip2(content: ByteStream) -> Iterator[bytes]:
    """Decompress one bzip2 stream."""
    return _stepped(content, bz2.BZ2Decompressor())


def unxz(content: ByteStream) -> Iterator[bytes]:
    """Decompress one xz stream."""
    return _stepped(content, lzma.LZMADecompressor(lzma.FORMAT_XZ, _XZ_MEMORY))


def _stepped(content: ByteStream, decoder: bz2.BZ2Decompressor | lzma.LZMADecompressor) -> Iterator[bytes]:
    while not decoder.eof:
        yield decoder.decompress(_read_more(content, PIECE) if decoder.needs_input else b"", _STEP)
    content.push_back(len(decoder.unused_data))


def _read_more(content: ByteStream, size: int) -> bytes:
    if data := content.read_some(size):
        return data
    raise _truncated(content)


def _truncated(content: ByteStream) -> Unreadable:
    return Unreadable(f"the compressed data ends too early, at byte {content.tell()}: the file was cut")


MAGIC_NUMBERS: dict[re.Pattern[bytes], Decompress] = {
    re.compile(rb"\x1f\x8b\x08"): inflate,
    re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18"): unzstd,  # pzstd begins with a skippable frame
    re.compile(rb"[\x00-\x07](?s:...)\x28\xb5\x2f\xfd"): unzstd_messages,
    re.compile(rb"BZh[1-9](1AY&SY|\x17rE8P\x90)"): bunzip2,
    re.compile(rb"\xfd7zXZ\x00"): unxz,
}


def decompressor_of(head: bytes) -> Decompress | None:
    """Return the function that decompresses a file that begins with these bytes; None if it is not compressed."""
    return next((decompress for magic, decompress in MAGIC_NUMBERS.items() if magic.match(head)), None)


def decompress_frames(content: ByteStream, decompress: Decompress, usage: Usage) -> Iterator[bytes]:
    """Yield the content of frames that follow each other, with or without NUL bytes between them."""
    while head := content.head(_PADDING):
        padding = len(head) - len(head.lstrip(b"\0"))
        if padding and decompress is not unzstd_messages:  # whose lengths begin with NUL bytes
            content.read(padding)
        else:
            yield from decompress_frame(content, decompress, usage)


def decompress_frame(content: ByteStream, decompress: Decompress, usage: Usage) -> Iterator[bytes]:
    """Yield the content of one frame. Raise Unreadable if it is damaged, truncated, or larger than the limits allow."""
    try:
        for piece in decompress(content):
            if piece:
                usage.add_decompressed(len(piece))
                yield piece
    except (zlib.error, zstandard.ZstdError, lzma.LZMAError, OSError) as error:
        problem = "asks for too much memory" if "memory" in str(error).lower() else "is damaged"
        raise Unreadable(f"the compressed data {problem} near byte {content.tell()}: {error}") from None

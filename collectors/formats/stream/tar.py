"""Read the files of a tar archive one after the other, and write nothing to disk."""

import sys
import tarfile
from collections.abc import Iterator

from collectors.formats.stream.byte_stream import PIECE, ByteStream
from collectors.formats.stream.limits import Unreadable, Usage

_KUBERNETES, _LATEST = 1_401_580_800, 7_258_118_400  # seconds since 1970: June 2014, and the year 2200
_HEADER = 256 * 1024  # bytes that the headers of one file may have; tarfile holds them all in memory
_DAMAGE = (tarfile.TarError, ValueError, LookupError, ArithmeticError, RecursionError)  # for a bad header


def is_tar(head: bytes) -> bool:
    """Return whether a head begins a tar archive, by its magic number or else the checksum of its first header.

    The oldest tar archives have no magic number.
    """
    if head[257:262] == b"ustar":
        return True
    try:
        return bool(tarfile.TarInfo.frombuf(head[: tarfile.BLOCKSIZE], "utf-8", "surrogateescape"))
    except _DAMAGE:
        return False


def tar_members(content: ByteStream, usage: Usage) -> Iterator[tuple[str, ByteStream | str, int]]:
    """Yield the name of each file, with its content or with a reason why it has none, and when it was written (µs since
    1970; 0 if that is not known).

    Raise Unreadable where the archive is damaged or truncated.
    """
    source = _Source(content)
    try:
        archive = tarfile.TarFile(fileobj=source, errors="replace")  # type: ignore[arg-type]
        while member := archive.next():
            usage.add_member()
            archive.members.clear()  # type: ignore[attr-defined]  # tarfile would keep all of them in memory
            source.allowed = sys.maxsize
            if member.isfile():
                holes = member.issparse()
                file = ByteStream(_filled(archive, member, usage) if holes else content.take(member.size))
                yield member.name, file, _written(member.mtime)
            elif not member.isdir():
                yield member.name, "is a link" if member.issym() or member.islnk() else "is not a regular file", 0
            source.allowed = _HEADER
    except _DAMAGE as error:
        raise Unreadable(f"the tar archive is damaged or cut near byte {content.tell()}{_why(error)}") from None
    if source.last.strip(b"\0"):
        raise Unreadable(f"the tar archive is damaged near byte {content.tell()}")
    if len(source.last) < tarfile.BLOCKSIZE:
        raise Unreadable(f"the tar archive ends too early, at byte {content.tell()}: the file was cut")


def _written(mtime: float) -> int:
    """Return the time of a member in µs since 1970; 0 if it is none at which Kubernetes existed, as in archives that
    have one time for all."""
    return int(mtime * 1_000_000) if _KUBERNETES <= mtime < _LATEST else 0


def _filled(archive: tarfile.TarFile, member: tarfile.TarInfo, usage: Usage) -> Iterator[bytes]:
    """Yield the content of a sparse file with its holes filled; these take no space in the archive."""
    file = archive.extractfile(member)
    assert file
    try:
        while piece := file.read(PIECE):
            usage.add_decompressed(len(piece))
            yield piece
    except _DAMAGE as error:
        raise Unreadable(f"the tar archive is damaged or cut{_why(error)}") from None


def _why(error: Exception) -> str:
    """Return tarfile's message; messages of other exceptions may quote file contents."""
    return f": {error}" if isinstance(error, tarfile.TarError) else ""


class _Source:
    """The file that tarfile reads from, with a limit on headers.

    tarfile takes a damaged header for the end of the archive, and reads a header of any length into memory. `last`
    shows how the archive really ended, and `allowed` limits what tarfile may read.
    """

    def __init__(self, content: ByteStream) -> None:
        self._content = content
        self.tell = content.tell
        self.seek = content.seek
        self.allowed = _HEADER  # bytes that tarfile may still read
        self.last = b""  # what was read last; a complete archive ends with a block of NUL bytes

    def read(self, size: int) -> bytes:
        self.allowed -= size
        if self.allowed < 0:
            raise Unreadable(f"a header of the tar archive is longer than {_HEADER} bytes")
        self.last = self._content.read(size)
        return self.last

"""A stream of bytes that is read once, front to back, with lookahead."""

from collections.abc import Iterator

from collectors.formats.stream.limits import Unreadable

PIECE = 256 * 1024  # bytes that are passed on at a time, at most; larger ones do not stay in a processor's cache


class ByteStream:
    """Read pieces of bytes as they are needed; only what was looked at ahead is held in memory.

    It has the methods of a file that tarfile needs: it can read, tell, and seek forward.
    """

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._piece = b""
        self._position = 0  # bytes of the piece that were taken
        self._passed = 0  # bytes before the piece
        self._error: Unreadable | None = None

    def read_some(self, size: int = PIECE) -> bytes:
        """Return the next bytes, between one and `size`; b"" at the end.

        Raise Unreadable if the source fails, and again at every later call.
        """
        if self._position == len(self._piece):
            self._passed += len(self._piece)
            self._piece, self._position = self._next(), 0
        piece_read = self._piece[self._position : self._position + size]
        self._position += len(piece_read)
        return piece_read

    def take(self, size: int) -> Iterator[bytes]:
        """Yield the next `size` bytes, in pieces. Raise Unreadable if the stream ends before."""
        while size:
            if not (piece := self.read_some(min(size, PIECE))):
                raise Unreadable(f"the archive ends in the middle of it, at byte {self.tell()}: the file was cut")
            size -= len(piece)
            yield piece

    def remaining(self) -> Iterator[bytes]:
        """Yield the rest of the stream, in pieces."""
        while piece := self.read_some():
            yield piece

    def drain(self) -> None:
        """Read the rest of the stream and discard it."""
        for _ in self.remaining():
            pass

    def head(self, size: int) -> bytes:
        """Return the next `size` bytes without taking them; fewer at the end or before damage."""
        if len(self._piece) - self._position < size:
            held = [self._piece[self._position :]]
            missing = size - len(held[0])
            try:
                while missing > 0 and (piece := self._next()):
                    held.append(piece)
                    missing -= len(piece)
            except Unreadable:
                pass  # it is raised again when these bytes have been taken
            self._passed += self._position
            self._piece, self._position = b"".join(held), 0
        return self._piece[self._position : self._position + size]

    def push_back(self, count: int) -> None:
        """Give back the last `count` bytes that `read_some` returned, so that they are read again."""
        self._position -= count

    def read(self, size: int) -> bytes:
        """Return `size` bytes, fewer only at the end."""
        parts = []
        while size > 0 and (part := self.read_some(size)):
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def tell(self) -> int:
        """Return the position in the stream, in bytes."""
        return self._passed + self._position

    def seek(self, position: int) -> int:
        """Skip to a later position. Raise Unreadable for an earlier one."""
        if position < self.tell():
            raise Unreadable("it points back to what was read before")
        while (missing := position - self.tell()) and self.read_some(min(missing, PIECE)):
            pass
        return self.tell()

    def _next(self) -> bytes:
        if self._error:
            raise self._error
        try:
            return next(self._pieces, b"")
        except Unreadable as error:
            self._error = error
            raise

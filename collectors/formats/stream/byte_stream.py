"""This module has a stream of bytes that is read once, front to back, with lookahead."""

from collections.abc import Iterator

from collectors.formats.stream.limits import Unreadable

PIECE = 1024 * 1024  # bytes that are handed on at a time, at most


class ByteStream:
    """A stream over pieces of bytes that come as they are needed; what was looked at ahead is all that is held.

    It is also file enough for tarfile: it can read, tell, and seek forward.
    """

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._piece = b""
        self._position = 0  # what has been taken of the piece
        self._passed = 0  # bytes before the piece
        self._error: Unreadable | None = None

    def read_some(self, size: int = PIECE) -> bytes:
        """The next bytes, between one and `size`; none at the end. Raises Lost, then and ever after."""
        if self._position == len(self._piece):
            self._passed += len(self._piece)
            self._piece, self._position = self._next(), 0
        piece_read = self._piece[self._position : self._position + size]
        self._position += len(piece_read)
        return piece_read

    def take(self, size: int) -> Iterator[bytes]:
        """The next `size` bytes, in pieces. Raises Lost when there are not as many."""
        while size:
            if not (piece := self.read_some(min(size, PIECE))):
                raise Unreadable(f"the archive ends in the middle of it, at byte {self.tell()}: the file was cut")
            size -= len(piece)
            yield piece

    def remaining(self) -> Iterator[bytes]:
        while piece := self.read_some():
            yield piece

    def drain(self) -> None:
        for _ in self.remaining():
            pass

    def head(self, size: int) -> bytes:
        """The next bytes, without taking them: `size` of them unless the end or a loss comes first."""
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
        """The last bytes that `some` gave are still to come."""
        self._position -= count

    def read(self, size: int) -> bytes:
        """As many bytes as are asked for, fewer only at the end."""
        parts = []
        while size > 0 and (part := self.read_some(size)):
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def tell(self) -> int:
        return self._passed + self._position

    def seek(self, position: int) -> int:
        """Skip to a position that is still to come. Raises Lost for one that has passed."""
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

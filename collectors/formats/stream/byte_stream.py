"""Bytes that are read once, front to back, with a look ahead."""

from collections.abc import Iterator

from collectors.formats.stream.limits import Lost

PIECE = 1024 * 1024  # bytes that are handed on at a time, at most


class Content:
    """A stream over pieces of bytes that come as they are needed; what was looked at ahead is all that is held.

    It is also file enough for tarfile: it can read, tell, and seek forward.
    """

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._piece = b""
        self._at = 0  # what has been taken of the piece
        self._before = 0  # bytes before the piece
        self._lost: Lost | None = None

    def some(self, size: int = PIECE) -> bytes:
        """The next bytes, between one and `size`; none at the end. Raises Lost, then and ever after."""
        if self._at == len(self._piece):
            self._before += len(self._piece)
            self._piece, self._at = self._next(), 0
        taken = self._piece[self._at : self._at + size]
        self._at += len(taken)
        return taken

    def first(self, size: int) -> Iterator[bytes]:
        """The next `size` bytes, in pieces. Raises Lost when there are not as many."""
        while size:
            if not (piece := self.some(min(size, PIECE))):
                raise Lost(f"the archive ends in the middle of it, at byte {self.tell()}: the file was cut")
            size -= len(piece)
            yield piece

    def rest(self) -> Iterator[bytes]:
        while piece := self.some():
            yield piece

    def drain(self) -> None:
        for _ in self.rest():
            pass

    def head(self, size: int) -> bytes:
        """The next bytes, without taking them: `size` of them unless the end or a loss comes first."""
        if len(self._piece) - self._at < size:
            held = [self._piece[self._at :]]
            missing = size - len(held[0])
            try:
                while missing > 0 and (piece := self._next()):
                    held.append(piece)
                    missing -= len(piece)
            except Lost:
                pass  # it is raised again when these bytes have been taken
            self._before += self._at
            self._piece, self._at = b"".join(held), 0
        return self._piece[self._at : self._at + size]

    def untake(self, count: int) -> None:
        """The last bytes that `some` gave are still to come."""
        self._at -= count

    def read(self, size: int) -> bytes:
        """As many bytes as are asked for, fewer only at the end."""
        parts = []
        while size > 0 and (part := self.some(size)):
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def tell(self) -> int:
        return self._before + self._at

    def seek(self, position: int) -> int:
        """Skip to a position that is still to come. Raises Lost for one that has passed."""
        if position < self.tell():
            raise Lost("it points back to what was read before")
        while (missing := position - self.tell()) and self.some(min(missing, PIECE)):
            pass
        return self.tell()

    def _next(self) -> bytes:
        if self._lost:
            raise self._lost
        try:
            return next(self._pieces, b"")
        except Lost as lost:
            self._lost = lost
            raise

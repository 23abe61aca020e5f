"""Keep batches on disk until the server has acknowledged them."""

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import msgspec


class Batch(NamedTuple):
    number: int
    lines: bytes  # compressed
    restored: str  # why another history of the cluster begins with it; "" if none does


class Place(msgspec.Struct):
    """What a collector has to remember besides its batches."""

    holder: str
    epoch: int | None = None
    namespaces: tuple[str, ...] = ()  # the only ones that were watched


_place = msgspec.json.Decoder(Place)


class Buffer:
    """Keep batches in a folder, at most so many bytes of them.

    Each batch is a file, which is on disk when `put` returns. One collector uses a folder at a time. Raise OSError if
    the folder cannot be used.
    """

    def __init__(self, folder: Path, most: int) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._folder, self._most = folder, most
        self._changed = threading.Condition()
        for unfinished in folder.glob("*.part"):
            unfinished.unlink()
        self._sizes = {int(each.stem): each.stat().st_size for each in sorted(folder.glob("*.batch"))}
        self._arrived = {int(each.stem): each.stat().st_mtime for each in folder.glob("*.batch")}

    @property
    def size(self) -> int:
        """Return how many bytes wait."""
        return sum(self._sizes.copy().values())

    @property
    def behind(self) -> float:
        """Return for how many seconds the oldest batch has waited."""
        return max(0.0, time.time() - min(self._arrived.copy().values(), default=time.time()))

    @property
    def last(self) -> int:
        """Return the number of the newest batch; 0 without one."""
        return max(self._sizes.copy(), default=0)

    def has_room(self) -> bool:
        """Return whether another batch may be put."""
        return self.size < self._most

    def put(self, batch: Batch) -> None:
        """Add a batch behind the others."""
        path = self._path(batch.number)
        content = msgspec.json.encode(batch.restored) + b"\n" + batch.lines
        part = path.with_suffix(".part")
        with part.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
        self._sync()
        with self._changed:
            self._sizes[batch.number], self._arrived[batch.number] = len(content), time.time()
            self._changed.notify_all()

    def first(self, timeout: float) -> Batch | None:
        """Return the oldest batch, or None if none has come within so many seconds."""
        with self._changed:
            self._changed.wait_for(lambda: self._sizes, timeout)
            number = min(self._sizes, default=0)
        if not number:
            return None
        restored, _, lines = self._path(number).read_bytes().partition(b"\n")
        return Batch(number, lines, msgspec.json.decode(restored, type=str))

    def remove_until(self, number: int) -> None:
        """Remove the batches up to a number, which the server has stored."""
        self._remove(lambda each: each <= number)

    def clear(self) -> None:
        """Remove all batches."""
        self._remove(lambda each: True)

    def wait_for_room(self, timeout: float) -> bool:
        """Return whether another batch may be put, after waiting for so many seconds at most."""
        with self._changed:
            return self._changed.wait_for(self.has_room, timeout)

    def place(self) -> Place | None:
        """Return what was remembered last; None if nothing was, or if it cannot be read."""
        try:
            return _place.decode((self._folder / "place.json").read_bytes())
        except (FileNotFoundError, ValueError):
            return None

    def remember(self, place: Place) -> None:
        """Remember something besides the batches."""
        part = self._folder / "place.part"
        with part.open("wb") as file:
            file.write(msgspec.json.encode(place))
            file.flush()
            os.fsync(file.fileno())
        part.replace(self._folder / "place.json")
        self._sync()

    def _remove(self, which: Callable[[int], bool]) -> None:
        for number in [each for each in self._sizes if which(each)]:
            self._path(number).unlink(missing_ok=True)
            with self._changed:
                del self._sizes[number], self._arrived[number]
                self._changed.notify_all()

    def _path(self, number: int) -> Path:
        return self._folder / f"{number:018d}.batch"

    def _sync(self) -> None:
        folder = os.open(self._folder, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

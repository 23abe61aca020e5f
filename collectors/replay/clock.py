"""The clock of a replay: the recording's own time, which passes as fast as it is played. It does no I/O."""

import time
from collections.abc import Callable

MAX = 0.0  # this speed means as fast as the readers can read


class Clock:
    """Give the time in the recording, in µs since 1970."""

    def __init__(self, begins: int, speed: float, ticks: Callable[[], float] = time.monotonic) -> None:
        """Stop at `begins` until the clock is started.

        `speed` is the ratio of the recording's time to real time; with MAX, the time is that of the last commit played.
        `ticks` gives real time in seconds.
        """
        self._ticks = ticks
        self._then, self._since = begins, ticks()
        self.speed = speed
        self.running = False
        self.free = False  # the recording has ended: time passes at the speed of real time

    def now(self) -> int:
        """Return the time in the recording."""
        speed = 1.0 if self.free else self.speed
        return self._then + int((self._ticks() - self._since) * speed * 1_000_000) if self.running else self._then

    def set(self, *, running: bool | None = None, speed: float | None = None, free: bool | None = None) -> None:
        """Change how the time passes from now on; None keeps a setting."""
        self.at(self.now())
        self.running = self.running if running is None else running
        self.speed = self.speed if speed is None else speed
        self.free = self.free if free is None else free

    def at(self, time: int) -> None:
        """Set the time."""
        self._then, self._since = time, self._ticks()

    def until(self, time: int) -> float:
        """Return the real seconds until a time at this speed; not valid at MAX."""
        return max(0, time - self.now()) / 1e6 / self.speed

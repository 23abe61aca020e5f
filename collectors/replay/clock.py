"""This pure module has the clock of a replay: the recording's own time, which passes as fast as it is played."""

import time
from collections.abc import Callable

MAX = 0.0  # the speed at which only the reader sets the pace


class Clock:
    """What time it is in the recording, microseconds since 1970."""

    def __init__(self, begins: int, speed: float, ticks: Callable[[], float] = time.monotonic) -> None:
        """`speed`: of the recording's time to real time; MAX follows what is played. It stands until it is started."""
        self._ticks = ticks
        self._then, self._since = begins, ticks()
        self.speed = speed
        self.running = False
        self.free = False  # nothing is left to follow: time goes on as it always does

    def now(self) -> int:
        speed = 1.0 if self.free else self.speed
        return self._then + int((self._ticks() - self._since) * speed * 1_000_000) if self.running else self._then

    def set(self, *, running: bool | None = None, speed: float | None = None, free: bool | None = None) -> None:
        self.at(self.now())
        self.running = self.running if running is None else running
        self.speed = self.speed if speed is None else speed
        self.free = self.free if free is None else free

    def at(self, time: int) -> None:
        """It is this late now."""
        self._then, self._since = time, self._ticks()

    def until(self, time: int) -> float:
        """Real seconds until then, at this speed; not to be asked at MAX."""
        return max(0, time - self.now()) / 1e6 / self.speed

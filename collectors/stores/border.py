"""Resume stores that return their records in order of time.

A service's token for the next page expires, so a cursor that outlives the process names a time instead. Many records
may have the same time, and a page may end between them, so the cursor also names those records of that time that were
written.
"""

import time
from collections.abc import Iterable
from typing import Generic, NamedTuple, TypeVar

from collectors.stores.kinds import Cursor

TOKEN_SECONDS = 3_000.0  # seconds after which a token is not used any more; services keep theirs for a day
Token = TypeVar("Token")


class Border(NamedTuple):
    """How far records were written: all before `time`, and of those with this time the ones in `seen`."""

    time: int  # in the unit of the store
    seen: frozenset[str] = frozenset()

    @classmethod
    def of(cls, cursor: Cursor | None, begin: int) -> "Border":
        """Return the border that a cursor names; without a cursor, the beginning of the window."""
        return cls(cursor["time"], frozenset(cursor["seen"])) if cursor else cls(begin)

    def cursor(self) -> Cursor:
        return {"time": self.time, "seen": sorted(self.seen)}

    def passes(self, time: int, identity: str) -> bool:
        """Return whether a record of a page that begins at this border was not written before."""
        return time != self.time or identity not in self.seen

    def moved(self, records: Iterable[tuple[int, str]]) -> "Border":
        """Return the border after these further records, each with its time and identity."""
        at, seen = self.time, set(self.seen)
        for moment, identity in records:
            if moment > at:
                at, seen = moment, set()
            if moment == at:
                seen.add(identity)
        return Border(at, frozenset(seen))


class Continuation(Generic[Token]):
    """Keep the token with which a service continues after one page. It is valid for that page's cursor alone, for this
    process, and for a limited time."""

    def __init__(self) -> None:
        self._kept: tuple[Cursor, Token, float] | None = None

    def keep(self, cursor: Cursor, token: Token) -> None:
        self._kept = cursor, token, time.monotonic()

    def forget(self) -> None:
        self._kept = None

    def token(self, cursor: Cursor | None) -> Token | None:
        """Return the token for a cursor; None if there is none or it is too old."""
        if self._kept and self._kept[0] == cursor and time.monotonic() - self._kept[2] < TOKEN_SECONDS:
            return self._kept[1]
        return None

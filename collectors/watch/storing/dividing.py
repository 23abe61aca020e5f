"""Commit observations of a live source part by part if they cannot be committed together, until the one is found that
cannot be committed. That one is set aside, and all others are committed.

Whatever goes wrong with one observation, in any step from the world to the rows, so costs that observation alone. What
is wrong with the database, with the lease or with the source is no fault of an observation, and is tried again. So is
what goes wrong with every observation.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, NamedTuple

import psycopg
from django import db

from collectors.watch.server.failures import safe_text
from timeline.core.bounds import check
from timeline.core.entries import Entry, LogLine, Mark, Observation, Request
from timeline.kinds import qualified
from timeline.pipeline import TwoClusters
from timeline.storage import leases, store

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Sequence

    from collectors.watch.streams.threads import StreamItem

logger = logging.getLogger(__name__)
_AGAIN = 300.0  # seconds within which a second failure of a way lets what failed be divided
STREAK = 32  # observations in a row; if so many cannot be committed and none can, the fault is not theirs
_OF_DATA = ("22", "23", "54")  # classes of SQLSTATE: data exception, constraint violation, program limit exceeded
_WORDS = 300  # characters of what names an observation
_KEPT = 100_000  # observations that were set aside and are recognised when they come again


class Aside(NamedTuple):
    """An observation that was set aside, and the reason as the end of a sentence."""

    observation: Observation
    reason: str


class Dividing:
    """Commit the observations of one cluster, for its worker. This outlives the source in memory, which is loaded again
    after each failure."""

    def __init__(self) -> None:
        self._failed: dict[Hashable, float] = {}  # when a way failed last, by time.monotonic
        self._parts: dict[Hashable, list[Sequence[Observation]]] = {}  # by way, the part to commit next last
        self._streak = 0  # how many were set aside since anything was committed
        self._known: dict[object, None] = {}  # what identifies the observations that were set aside
        self.aside: list[Aside] = []  # those that were not yet recorded

    def waits(self, way: Hashable) -> bool:
        """Return whether parts of what failed on a way are still to be committed."""
        return bool(self._parts.get(way))

    @property
    def divides(self) -> bool:
        """Return whether parts of what failed on any way are still to be committed."""
        return any(self._parts.values())

    def kept(self, observed: Iterable[Observation]) -> list[Observation]:
        """Return the observations without those that were set aside before and come again."""
        if not self._known:
            return list(observed)
        return [each for each in observed if _identity(each) not in self._known]

    def checked(self, items: Iterable[StreamItem]) -> list[StreamItem]:
        """Return what a collector sent, without observations that cannot be stored, which are set aside at once."""
        found: list[StreamItem] = []
        for each in items:
            try:
                if isinstance(each, Observation):
                    check(each)
                found.append(each)
            except ValueError as error:
                assert isinstance(each, Observation)
                self._set_aside(each, str(error))
        return found

    def commit(
        self, way: Hashable, observed: Sequence[Observation], commit: Callable[[Sequence[Observation], bool], None]
    ) -> bool:
        """Commit what was observed on a way, or the next part of what failed on it; return whether it was all.

        `commit` gets the observations, and whether they are all that was observed. It raises if they cannot be
        committed; this raises the same, and the source in memory must be loaded again before the next call.
        """
        parts = self._parts.get(way)
        whole = not parts
        part = parts.pop() if parts else observed
        try:
            commit(part, whole)
        except Exception as error:
            if not part or not _is_of_data(error):
                if parts is not None and not whole:
                    parts.append(part)
                raise
            self._note(way, part, whole, error)
            raise
        self._streak = 0 if part else self._streak
        return whole

    def _note(self, way: Hashable, part: Sequence[Observation], whole: bool, error: Exception) -> None:
        """Note that a part failed: divide it, or set its only observation aside."""
        if whole:
            now = time.monotonic()
            before, self._failed[way] = self._failed.get(way, -_AGAIN), now
            if now - before >= _AGAIN:
                return
        parts = self._parts.setdefault(way, [])
        if len(part) > 1:
            middle = len(part) // 2
            parts += [part[middle:], part[:middle]]
            return
        if self._streak >= STREAK:
            del self._parts[way]
            return
        self._streak += 1
        (observation,) = part
        self._set_aside(observation, f"{type(error).__name__}: {str(error).partition(chr(10))[0]}")
        logger.warning("%s was set aside", described(observation), exc_info=error)

    def _set_aside(self, observation: Observation, reason: str) -> None:
        if len(self._known) >= _KEPT:
            self._known.clear()
        self._known[_identity(observation)] = None
        self.aside.append(Aside(observation, safe_text(reason)))


def described(each: Observation) -> str:
    """Return words for an observation, such as "A change of Pod shop/web at revision 17"."""
    if isinstance(each, LogLine):
        words = f"A line of the log {each.log}"
    elif isinstance(each, Mark):
        words = f"A mark of the watch of {qualified(each.group, each.kind)}"
    else:
        ref = each.ref
        what = "A request for" if isinstance(each, Request) else "A change of"
        words = f"{what} {qualified(ref.group, ref.kind)} {f'{ref.namespace}/{ref.name}'.lstrip('/')}"
    words = words.replace("\0", "\N{REPLACEMENT CHARACTER}")[:_WORDS]
    if isinstance(each, Entry) and each.resource_version is not None:
        return f"{words} at revision {each.resource_version}"
    return words


def _identity(each: Observation) -> object:
    """Return what is the same if an observation comes again: a watch reports the same change with another arrival."""
    if isinstance(each, Entry):
        return each.ref, each.resource_version, each.identity, each.staged if each.resource_version is None else 0
    return each


def _is_of_data(error: Exception) -> bool:
    """Return whether an observation may be at fault, and not the database, the lease or another writer."""
    if isinstance(error, leases.Lost | store.Overtaken | TwoClusters | MemoryError | OSError):
        return False
    if isinstance(error, db.Error | psycopg.Error):
        cause = error if isinstance(error, psycopg.Error) else error.__cause__
        state = cause.sqlstate if isinstance(cause, psycopg.Error) else None
        # Without a state, the error was raised before the database was asked, as for a NUL character in a text.
        return state.startswith(_OF_DATA) if state else isinstance(error, db.DataError | psycopg.DataError)
    return True

"""This module says what the present reader may see: everything, whole sources, or some namespaces of a source."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Seen:
    """This is what a reader may see: everything, or these sources as a whole and these namespaces of other sources."""

    everything: bool = False
    whole: frozenset[int] = frozenset()  # Source.id
    namespaces: Mapping[int, frozenset[str]] = field(default_factory=dict)  # by Source.id


EVERYTHING = Seen(everything=True)
_present: ContextVar[Seen] = ContextVar("what the present reader may see", default=EVERYTHING)


def present() -> Seen:
    """Return what the present reader may see. Commands, tasks and collectors see everything."""
    return _present.get()


@contextmanager
def seeing(seen: Seen) -> Iterator[None]:
    """Limit what is read to what a reader may see."""
    token = _present.set(seen)
    try:
        yield
    finally:
        _present.reset(token)

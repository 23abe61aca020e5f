"""Read of an object of any kind whether its status came back to what it was before, and whether it says that the object
has finished. It is guessed from the names of fields alone."""

import re
from collections.abc import Iterator
from hashlib import blake2b
from typing import Any

import msgspec

from timeline.core.entries import Facts
from timeline.core.values import decoded
from timeline.kinds import Shape

_TIMES = re.compile(r"time(stamp)?$|heartbeat|^last[A-Z]|At$")  # fields that differ with every write
_PHASES = ("phase", "state")
_OVER = re.compile(r"succeeded|failed|complete|completed|finished|done|error|cancell?ed|expired", re.IGNORECASE)


class StatedShape(Shape):
    status: msgspec.Raw = msgspec.Raw()


class StatedFacts(Facts, frozen=True, omit_defaults=True, gc=False):
    """What is kept of the status of an object."""

    state: str = ""  # a hash of its status without the times in it; "" without a status
    over: bool = False  # its phase or a condition says that it has finished


def stated(shape: StatedShape) -> StatedFacts:
    state, over = state_of(decoded(shape.status) if bytes(shape.status) else None)
    return StatedFacts(*shape.metadata.common, state=state, over=over)


def state_of(status: Any) -> tuple[str, bool]:
    """Return the facts of `StatedFacts` from a decoded status, which may be anything."""
    if not isinstance(status, dict) or not status:
        return "", False
    whole = msgspec.json.encode(_timeless(status), order="deterministic")
    return blake2b(whole, digest_size=4).hexdigest(), any(_OVER.fullmatch(each) for each in _words(status))


def _timeless(value: Any) -> Any:
    match value:
        case dict():
            return {name: _timeless(each) for name, each in value.items() if not _TIMES.search(name)}
        case list():
            return [_timeless(each) for each in value]
    return value


def _words(status: dict[str, Any]) -> Iterator[str]:
    """Yield the words by which a status may say that its object has finished: its phase, and conditions that are
    true."""
    yield from (word for name in _PHASES if isinstance(word := status.get(name), str))
    conditions = status.get("conditions")
    for each in conditions if isinstance(conditions, list) else ():
        if isinstance(each, dict) and each.get("status") == "True" and isinstance(word := each.get("type"), str):
            yield word

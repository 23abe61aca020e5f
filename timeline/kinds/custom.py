"""Read custom resources of unknown kinds, and guess the meaning of fields from their names alone."""

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from timeline.core.secret_names import grade
from timeline.core.values import decoded
from timeline.kinds import Kind
from timeline.kinds._stated import StatedFacts, StatedShape, state_of

_NAMES = 200  # if an object has more possible names of other objects, none is kept, and rules conclude nothing from it
_LISTED = 10  # a map with at least this many values, all of them maps, is treated as a list of named items
_no_count = re.compile(  # fields whose numbers are not a number of children
    r"port|seconds?|minutes?|hours?|days?|timeout|period|interval|ttl|deadline|delay|uid$|gid|runas|fsgroup|priority"
    r"|weight|mode|threshold|generation|version|percent|utilization|cpu|memory|storage|bytes",
    re.IGNORECASE,
)
_wish = re.compile(r"desired|expected|wanted|target", re.IGNORECASE)
_no_names = re.compile(  # fields whose values belong to a program or may be secret
    r"env(s|[-_]?vars?|ironment(variables?)?)?$|^args$|^command$|data$|^annotations$",
    re.IGNORECASE,
)
_name = re.compile(r"[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?")


class CustomShape(StatedShape):
    spec: msgspec.Raw = msgspec.Raw()


class CustomFacts(StatedFacts, frozen=True, omit_defaults=True, gc=False):
    """What is kept of a custom resource."""

    asks: int = -1  # the most children that its numbers and lists may request; -1 if no body of it was logged
    names: tuple[str, ...] = ()  # every value that may be the name of another object
    many_names: bool = False  # there are more than _NAMES such values, so `names` is empty


def _facts(shape: CustomShape) -> CustomFacts:
    spec, status = _decoded(shape.spec), _decoded(shape.status)
    counts = sorted(count for count in (*_counts(spec), *_wishes(status)) if count > 0)
    asks = max(sum(counts), counts[-1] * counts[-2] if len(counts) > 1 else 0)  # replicas × shards
    names = sorted({*_names(spec), *_names(status)})
    many = len(names) > _NAMES
    state, over = state_of(status)
    return CustomFacts(
        *shape.metadata.common,
        state=state,
        over=over,
        asks=min(asks, 2**53),
        names=() if many else tuple(names),
        many_names=many,
    )


def _decoded(raw: msgspec.Raw) -> Any:
    return decoded(raw) if bytes(raw) else None


def _counts(value: Any, key: str = "") -> Iterator[int]:
    """Yield every number that may be a requested number of children: numbers whose field does not clearly mean
    something else, and the lengths of lists and of maps that are like lists."""
    match value:
        case bool():
            return
        case int() if not _no_count.search(key):
            yield value
        case list():
            yield len(value)
            for each in value:
                yield from _counts(each, key)
        case dict():
            if len(value) >= _LISTED and all(isinstance(each, dict) for each in value.values()):
                yield len(value)
            for name, each in value.items():
                yield from _counts(each, name)


def _wishes(value: Any) -> Iterator[int]:
    """Yield the numbers in a status that say how many children are wanted, without those that say how many exist."""
    match value:
        case list():
            for each in value:
                yield from _wishes(each)
        case dict():
            for name, each in value.items():
                if _wish.search(name):
                    yield from _counts(each, name)
                else:
                    yield from _wishes(each)


def _names(value: Any) -> Iterator[str]:
    """Yield every text that may be the name of an object, without those in fields that may hold a secret."""
    match value:
        case str() if _name.fullmatch(value):
            yield value
        case list():
            for each in value:
                yield from _names(each)
        case dict():
            for name, each in value.items():
                if not _no_names.search(name) and not grade(name):
                    yield from _names(each)
                if "-" in name and _name.fullmatch(name):
                    yield name


KIND = Kind("*", "*", "", "Other", CustomShape, CustomFacts, _facts)

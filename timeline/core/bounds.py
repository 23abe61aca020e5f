"""Refuse observations that cannot be stored, drawn and found again, wherever they were read. It does no I/O."""

from msgspec.structs import astuple

from timeline.core import times
from timeline.core.entries import FOREVER, LogLine, Mark, Observation, Request

# What reading one odd line, object or record may raise. It costs that one alone. What is wrong with memory, files or
# the whole input is raised by other exceptions.
FAULTS = (ValueError, RecursionError, TypeError, LookupError, AttributeError, ArithmeticError, AssertionError)
NAMES = 1024  # bytes of UTF-8; Kubernetes allows about 700, and a row of an index has at most 2,704


def check_names(*names: str) -> None:
    """Raise ValueError if these names, which identify one object, cannot be stored and found again: if one has a NUL
    character, which PostgreSQL does not accept, or if together they are too long for an index."""
    text = "".join(names)
    if "\0" in text:
        raise ValueError("a NUL character stands in the object's name")
    if len(text) > NAMES // 4 and len(text.encode(errors="replace")) > NAMES:
        raise ValueError(f"the object's name, kind, API group and UID have more than {NAMES} bytes together")


def check(each: Observation) -> None:
    """Raise ValueError with a reason if an observation that was written by another program cannot be stored."""
    if isinstance(each, LogLine):
        times.within(each.time)
    elif isinstance(each, Mark):
        check_names(each.group, each.version, each.kind, each.namespace, each.other)
        times.within(each.time)
        times.within(each.since)
    else:
        check_names(*astuple(each.ref))
        times.within(each.received)
        if each.staged != FOREVER:
            times.within(each.staged)
        if isinstance(each, Request):
            return
        times.within(each.arrived)
        if each.owner:
            check_names(*astuple(each.owner))

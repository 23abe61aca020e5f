"""Values inside JSON documents of any size, found by their place and handed on as they stand: nothing else is decoded.

A pattern is a tuple of keys that leads to values; "*" stands for every item of an array. `("items", "*")` finds each
item of a list, `()` each document of several that follow each other, on lines of their own or not. Only one value is
held at a time.
"""

import re
from collections.abc import Iterator
from functools import lru_cache

from collectors.formats.json_stream import Damaged, Item, Text
from collectors.formats.stream import Recording, Skipped

Pattern = tuple[str, ...]

_DOCUMENT = re.compile(rb"\n(?=[{\[])")


def items(recording: Recording, *patterns: Pattern) -> Iterator[Item | Skipped]:
    """Every value that one of the patterns leads to; what is damaged is told, and what follows it is still found."""
    text = Text(recording.chunks(), recording.limits.line_bytes)
    while text.peek():
        try:
            if text.peek() not in b"{[":
                raise Damaged("it is not JSON")
            yield from _found(text, patterns, ())
        except Damaged as error:
            yield _told(recording, text, error)
            if text.begun.path:
                yield from _salvaged(recording, text)
            else:
                text.seek(_DOCUMENT)


@lru_cache(1)
def outline(head: bytes, depth: int = 7) -> dict[Pattern, bytes]:
    """The places that the documents in a head have, down to a depth, each with the values there, one behind the other.

    Of a value that is cut off there is as much as the head has; of objects and arrays that are looked into, nothing.
    """
    text = Text(iter([head]), len(head))
    found: dict[Pattern, bytes] = {}
    while first := text.peek():
        try:
            if first in b"{[":
                _outlined(text, (), depth, found)
            else:
                text.seek(_DOCUMENT)
        except Damaged:
            text.seek(_DOCUMENT)
    return found


def _found(text: Text, patterns: tuple[Pattern, ...], path: tuple[str | int, ...]) -> Iterator[Item]:
    if () in patterns:
        text.begin(path)
        yield text.item()
        return
    first = text.peek() if patterns else b""
    if first == b"{":
        for key in text.members():
            yield from _found(text, _behind(patterns, key), (*path, key))
    elif first == b"[":
        inside = _behind(patterns, "*")
        for number in text.elements():
            yield from _found(text, inside, (*path, number))
    else:
        text.value()


def _behind(patterns: tuple[Pattern, ...], step: str) -> tuple[Pattern, ...]:
    return tuple(pattern[1:] for pattern in patterns if pattern[0] == step)


def _salvaged(recording: Recording, text: Text) -> Iterator[Item | Skipped]:
    """The items behind a damaged one: whatever begins as it did."""
    *parents, number = text.begun.path
    again = re.compile(rb"[,\[]\s*(?=" + re.escape(text.begun.data) + rb")")
    while text.seek(again):
        number = number + 1 if isinstance(number, int) else number
        text.begin((*parents, number))
        try:
            yield text.item()
        except Damaged as error:
            yield _told(recording, text, error)


def _told(recording: Recording, text: Text, error: Damaged) -> Skipped:
    if not text.inside:
        return Skipped(recording.name, text.line, str(error))
    where = f"{text.begun}: " if text.begun.path else ""
    return Skipped(recording.name, text.begun.line, f"{where}{error}")


def _outlined(text: Text, path: Pattern, depth: int, found: dict[Pattern, bytes]) -> None:
    first = text.peek()
    if first == b"{" and len(path) < depth:
        found.setdefault(path, b"")
        for key in text.members():
            _outlined(text, (*path, key), depth, found)
    elif first == b"[" and len(path) < depth:
        found.setdefault(path, b"")
        for _ in text.elements():
            _outlined(text, (*path, "*"), depth, found)
    else:
        held = found.get(path, b"")
        try:
            found[path] = held + text.value()
        except Damaged:
            found[path] = held + text.rest()
            raise

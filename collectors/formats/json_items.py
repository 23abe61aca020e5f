"""Find values by their place in JSON documents of any size, and pass their bytes on undecoded.

A pattern is a tuple of keys that leads to values; "*" stands for every item of an array. `("items", "*")` finds each
item of a list; `()` finds each of several documents that follow each other, on one line or on several. Only one value
is held in memory at a time.
"""

import re
from collections.abc import Iterator
from functools import lru_cache

from collectors.formats.json_stream import Item, JsonStream, MalformedJson
from collectors.formats.stream import Recording, Skipped

Pattern = tuple[str, ...]

_DOCUMENT = re.compile(rb"\n(?=[{\[])")
_DAMAGED = 100  # documents of a head; what comes after so many is not outlined: each is read to the end of the head


def items(recording: Recording, *patterns: Pattern) -> Iterator[Item | Skipped]:
    """Yield every value that one of the patterns leads to.

    A damaged value is yielded as a Skipped, and the values after it are still found.
    """
    stream = JsonStream(recording.chunks(), recording.limits.line_bytes)
    while stream.peek():
        try:
            if stream.peek() not in b"{[":
                raise MalformedJson("it is not JSON")
            yield from _matching_values(stream, patterns, ())
        except MalformedJson as error:
            yield _skipped(recording, stream, error)
            if stream.current_item.path:
                yield from _salvage(recording, stream)
            else:
                stream.seek(_DOCUMENT)


@lru_cache(1)
def outline(head: bytes, depth: int = 7) -> dict[Pattern, bytes]:
    """Return the places in the documents of a head, down to a depth -> the values at that place, joined together.

    A value that the head cuts off is given as far as it goes. Objects and arrays above the depth have the value b"".
    """
    stream = JsonStream(iter([head]), len(head))
    found: dict[Pattern, list[bytes]] = {}
    damaged = 0
    while damaged < _DAMAGED and (first_character := stream.peek()):
        try:
            if first_character in b"{[":
                _collect_outline(stream, (), depth, found)
            else:
                stream.seek(_DOCUMENT)
        except MalformedJson:
            damaged += 1
            stream.seek(_DOCUMENT)
    return {path: b"".join(values) for path, values in found.items()}


def _matching_values(stream: JsonStream, patterns: tuple[Pattern, ...], path: tuple[str | int, ...]) -> Iterator[Item]:
    if () in patterns:
        stream.begin(path)
        yield stream.item()
        return
    first_character = stream.peek() if patterns else b""
    if first_character == b"{":
        for key in stream.members():
            yield from _matching_values(stream, _remaining_patterns(patterns, key), (*path, key))
    elif first_character == b"[":
        inner_patterns = _remaining_patterns(patterns, "*")
        for number in stream.elements():
            yield from _matching_values(stream, inner_patterns, (*path, number))
    else:
        stream.value()


def _remaining_patterns(patterns: tuple[Pattern, ...], step: str) -> tuple[Pattern, ...]:
    return tuple(pattern[1:] for pattern in patterns if pattern[0] == step)


def _salvage(recording: Recording, stream: JsonStream) -> Iterator[Item | Skipped]:
    """Yield the items after a damaged one: each value that begins with the same bytes is taken for one."""
    *parents, number = stream.current_item.path
    next_item_pattern = re.compile(rb"[,\[]\s*(?=" + re.escape(stream.current_item.data) + rb")")
    while stream.seek(next_item_pattern):
        number = number + 1 if isinstance(number, int) else number
        stream.begin((*parents, number))
        try:
            yield stream.item()
        except MalformedJson as error:
            yield _skipped(recording, stream, error)


def _skipped(recording: Recording, stream: JsonStream, error: MalformedJson) -> Skipped:
    if not stream.item_is_open:
        return Skipped(recording.name, stream.line, str(error))
    where = f"{stream.current_item}: " if stream.current_item.path else ""
    return Skipped(recording.name, stream.current_item.line, f"{where}{error}")


def _collect_outline(stream: JsonStream, path: Pattern, depth: int, found: dict[Pattern, list[bytes]]) -> None:
    first_character = stream.peek()
    values = found.setdefault(path, [])
    if first_character == b"{" and len(path) < depth:
        for key in stream.members():
            _collect_outline(stream, (*path, key), depth, found)
    elif first_character == b"[" and len(path) < depth:
        for _ in stream.elements():
            _collect_outline(stream, (*path, "*"), depth, found)
    else:
        try:
            values.append(stream.value())
        except MalformedJson:
            values.append(stream.rest())
            raise

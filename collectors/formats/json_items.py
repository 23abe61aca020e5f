"""Values inside JSON documents of any size, found by their place and handed on as they stand: nothing else is decoded.

A pattern is a tuple of keys that leads to values; "*" stands for every item of an array. `("items", "*")` finds each
item of a list, `()` each document of several that follow each other, on lines of their own or not. Only one value is
held at a time.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import msgspec

from collectors.formats.stream import TOO_DEEP, Recording, Skipped

Pattern = tuple[str, ...]

_raw = msgspec.json.Decoder(msgspec.Raw)
_text = msgspec.json.Decoder(str)
_TRAILING = "JSON is malformed: trailing characters (byte "  # msgspec counts up to the first character behind the value
_CUT = "Input data was truncated"
_SPACE = re.compile(rb"[ \t\r\n]*")
_DOCUMENT = re.compile(rb"\n(?=[{\[])")
_BEGINNING = re.compile(rb'\{\s*"(?:[^"\\]|\\.)*"|\[\s*.|.', re.DOTALL)
_KEPT = 1024  # bytes that are looked at again with the next piece: what is sought may begin among them


class Damaged(Exception):
    """A value cannot be read. The message says why."""


class Item(NamedTuple):
    line: int  # on which it begins; 1 is the first
    path: tuple[str | int, ...]  # where in its document
    data: bytes

    def __str__(self) -> str:
        """Its place as jq says it: .events[16]; "" for a whole document."""
        return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in self.path)


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


class Text:
    """JSON that comes in pieces; what has been taken is let go."""

    def __init__(self, pieces: Iterator[bytes], limit: int) -> None:
        self.line = 1
        self.begun = Item(1, (), b"")  # the last that began, with its first characters
        self.inside = False  # it has not ended yet
        self._pieces = pieces
        self._limit = limit  # bytes of one value
        self._held = b""
        self._at = 0

    def peek(self) -> bytes:
        """The next character that is no space; b"" at the end."""
        while True:
            space = _SPACE.match(self._held, self._at)
            self._pass(space.end() if space else self._at)
            if self._at < len(self._held) or not self._more():
                return self._held[self._at : self._at + 1]

    def begin(self, path: tuple[str | int, ...]) -> None:
        """An item comes next."""
        self.peek()
        beginning = _BEGINNING.match(self._held, self._at)
        self.begun = Item(self.line, path, beginning.group() if beginning else b"")
        self.inside = True

    def item(self) -> Item:
        """The item that began."""
        data = self.value()
        self.inside = False
        return self.begun._replace(data=data)

    def value(self) -> bytes:
        """The whole next value, whatever it is."""
        while True:
            view = memoryview(self._held)[self._at :]
            try:
                _raw.decode(view)
                if not self._more():  # a number might go on
                    return self._taken(len(view))
                continue
            except msgspec.DecodeError as error:
                reason = str(error)
            except RecursionError:
                raise Damaged(TOO_DEEP) from None
            if reason.startswith(_TRAILING):
                return self._taken(int(reason[len(_TRAILING) : -1]) - 1)
            if reason != _CUT and not reason.endswith(f"(byte {len(view)})"):  # a number may be cut at its point
                raise Damaged(f"not JSON: {reason.removeprefix('JSON is malformed: ')}")
            if len(view) > self._limit:
                limit = f"longer than {self._limit} bytes"
                raise Damaged(f"{limit}; CAUSELINE_LINE_LIMIT_BYTES raises the limit")
            if not self._more():
                raise Damaged("the file ends in the middle of it")

    def members(self) -> Iterator[str]:
        """The keys of the object that comes next; the value of each must be taken before the next is asked for."""
        self.expect(b"{")
        while self.peek() != b"}":
            try:
                key = _text.decode(self.value())
            except (msgspec.DecodeError, UnicodeDecodeError):
                raise Damaged("not JSON: a key is no text") from None
            self.expect(b":")
            yield key
            if self.expect(b",}") == b"}":
                return
        self.expect(b"}")

    def elements(self) -> Iterator[int]:
        """The places in the array that comes next; the value at each must be taken before the next is asked for."""
        self.expect(b"[")
        number = 0
        while self.peek() != b"]":
            yield number
            number += 1
            if self.expect(b",]") == b"]":
                return
        self.expect(b"]")

    def seek(self, sought: re.Pattern[bytes]) -> bool:
        """Go on to behind the next of these; False, and at the end, if it comes no more."""
        while not (found := sought.search(self._held, self._at)):
            self._pass(max(self._at, len(self._held) - _KEPT))
            if not self._more():
                self._pass(len(self._held))
                return False
        self._pass(found.end())
        return True

    def rest(self) -> bytes:
        """What is at hand."""
        return self._held[self._at :]

    def expect(self, characters: bytes) -> bytes:
        """Pass the next character that is no space, which must be one of these. Raises Damaged."""
        found = self.peek()
        if not found:
            raise Damaged("the file ends in the middle of a document")
        if found not in characters:
            raise Damaged("not JSON: a comma, a colon or a bracket is missing")
        self._pass(self._at + 1)
        return found

    def _taken(self, length: int) -> bytes:
        data = self._held[self._at : self._at + length]
        self._pass(self._at + length)
        return data

    def _pass(self, end: int) -> None:
        self.line += self._held.count(b"\n", self._at, end)
        self._at = end

    def _more(self) -> bool:
        """At least double what is held, so that a long value is not gone over again and again."""
        held = self._held[self._at :]
        parts, length = [held], 0
        while length <= len(held) and (piece := next(self._pieces, b"")):
            parts.append(piece)
            length += len(piece)
        self._held, self._at = b"".join(parts), 0
        return length > 0


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

"""This module steps through JSON that arrives in pieces, value by value.

Only one value is held at a time, and its bytes stay as they are.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from collectors.formats.stream import TOO_DEEP, too_long

_raw = msgspec.json.Decoder(msgspec.Raw)
_key = msgspec.json.Decoder(str)
_TRAILING = "JSON is malformed: trailing characters (byte "  # msgspec counts up to the first character behind the value
_CUT = "Input data was truncated"
_SPACE = re.compile(rb"[ \t\r\n]*")
_BEGINNING = re.compile(rb'\{\s*"(?:[^"\\]|\\.)*"|\[\s*.|.', re.DOTALL)
_KEPT = 1024  # bytes that are looked at again with the next piece: what is sought may begin among them


class MalformedJson(Exception):
    """A value cannot be read. The message says why."""


class Item(NamedTuple):
    line: int  # on which it begins; 1 is the first
    path: tuple[str | int, ...]  # where in its document
    data: bytes

    def __str__(self) -> str:
        """Its place as jq says it: .events[16]; "" for a whole document."""
        return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in self.path)


class JsonStream:
    """JSON that comes in pieces; what has been taken is let go."""

    def __init__(self, pieces: Iterator[bytes], limit: int) -> None:
        self.line = 1
        self.current_item = Item(1, (), b"")  # the last that began, with its first characters
        self.item_is_open = False  # it has not ended yet
        self._pieces = pieces
        self._limit = limit  # bytes of one value
        self._buffer = b""
        self._position = 0

    def peek(self) -> bytes:
        """The next character that is no space; b"" at the end."""
        while True:
            space = _SPACE.match(self._buffer, self._position)
            self._advance(space.end() if space else self._position)
            if self._position < len(self._buffer) or not self._read_more():
                return self._buffer[self._position : self._position + 1]

    def begin(self, path: tuple[str | int, ...]) -> None:
        """An item comes next."""
        self.peek()
        beginning = _BEGINNING.match(self._buffer, self._position)
        self.current_item = Item(self.line, path, beginning.group() if beginning else b"")
        self.item_is_open = True

    def item(self) -> Item:
        """The item that began."""
        data = self.value()
        self.item_is_open = False
        return self.current_item._replace(data=data)

    def value(self) -> bytes:
        """The whole next value, whatever it is."""
        while True:
            view = memoryview(self._buffer)[self._position :]
            try:
                _raw.decode(view)
                if not self._read_more():  # a number might go on
                    return self._take(len(view))
                continue
            except msgspec.DecodeError as error:
                reason = str(error)
            except RecursionError:
                raise MalformedJson(TOO_DEEP) from None
            if reason.startswith(_TRAILING):
                return self._take(int(reason[len(_TRAILING) : -1]) - 1)
            if reason != _CUT and not reason.endswith(f"(byte {len(view)})"):  # a number may be cut at its point
                raise MalformedJson(f"not JSON: {reason.removeprefix('JSON is malformed: ')}")
            if len(view) > self._limit:
                raise MalformedJson(too_long(self._limit))
            if not self._read_more():
                raise MalformedJson("the file ends in the middle of it")

    def members(self) -> Iterator[str]:
        """The keys of the object that comes next; the value of each must be taken before the next is asked for."""
        self.expect(b"{")
        while self.peek() != b"}":
            try:
                key = _key.decode(self.value())
            except (msgspec.DecodeError, UnicodeDecodeError):
                raise MalformedJson("not JSON: a key is no text") from None
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
        while not (found := sought.search(self._buffer, self._position)):
            self._advance(max(self._position, len(self._buffer) - _KEPT))
            if not self._read_more():
                self._advance(len(self._buffer))
                return False
        self._advance(found.end())
        return True

    def rest(self) -> bytes:
        """What is at hand."""
        return self._buffer[self._position :]

    def expect(self, characters: bytes) -> bytes:
        """Pass the next character that is no space, which must be one of these. Raises Damaged."""
        found = self.peek()
        if not found:
            raise MalformedJson("the file ends in the middle of a document")
        if found not in characters:
            raise MalformedJson("not JSON: a comma, a colon or a bracket is missing")
        self._advance(self._position + 1)
        return found

    def _take(self, length: int) -> bytes:
        data = self._buffer[self._position : self._position + length]
        self._advance(self._position + length)
        return data

    def _advance(self, end: int) -> None:
        self.line += self._buffer.count(b"\n", self._position, end)
        self._position = end

    def _read_more(self) -> bool:
        """At least double what is held, so that a long value is not gone over again and again."""
        unread = self._buffer[self._position :]
        parts, length = [unread], 0
        while length <= len(unread) and (piece := next(self._pieces, b"")):
            parts.append(piece)
            length += len(piece)
        self._buffer, self._position = b"".join(parts), 0
        return length > 0

"""JSON that comes in pieces, gone through value by value: only one is held at a time, and it stays as it stands."""

import re
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from collectors.formats.stream import TOO_DEEP, too_long

_raw = msgspec.json.Decoder(msgspec.Raw)
_text = msgspec.json.Decoder(str)
_TRAILING = "JSON is malformed: trailing characters (byte "  # msgspec counts up to the first character behind the value
_CUT = "Input data was truncated"
_SPACE = re.compile(rb"[ \t\r\n]*")
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
                raise Damaged(too_long(self._limit))
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

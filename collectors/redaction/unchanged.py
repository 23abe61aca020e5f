"""Recognise objects in JSON that redaction leaves as they are, without a walk through them. It does no I/O.

An object stays as it is if all of its strings are neutral. Most objects are such objects and repeat the strings of
earlier ones, so the module remembers neutral strings, and pieces of JSON that have no others. What it remembers is
bounded in bytes.
"""

import re
from itertools import filterfalse

import orjson

from collectors.redaction import policy
from collectors.redaction.neutral import are_ordinary, is_neutral

_UUID = rb"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
# Strings that are neutral and differ in nearly every object: times, UIDs, revisions, numbers and addresses.
_DIFFERING = rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z|%b|\d{1,15}(?:\.\d{1,17}){0,3}" % _UUID
_VALUES = re.compile(rb'":"(?:%b)"' % _DIFFERING)
_KEYS = re.compile(rb"[vk]:(?:\{\\u0022(?:uid|ip)\\u0022:)?\\u0022(?:%b)\\u0022\}?" % _DIFFERING)  # in managedFields
# A volume of every Pod. Its names are those of credentials, and redaction keeps it as it is.
_TOKEN_VOLUME = b'{"serviceAccountToken":{"expirationSeconds":3607,"path":"token"}}'
_MEMORY = 4 << 20  # bytes that each memory takes, about
_OVERHEAD = 100  # bytes that an item of a memory takes besides its length, about
_LONGEST = 2048  # bytes of an item that is remembered


class _Memory(set[bytes]):
    """A set that forgets everything when it takes too much memory."""

    __slots__ = ("_taken",)

    def __init__(self) -> None:
        super().__init__()
        self._taken = 0  # bytes

    def remember(self, items: list[bytes]) -> None:
        items = [item for item in items if len(item) <= _LONGEST]
        self._taken += sum(map(len, items)) + _OVERHEAD * len(items)
        if self._taken > _MEMORY:
            self.clear()
            self._taken = 0
        self.update(items)


_pieces = _Memory()  # of objects, each from the begin of a string, in which all strings are neutral
_strings = _Memory()  # neutral strings, as they are between quotes in JSON


def forget() -> None:
    """Clear the memories, which were filled with other patterns."""
    _pieces.clear()
    _strings.clear()


def is_unchanged(raw: bytes) -> bool:
    """Return whether all strings of an object in JSON are neutral. For bytes that are no JSON, return anything.

    An object of the kind Secret that does not say so itself is for the caller to recognise.
    """
    if raw[:2] != b'{"':
        return False
    if not policy.patterns():
        raw = raw.replace(_TOKEN_VOLUME, b"{}")
        raw = _VALUES.sub(b'":""', raw)
    # A quote after a comma begins a string, or ends one that ends with a comma. So a piece that begins in a string and
    # has an odd number of quotes ends outside of strings, and the next one begins in a string, too.
    pieces = raw.split(b',"')
    pieces[0] = pieces[0][2:]
    unknown = list(filterfalse(_pieces.__contains__, pieces))  # without a step of Python for each known piece
    strings = list[bytes]()
    for piece in unknown:
        texts = (_with_other_escapes(piece) if b"\\" in piece else piece).split(b'"')
        if len(texts) % 2:
            return False
        strings += texts[::2]
    if not _are_neutral(list(filterfalse(_strings.__contains__, strings))):
        return False
    _pieces.remember(unknown)
    return True


def _with_other_escapes(piece: bytes) -> bytes:
    """Return the same piece of JSON with escapes that contain neither quotes nor two backslashes."""
    return piece.replace(rb"\\", rb"\u005c").replace(rb"\"", rb"\u0022")


def _are_neutral(strings: list[bytes]) -> bool:
    """Return whether all these new strings are neutral, and remember those that are. They are as between quotes in
    JSON."""
    if not policy.patterns():
        strings = [each for each in strings if not _KEYS.fullmatch(each)]
    if not strings or are_ordinary(strings):
        _strings.remember(strings)
        return True
    if any(len(each) > _LONGEST for each in strings):
        return False  # to judge it by itself takes longer than the walk
    for quoted in strings:
        if not (len(strings) > 1 and are_ordinary([quoted])):  # a tenth of the time of `is_neutral`
            try:
                if not is_neutral(str(orjson.loads(b'"%b"' % quoted))):
                    return False
            except ValueError:
                return False
        _strings.remember([quoted])
    return True


policy.on_policy_change(forget)

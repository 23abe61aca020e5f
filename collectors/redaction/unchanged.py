"""This pure module finds out without a walk that redaction would leave an object in JSON as it is.

It would if all strings in the object are neutral. Most objects are such objects and repeat the strings of earlier ones,
so the module remembers neutral strings, and pieces of JSON that have no others. What it remembers is bounded in bytes.
"""

import re

import orjson

from collectors.redaction import policy
from collectors.redaction.neutral import are_ordinary, is_neutral
from collectors.redaction.objects import clean_text

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
    """This set forgets everything when it takes too much memory."""

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
_names = _Memory()  # strings that are not neutral, but hold no credential themselves


def forget() -> None:
    """Clear the memories, which were filled with other patterns."""
    for memory in (_pieces, _strings, _names):
        memory.clear()


def stays_unchanged(raw: bytes) -> bool:
    """Return whether it is certain that redaction leaves an object in JSON as it is; for other bytes, anything.

    An object of the kind Secret that does not say so itself is for the caller to recognise.
    """
    if raw[:2] != b'{"':
        return False
    raw = raw.replace(_TOKEN_VOLUME, b"{}")
    if not policy.patterns():
        raw = _VALUES.sub(b'":""', raw)
    # A quote after a comma begins a string, or ends one that ends with a comma. So a piece that begins in a string and
    # has an odd number of quotes ends outside of strings, and the next one begins in a string, too.
    pieces = raw.split(b',"')
    pieces[0] = pieces[0][2:]
    unknown = [piece for piece in pieces if piece not in _pieces]
    strings = list[bytes]()
    for piece in unknown:
        texts = (_with_other_escapes(piece) if b"\\" in piece else piece).split(b'"')
        if len(texts) % 2:
            return False
        strings += texts[::2]
    if not _are_neutral([each for each in strings if each not in _strings]):
        return False
    _pieces.remember(unknown)
    return True


def _with_other_escapes(piece: bytes) -> bytes:
    """Return the same piece of JSON with escapes that contain neither quotes nor two backslashes."""
    return piece.replace(rb"\\", rb"\u005c").replace(rb"\"", rb"\u0022")


def _are_neutral(strings: list[bytes]) -> bool:
    """Return whether all of these strings are neutral, and remember it. They are as between quotes in JSON."""
    if not strings:
        return True
    if not _names.isdisjoint(strings):
        return False
    if not policy.patterns():
        strings = [each for each in strings if not _KEYS.fullmatch(each)]
    if strings and not are_ordinary(strings) and not all(map(_is_neutral, strings)):
        return False
    _strings.remember(strings)
    return True


def _is_neutral(quoted: bytes) -> bool:
    try:
        text = str(orjson.loads(b'"%b"' % quoted))
    except ValueError:
        return False
    if is_neutral(text):
        return True
    if clean_text(text) == text:
        _names.remember([quoted])
    return False


policy.on_policy_change(forget)

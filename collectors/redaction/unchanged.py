"""Redact an object in JSON without a walk through it, if only few of its strings matter to redaction. It does no I/O.

An object stays as it is if all of its strings are neutral. Most objects are such objects and repeat the strings of
earlier ones, so the module remembers neutral strings, and pieces of JSON that have no others. What it remembers is
bounded in bytes. Of an object with other strings, the fields that have these names may be redacted by themselves.
"""

import re
from itertools import filterfalse

import orjson

from collectors.redaction import policy
from collectors.redaction.apart import Apart, redact_fields
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
_MOST_CUT = 16  # names of fields that are cut out at once
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
_names = _Memory()  # strings that are not neutral, but hold no credential themselves
_cut_before: frozenset[bytes] = frozenset()  # of these names, those of fields that were redacted by themselves


def forget() -> None:
    """Clear the memories, which were filled with other patterns."""
    global _cut_before
    _cut_before = frozenset()
    for memory in (_pieces, _strings, _names):
        memory.clear()


def has_fields_to_cut(raw: bytes) -> bool:
    """Return whether an object in JSON has fields of the names that were redacted by themselves in earlier objects."""
    return any(b'"%b":' % name in raw for name in _cut_before)


def redact_by_strings(raw: bytes) -> bytes | None:
    """Return an object in JSON with its credentials redacted, not written again if it has none; None if that takes a
    walk through it. For bytes that are no JSON, return anything.

    An object of the kind Secret that does not say so itself is for the caller to recognise.
    """
    global _cut_before
    names = {name for name in _cut_before if b'"%b":' % name in raw}
    for _ in range(2):
        apart = redact_fields(raw, names) if names else Apart(raw, raw)
        others = _telling_names(apart.rest) if apart else None
        if others is None or apart is None:
            return None
        if not others:
            if not names <= _cut_before and len(names) <= _MOST_CUT:
                both = _cut_before | names  # other threads may iterate over the one before
                _cut_before = both if len(both) <= _MOST_CUT else frozenset(names)
            return apart.redacted
        names |= others
    return None


def _telling_names(raw: bytes) -> set[bytes] | None:
    """Return the strings of an object in JSON that are not neutral and hold no credential; None if one may hold one."""
    if raw[:2] != b'{"':
        return None
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
            return None
        strings += texts[::2]
    strings = list(filterfalse(_strings.__contains__, strings))
    names = _names.intersection(strings)
    if not _are_judged([each for each in strings if each not in names] if names else strings, names):
        return None
    if not names:
        _pieces.remember(unknown)
    return names


def _with_other_escapes(piece: bytes) -> bytes:
    """Return the same piece of JSON with escapes that contain neither quotes nor two backslashes."""
    return piece.replace(rb"\\", rb"\u005c").replace(rb"\"", rb"\u0022")


def _are_judged(strings: list[bytes], names: set[bytes]) -> bool:
    """Add those of these new strings to `names` that are not neutral. Return whether none may hold a credential.

    They are as between quotes in JSON.
    """
    if not policy.patterns():
        strings = [each for each in strings if not _KEYS.fullmatch(each)]
    if not strings:
        return True
    if are_ordinary(strings):
        _strings.remember(strings)
        return True
    if any(len(each) > _LONGEST for each in strings):
        return False  # to judge it by itself takes longer than the walk
    for quoted in strings:
        if len(strings) > 1 and are_ordinary([quoted]):  # a tenth of the time of `is_neutral`
            _strings.remember([quoted])
            continue
        try:
            text = str(orjson.loads(b'"%b"' % quoted))
        except ValueError:
            return False
        if is_neutral(text):
            _strings.remember([quoted])
        elif clean_text(text) == text:
            _names.remember([quoted])
            names.add(quoted)
        else:
            return False
    return True


policy.on_policy_change(forget)

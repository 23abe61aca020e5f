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
_ADDRESS = rb"\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}"
# Neutral strings that differ in nearly every object: revisions, times, UIDs, addresses and containers.
_ALWAYS_NEUTRAL = re.compile(
    rb"\d{1,15}|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z|%b|%b|\d{1,3}\.\d{1,17}"
    rb"|v:\\u0022%b\\u0022|k:\{\\u0022uid\\u0022:\\u0022%b\\u0022\}|k:\{\\u0022ip\\u0022:\\u0022%b\\u0022\}"
    rb"|(?:containerd|docker|cri-o)://[0-9a-f]{64}" % (_UUID, _ADDRESS, _UUID, _UUID, _ADDRESS)
)
# A volume of every Pod. Its names are those of credentials, and redaction keeps it as it is.
_TOKEN_VOLUME = b'{"serviceAccountToken":{"expirationSeconds":3607,"path":"token"}}'
_NEVER = re.compile(rb"(?!)")
_MANY = 8  # pieces of an object that are unknown because of strings that are new
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
        self._taken += sum(map(len, items)) + _OVERHEAD * len(items)
        if self._taken > _MEMORY:
            self.clear()
            self._taken = 0
        self.update(item for item in items if len(item) <= _LONGEST)


_pieces = _Memory()  # of objects, from the begin of a string to the end of another
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
    # A quote after a comma begins a string, or ends one that ends with a comma. So a piece that begins in a string and
    # has an odd number of quotes ends outside of strings, and the next one begins in a string, too.
    pieces = raw.replace(_TOKEN_VOLUME, b"{}").split(b',"')
    pieces[0] = pieces[0][2:]
    unknown = [piece for piece in pieces if piece not in _pieces]
    if not unknown:
        return True
    escaped = [_with_other_escapes(piece) if b"\\" in piece else piece for piece in unknown]
    if not all(piece.count(b'"') & 1 for piece in escaped):
        return False
    if len(unknown) > _MANY:
        _pieces.remember(
            [piece for piece, same in zip(unknown, escaped, strict=True) if _strings.issuperset(same.split(b'"')[::2])]
        )
    strings = [each for each in b'"'.join(escaped).split(b'"')[::2] if each not in _strings]
    always = _NEVER if policy.patterns() else _ALWAYS_NEUTRAL
    return _are_neutral([each for each in strings if not always.fullmatch(each)])


def _with_other_escapes(piece: bytes) -> bytes:
    """Return the same piece of JSON with escapes that contain neither quotes nor two backslashes."""
    return piece.replace(rb"\\", rb"\u005c").replace(rb"\"", rb"\u0022")


def _are_neutral(strings: list[bytes]) -> bool:
    """Return whether all of these strings are neutral, and remember it. They are as between quotes in JSON."""
    if not strings:
        return True
    if not _names.isdisjoint(strings):
        return False
    if not are_ordinary(strings) and not all(map(_is_neutral, strings)):
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

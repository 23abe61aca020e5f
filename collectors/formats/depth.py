"""Measure how deeply JSON is nested. It does no I/O."""

import re

_ESCAPED = re.compile(rb"\\.")
_OTHERS = bytes(set(range(256)) - set(b'{}[]"'))
_ALIKE = bytes.maketrans(b"[]", b"{}")


def is_deeper(text: bytes, limit: int) -> bool:
    """Return whether valid JSON has more objects and arrays inside each other than the limit."""
    if text.count(b"{") + text.count(b"[") <= limit:
        return False
    if b"\\" in text:
        text = _ESCAPED.sub(b"", text)
    # Two quotes with nothing between them do not change what is between an even number of quotes and the next one.
    brackets = text.translate(_ALIKE, _OTHERS).replace(b'""', b"")
    if b'"' in brackets:
        brackets = b"".join(brackets.split(b'"')[::2])  # every other part is between two strings
    for _ in range(limit):
        if not brackets:
            return False
        brackets = brackets.replace(b"{}", b"")  # what is innermost
    return bool(brackets)

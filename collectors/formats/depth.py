"""This pure module says how deeply JSON is nested."""

import re

_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"')
_NO_BRACKETS = bytes(set(range(256)) - set(b"{}[]"))


def is_deeper(text: bytes, limit: int) -> bool:
    """Return whether valid JSON has more objects and arrays inside each other than the limit."""
    if text.count(b"{") + text.count(b"[") <= limit:
        return False
    depth = 0
    for bracket in _STRING.sub(b"", text).translate(None, _NO_BRACKETS):
        depth += 1 if bracket in b"{[" else -1
        if depth > limit:
            return True
    return False

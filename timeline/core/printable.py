"""Make text safe to print: names come from recordings, and must not move a cursor, change colours, turn the text around
them, or be computed by a spreadsheet. It does no I/O."""

import re

# Control characters that JSON may hold as they are, and those that turn text around.
_IN_JSON = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
# What spreadsheets begin a formula with, at the beginning or where a semicolon separates cells for them. They overlook
# spaces, quotes and characters without a width before it, and read its full-width and small forms as well.
_FORMULA = re.compile(
    r"(^|;)([\s\"'\u200b-\u200d\u2060\ufeff\ufffd]*)(?=[=+\-@\uff1d\uff0b\uff0d\uff20\ufe66\ufe62\ufe63\ufe6b])"
)
_NUMBER = re.compile(r"[+-]?(\d++(\.\d*+)?|\.\d++)(e[+-]?\d++)?", re.IGNORECASE)


def plain(text: str) -> str:
    """Replace control characters, also those that break lines, and those that turn text around."""
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in text)


def escaped(document: str) -> str:
    """Return JSON that means the same, in which control characters are escaped."""
    return _IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", document)


def cell(text: str) -> str:
    """Return a plain text for a cell of CSV that no spreadsheet takes for a formula: an apostrophe stands before it."""
    shown = plain(text)
    return shown if _NUMBER.fullmatch(shown) else _FORMULA.sub(r"\1'\2", shown)

"""Define the masks that replace credentials, and count them. Each mask says why it was set.

This module does no I/O.
"""

from collections import Counter
from collections.abc import Mapping

BY_NAME = "[redacted]"  # the name of the field, variable or option says that it is a credential
BY_FORM = "[redacted:form]"  # the value has the form of a credential
COPY = "[redacted:copy]"  # the value is a copy of a whole object, as some tools keep it in an annotation
OWN = "[redacted:pattern]"  # one of the operator's own patterns matches the value
UNSEARCHED = "[redacted:time]"  # the search of the text, which may hold credentials, would have taken too long
_KINDS = {
    "name": BY_NAME.encode(),
    "form": BY_FORM.encode(),
    "copy": COPY.encode(),
    "pattern": OWN.encode(),
    "time": UNSEARCHED.encode(),
}
_ANY = b"[redacted"  # the beginning of every mask
WITHHELD = "object"  # the name under which objects are counted that were not stored at all
COUNTED = (*_KINDS, WITHHELD)


def count(line: bytes, counts: Counter[str]) -> None:
    """Add the number of masks in a line to `counts`, by reason."""
    if _ANY in line:
        for kind, mask in _KINDS.items():
            counts[kind] += line.count(mask)


def together(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    """Return the sums of two counts, by reason."""
    return {kind: one.get(kind, 0) + other.get(kind, 0) for kind in COUNTED}

"""Pure: what stands in the place of a credential. Each mask says why one was taken out, so that they can be counted."""

from collections import Counter
from collections.abc import Mapping

BY_NAME = "[redacted]"  # the name of the field, variable or option says that it is a credential
BY_FORM = "[redacted:form]"  # it has the form of a credential
COPY = "[redacted:copy]"  # a copy of a whole object, as tools keep it
OWN = "[redacted:pattern]"  # one of the operator's own patterns matches it
_KINDS = {"name": BY_NAME.encode(), "form": BY_FORM.encode(), "copy": COPY.encode(), "pattern": OWN.encode()}
_ANY = b"[redacted"  # how each of them begins
WITHHELD = "object"  # what is counted of objects that were not kept at all
COUNTED = (*_KINDS, WITHHELD)


def count(line: bytes, counts: Counter[str]) -> None:
    """Count the masks in a line, by why they stand there."""
    if _ANY in line:
        for kind, mask in _KINDS.items():
            counts[kind] += line.count(mask)


def together(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    return {kind: one.get(kind, 0) + other.get(kind, 0) for kind in COUNTED}

"""Pure: what stands in the place of what was taken out. Each mask says why it was, so that they can be counted."""

from collections import Counter

BY_NAME = "[redacted]"  # the name of the field, variable or option says that it is a credential
BY_FORM = "[redacted:form]"  # it has the form of a credential
COPY = "[redacted:copy]"  # a copy of a whole object, as tools keep it
OWN = "[redacted:pattern]"  # one of the operator's own patterns matches it
_KINDS = {"name": BY_NAME, "form": BY_FORM, "copy": COPY, "pattern": OWN}
_ANY = b"[redacted"
"""How each of them begins."""


def counted(line: bytes) -> Counter[str]:
    """How many masks stand in a line, by why."""
    if _ANY not in line:
        return Counter()
    return Counter({kind: line.count(mask.encode()) for kind, mask in _KINDS.items()})

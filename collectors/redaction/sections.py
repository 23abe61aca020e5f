"""Find credentials in text by the section that they are in, as in files of INI and TOML. It does no I/O."""

import re
from collections.abc import Iterator
from itertools import zip_longest

from collectors.redaction.roles import DEPENDENT, may_hold_more
from collectors.redaction.values import LETTER, Span, harmless
from timeline.core.secret_names import Grade, grade, is_reference, letters

_SECTION = re.compile(
    rf"(?m)^[ \t]*\[{{1,2}}[ \t\"']{{0,3}}(?P<name>[{LETTER}]{{1,100}}+)[\"']{{0,2}}[ \t]*\]{{1,2}}[ \t]*\r?$"
)
_ASSIGNED = re.compile(rf"(?m)^[ \t]*(?P<name>[{LETTER}]++)[ \t]*[=:][ \t]*(?P<value>[^\r\n]++)")


def values_in_sections(text: str) -> Iterator[Span]:
    """Yield the places of values in sections such as `[credentials]`, and of `key` in sections such as `[ssh]`."""
    sections = [*_SECTION.finditer(text)]
    for section, following in zip_longest(sections, sections[1:]):
        end = following.start() if following else len(text)
        name = section["name"]
        secret = (
            grade(name) is Grade.WHOLE
            or (grade(name) and may_hold_more(name))
            or letters(name) in ("env", "environment")
        )
        for match in _ASSIGNED.finditer(text, section.end(), end):
            by_name = secret and not is_reference(match["name"])
            by_both = letters(match["name"]) in DEPENDENT and grade(f"{name} {match['name']}")
            if (by_name or by_both) and not harmless(match["value"].strip("\"' ,")):
                yield Span(*match.span("value"))

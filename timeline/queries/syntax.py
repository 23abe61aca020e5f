"""Read what people type into a search: terms such as `ns:shop rule:lease-stolen is:open`, and words.

This is the only parser. The browser completes terms by the same names (`js/state/terms.js`) and asks the server what
they mean. A colon after anything else belongs to a word, as in `nginx:1.27` or `10.0.0.1:80`.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple, get_args

from timeline.core import times
from timeline.judging.findings import Severity
from timeline.kinds import registry

FIELDS = {
    "kind": "kind",
    "ns": "namespace",
    "namespace": "namespace",
    "name": "name",
    "rule": "rule",
    "severity": "severity",
    "actor": "actor",
    "node": "node",
    "image": "image",
    "is": "state",
    "since": "start",
    "until": "end",
}
STATES = {"open": "ongoing", "ongoing": "ongoing", "over": "over", "ended": "over"}  # what may follow `is:`
_term = re.compile(rf'({"|".join(FIELDS)}):(?:"([^"]*)"|(\S*))', re.IGNORECASE)
_token = re.compile(r'[a-z]+:"[^"]*"|\S+', re.IGNORECASE)


class WrongTerm(ValueError):
    """The value of a term means nothing; the text says what it may be."""


class Search(NamedTuple):
    """What a search asks for."""

    fields: dict[str, str]  # the parameters of addresses that its terms mean, such as {"namespace": "shop"}
    words: str  # what is not part of a term


def read(text: str) -> Search:
    """Return what a search means. A term without a value is left out, and of two terms for one field the last counts.

    Raises WrongTerm.
    """
    fields: dict[str, str] = {}
    words = []
    for token in _token.findall(text):
        found = _term.fullmatch(token)
        if not found:
            words.append(token)
        elif value := (found[2] or found[3] or "").strip():
            fields |= _meaning(found[1].lower(), value)
    return Search(fields, " ".join(words))


def _meaning(term: str, value: str) -> dict[str, str]:
    if term == "kind":
        return _kinds(value.split(","))
    if term == "severity" and value.lower() not in get_args(Severity):
        raise WrongTerm(f"severity: is one of {', '.join(get_args(Severity))}, not “{value}”.")
    if term == "is":
        if value.lower() not in STATES:
            raise WrongTerm(f"is: can be followed by open or over, not by “{value}”.")
        return {"state": STATES[value.lower()]}
    if term in ("since", "until"):
        return {FIELDS[term]: str(_time(term, value))}
    return {FIELDS[term]: value.lower() if term == "severity" else value}


def _time(term: str, value: str) -> int:
    """Return a time of ISO 8601, which is in UTC if it has no zone, in microseconds since 1970. The browser writes what
    people type in other notations in this one (`js/state/typedTime.js`)."""
    try:
        return times.in_utc(value)
    except times.NoTime:
        raise WrongTerm(f"{term}: takes a time such as {times.EXAMPLE}, not “{value}”.") from None


def _kinds(words: Iterable[str]) -> dict[str, str]:
    """Return the families that words such as pod or leases mean, or else the kinds themselves, because a family such as
    Workloads has several."""
    asked = [word for word in words if word]
    families: dict[str, None] = {}
    for word in asked:
        meant = {kind.family for kind in registry().values() if kind.is_meant(word)}
        named = {kind.family for kind in registry().values() if kind.family.lower() == word.lower()}
        alone = {each for each in meant if all(k.is_meant(word) for k in registry().values() if k.family == each)}
        if not (named or (meant and meant == alone)):
            return {"kind": ",".join(asked)}
        families |= dict.fromkeys(sorted(named or meant))
    return {"kinds": ",".join(families)}

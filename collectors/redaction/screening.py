"""Find out for many observations at once that none of them has credentials, as most never have. It does no I/O.

It collects the different texts of all of them and searches these together, which takes a third of the time that
`entries.without_credentials` takes one by one. It never says of an observation that it has none if that function would
change it; `tests/unit/redaction/test_screening.py` checks this.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import Any

from msgspec.structs import fields

from collectors.redaction import policy
from collectors.redaction.entries import LONGEST, SHORT, TEXTS_OF_REQUEST, UUID, clean_name
from collectors.redaction.objects import clean_text
from collectors.redaction.text import without_known_forms
from timeline.core.entries import Client, Entry, Facts, ObjectRef, Owner, Request
from timeline.kinds.event import EventFacts

_MOST_KNOWN = 10_000  # values that are remembered
_UUID_LENGTH = 36
_UUID_CHARACTERS = "0123456789abcdef-"
_HYPHENS = (8, 13, 18, 23)  # where they are in a UUID
_BASE64_ALONE = re.compile(r"^[A-Za-z0-9+/]{8,}={0,2}$", re.MULTILINE)  # names that are Base64 as a whole
_FREE_TEXT = (" ", "=", "://", "\n")
_known: set[object] = set()  # texts, references, owners, clients and tuples that have no credentials
_texts_of_entry = attrgetter("identity", "actor", "user_agent", "action")
_texts_of_request = attrgetter(*TEXTS_OF_REQUEST)
_texts_of: dict[type, Callable[[Any], tuple[str, ...]]] = {
    ObjectRef: attrgetter(*ObjectRef.__struct_fields__),
    Owner: attrgetter(*Owner.__struct_fields__),
    Client: attrgetter(*Client.__struct_fields__),
}


def have_no_credentials(observations: Sequence[object]) -> bool:
    """Return whether it is certain that `without_credentials` changes none of these observations."""
    found: set[object] = set()
    add, update = found.add, found.update
    for each in observations:
        if isinstance(each, Entry):
            update(_texts_of_entry(each))
            facts = each.facts
            if facts is not None:
                if type(facts) is EventFacts and facts.message and clean_text(facts.message) != facts.message:
                    return False
                update(_texts_in(type(facts))(facts))
            if each.sets:
                add(each.sets)
            add(each.owner)
        elif isinstance(each, Request):
            update(_texts_of_request(each))
        else:
            return False
        add(each.ref)
        add(each.client)
        add(each.annotations)
    new = found - _known
    texts = [text for text in _texts(new) if len(text) >= SHORT and text not in _known]
    if not _are_harmless(texts):
        return False
    if len(_known) > _MOST_KNOWN:
        _known.clear()
    _known.update(each for each in new if not isinstance(each, str) or _UUID_LENGTH != len(each) <= LONGEST)
    return True


def forget() -> None:
    """Clear the cache, which was filled with other patterns."""
    _known.clear()


@lru_cache(256)
def _texts_in(type_of_facts: type[Facts]) -> Callable[[Facts], tuple[Any, ...]]:
    """Return a function that returns the values of the facts that may hold text, and of two more."""
    names = [each.name for each in fields(type_of_facts) if each.type not in (int, bool, float)]
    return attrgetter("created", "deleting", *names)


def _texts(values: Iterable[object]) -> Iterable[str]:
    """Return the texts in these values, each once."""
    found: set[str] = set()
    rest = [values]
    while rest:
        for each in rest.pop():
            if isinstance(each, str):
                found.add(each)
            elif isinstance(each, tuple):
                rest.append(each)
            elif (texts := _texts_of.get(type(each))) is not None:
                found.update(texts(each))
    return found


def _are_harmless(texts: list[str]) -> bool:
    """Return whether no text, each of at least SHORT characters, has a credential."""
    if policy.patterns():
        return all(clean_name(text) == text for text in texts)
    as_long = [text for text in texts if len(text) == _UUID_LENGTH]
    others = [] if _are_uuids(as_long) else [text for text in as_long if not UUID.fullmatch(text)]
    texts = [text for text in texts if len(text) != _UUID_LENGTH] + others
    names = []
    for text in texts:
        if any(each in text for each in _FREE_TEXT):
            if clean_name(text) != text:
                return False
        else:
            names.append(text)
    joined = "\n".join(names)
    alone: list[str] = _BASE64_ALONE.findall(joined)
    return without_known_forms(joined) == joined and all(clean_name(text) == text for text in alone)


def _are_uuids(texts: list[str]) -> bool:
    """Return whether all these texts, each of 36 characters, are UUIDs."""
    joined, hyphens = "".join(texts), "-" * len(texts)
    if joined.count("-") != 4 * len(texts) or joined.strip(_UUID_CHARACTERS):
        return False
    return all(joined[place::_UUID_LENGTH] == hyphens for place in _HYPHENS)


policy.on_policy_change(forget)

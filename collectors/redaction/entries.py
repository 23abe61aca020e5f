"""Pure: everything in an entry besides the object, without credentials: names, who wrote, and what is remembered of it.

A user's name may be a token, a message may quote one, and so may any field that somebody outside can fill.
"""

from functools import lru_cache
from typing import Any

from msgspec.structs import fields, replace

from collectors.redaction import policy
from collectors.redaction.objects import clean_text
from collectors.redaction.text import known_by_themselves
from timeline.core.entries import Entry, Facts, Mark, ObjectRef, Observation, Owner
from timeline.kinds.event import EventFacts

_SHORT = 14  # no credential that is known by its form is shorter
_MANY = 4096
_known: set[str] = set()


def forget() -> None:
    """What was found harmless may not be so by other patterns."""
    _known.clear()
    _ref.cache_clear()
    _owner.cache_clear()


def without_credentials(told: Observation) -> Observation:
    """The observation without credentials. An object in it was redacted when it was read."""
    if isinstance(told, Mark):
        return replace(told, reason=clean_text(told.reason)) if told.reason else told
    return entry_without_credentials(told)


def entry_without_credentials(entry: Entry) -> Entry:
    ref, owner, facts = _ref(entry.ref), entry.owner and _owner(entry.owner), entry.facts and _facts(entry.facts)
    actor, agent, sets = _text(entry.actor), _text(entry.user_agent), entry.sets and _sets(entry.sets)
    identity, action = _text(entry.identity), _text(entry.action)
    same = ref is entry.ref and owner is entry.owner and facts is entry.facts and sets is entry.sets
    if same and (actor, agent, identity, action) == (entry.actor, entry.user_agent, entry.identity, entry.action):
        return entry
    return replace(
        entry,
        ref=ref,
        owner=owner,
        facts=facts,
        sets=sets,
        actor=actor,
        user_agent=agent,
        identity=identity,
        action=action,
    )


def _text(told: str) -> str:
    """A name, without credentials that are known by their form, and those that words in it announce."""
    if len(told) < _SHORT or told in _known:
        return told
    clean = clean_text(told) if " " in told or "=" in told or "://" in told else known_by_themselves(told)
    if clean != told:
        return clean
    if len(_known) == _MANY:
        _known.clear()
    _known.add(told)
    return told


@lru_cache(_MANY)
def _ref(ref: ObjectRef) -> ObjectRef:
    clean = [_text(each) for each in (ref.group, ref.version, ref.kind, ref.namespace, ref.name, ref.uid)]
    return ref if clean == [ref.group, ref.version, ref.kind, ref.namespace, ref.name, ref.uid] else ObjectRef(*clean)


@lru_cache(_MANY)
def _owner(owner: Owner) -> Owner:
    clean = [_text(each) for each in (owner.group, owner.version, owner.kind, owner.name, owner.uid)]
    return owner if clean == [owner.group, owner.version, owner.kind, owner.name, owner.uid] else Owner(*clean)


def _facts(facts: Facts) -> Facts:
    changed: dict[str, Any] = {}
    if type(facts) is EventFacts and facts.message and (told := clean_text(facts.message)) is not facts.message:
        changed["message"] = told
    for name in _carriers(type(facts)):
        value = getattr(facts, name)
        if value and (told := _any(value)) != value:
            changed.setdefault(name, told)
    return replace(facts, **changed) if changed else facts


@lru_cache(256)
def _carriers(type_of_facts: type[Facts]) -> tuple[str, ...]:
    """The facts that may hold text."""
    return tuple(each.name for each in fields(type_of_facts) if each.type not in (int, bool, float))


def _sets(sets: tuple[tuple[str, Any], ...]) -> tuple[tuple[str, Any], ...]:
    clean = tuple((name, _any(value)) for name, value in sets)
    return sets if clean == sets else clean


def _any(value: Any) -> Any:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, tuple):
        told = [_any(each) for each in value]
        if all(one is other for one, other in zip(told, value, strict=True)):
            return value
        return type(value)(*told) if hasattr(value, "_fields") else tuple(told)
    return value


policy.before_others(forget)

"""Remove credentials from everything in an entry except the object. It does no I/O.

A user name may be a token, a message may quote one, and so may any field that clients of the cluster can fill.
"""

import re
from functools import lru_cache
from typing import Any

from msgspec.structs import fields, replace

from collectors.redaction import policy
from collectors.redaction.objects import clean_text
from collectors.redaction.text import without_known_forms
from timeline.core.entries import Client, Entry, Facts, LogLine, Mark, ObjectRef, Observation, Owner, Request
from timeline.kinds.event import EventFacts

UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
_UUID_LENGTH = 36
SHORT = 14  # characters; no credential that is recognised by its form is shorter
LONGEST = 2048  # characters of a text that is remembered: whoever can write Events chooses how long their messages are
_CACHED = 4096  # results in each cache
_harmless: set[str] = set()
_harmless_values: set[object] = set()  # tuples of texts, which many observations share


def forget() -> None:
    """Clear the caches, which were filled with other patterns."""
    _harmless.clear()
    _harmless_values.clear()
    _clean_ref.cache_clear()
    _clean_owner.cache_clear()
    _clean_client.cache_clear()


def without_credentials(observation: Observation) -> Observation:
    """Return the observation without credentials. The object in it was redacted when it was read."""
    if isinstance(observation, Mark):
        mark = observation
        return replace(mark, reason=clean_text(mark.reason)) if mark.reason else mark
    if isinstance(observation, LogLine):
        return line_without_credentials(observation)
    if isinstance(observation, Request):
        return request_without_credentials(observation)
    return entry_without_credentials(observation)


def entry_without_credentials(entry: Entry) -> Entry:
    """Return the entry without credentials in its names and facts; the same entry if it has none."""
    ref, owner, facts = (
        _clean_ref(entry.ref),
        entry.owner and _clean_owner(entry.owner),
        entry.facts and _clean_facts(entry.facts),
    )
    actor, agent, sets = clean_name(entry.actor), clean_name(entry.user_agent), _clean_value(entry.sets)
    identity, action = clean_name(entry.identity), clean_name(entry.action)
    client, annotations = entry.client and _clean_client(entry.client), _clean_value(entry.annotations)
    same = ref is entry.ref and owner is entry.owner and facts is entry.facts and sets is entry.sets
    same = same and client is entry.client and annotations is entry.annotations
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
        client=client,
        annotations=annotations,
    )


def request_without_credentials(request: Request) -> Request:
    """Return the request without credentials in its names; the same request if it has none."""
    changed: dict[str, Any] = {
        name: clean for name in TEXTS_OF_REQUEST if (clean := clean_name(text := getattr(request, name))) != text
    }
    if (ref := _clean_ref(request.ref)) is not request.ref:
        changed["ref"] = ref
    if request.client and (client := _clean_client(request.client)) is not request.client:
        changed["client"] = client
    if (annotations := _clean_value(request.annotations)) is not request.annotations:
        changed["annotations"] = annotations
    return replace(request, **changed) if changed else request


def line_without_credentials(line: LogLine) -> LogLine:
    """Return the line of a log without credentials; the same line if it has none."""
    log, text, level = clean_name(line.log), clean_text(line.text), clean_name(line.level)
    objects = tuple(map(clean_name, line.objects))
    if (log, text, level, objects) == (line.log, line.text, line.level, line.objects):
        return line
    return replace(line, log=log, text=text, level=level, objects=objects)


TEXTS_OF_REQUEST = (
    "verb", "reason", "action", "since", "match", "selector", "actor", "user_agent", "identity", "message",
)  # fmt: skip


def clean_name(text: str) -> str:
    """Return a name without credentials that are recognised by their form or by the words before them."""
    if len(text) < SHORT or text in _harmless:
        return text
    if len(text) == _UUID_LENGTH and UUID.fullmatch(text) and not policy.patterns():
        return text  # the ids of most observations, which would push everything else out of the cache
    clean = clean_text(text) if " " in text or "=" in text or "://" in text else without_known_forms(text)
    if clean != text:
        return clean
    if len(text) <= LONGEST:
        if len(_harmless) >= _CACHED:  # other threads add to it, too
            _harmless.clear()
        _harmless.add(text)
    return text


@lru_cache(_CACHED)
def _clean_ref(ref: ObjectRef) -> ObjectRef:
    clean = [clean_name(each) for each in (ref.group, ref.version, ref.kind, ref.namespace, ref.name, ref.uid)]
    return ref if clean == [ref.group, ref.version, ref.kind, ref.namespace, ref.name, ref.uid] else ObjectRef(*clean)


@lru_cache(_CACHED)
def _clean_client(client: Client) -> Client:
    clean = [clean_name(each) for each in (client.address, client.pod, client.pod_uid, client.node)]
    return client if clean == [client.address, client.pod, client.pod_uid, client.node] else Client(*clean)


@lru_cache(_CACHED)
def _clean_owner(owner: Owner) -> Owner:
    clean = [clean_name(each) for each in (owner.group, owner.version, owner.kind, owner.name, owner.uid)]
    return owner if clean == [owner.group, owner.version, owner.kind, owner.name, owner.uid] else Owner(*clean)


def _clean_facts(facts: Facts) -> Facts:
    changed: dict[str, Any] = {}
    if type(facts) is EventFacts and facts.message and (text := clean_text(facts.message)) is not facts.message:
        changed["message"] = text
    for name in _text_fields(type(facts)):
        value = getattr(facts, name)
        if value and (text := _clean_value(value)) is not value:
            changed.setdefault(name, text)
    return replace(facts, **changed) if changed else facts


@lru_cache(256)
def _text_fields(type_of_facts: type[Facts]) -> tuple[str, ...]:
    """Return the names of the facts that may hold text."""
    return tuple(each.name for each in fields(type_of_facts) if each.type not in (int, bool, float))


def _clean_value(value: Any) -> Any:
    """Return a value without credentials in its texts; the same value if it has none."""
    if isinstance(value, str):
        return clean_name(value)
    if not isinstance(value, tuple) or value in _harmless_values:
        return value
    text = [_clean_value(each) for each in value]
    if any(one is not other for one, other in zip(text, value, strict=True)):
        return type(value)(*text) if hasattr(value, "_fields") else tuple(text)
    if _characters(value) <= LONGEST:
        if len(_harmless_values) >= _CACHED:  # other threads add to it, too
            _harmless_values.clear()
        _harmless_values.add(value)
    return value


def _characters(value: Any) -> int:
    """Return how many characters the texts of a value have, about as much memory as it takes."""
    return len(value) if isinstance(value, str) else sum(map(_characters, value)) if isinstance(value, tuple) else 1


policy.on_policy_change(forget)

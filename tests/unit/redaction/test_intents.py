"""These tests check that what is wanted of an object is the same whether its parts or the whole object is redacted."""

from collections.abc import Callable
from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as st

from collectors.redaction import Policy, redact_json
from collectors.redaction.intents import wanted_of
from tests.inputs.credentials import BODIES, TEXTS
from tests.properties import examples
from tests.unit.redaction.conftest import policy as policy  # a fixture
from timeline.core.intent import intent_of

KINDS = [("apps", "Deployment"), ("", "ConfigMap"), ("", "Secret"), ("", "Node"), ("example.com", "Thing")]
WORDS = ["name", "password", "value", "token", "kind", "Secret", "data", "type", "status", "Ready", "True", "labels"]
TEXT = st.sampled_from([*WORDS, *TEXTS.values()]) | st.text(max_size=8)
VALUE = st.recursive(
    TEXT | st.integers(0, 9) | st.none() | st.booleans(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)
CONDITION = st.fixed_dictionaries({}, optional={"type": TEXT, "status": TEXT, "message": VALUE})
NAMES = ["name", "value", "kind", "data", "token", "finalizers", "ownerReferences", "labels", "annotations"]
METADATA = st.fixed_dictionaries({}, optional=dict.fromkeys(NAMES, VALUE))
STATUS = st.fixed_dictionaries({}, optional={"conditions": st.lists(CONDITION, max_size=3) | VALUE, "kind": TEXT})
OBJECT = st.fixed_dictionaries(
    {},
    optional={
        "metadata": METADATA | VALUE,
        "status": STATUS | VALUE,
        **dict.fromkeys(("kind", "type", "name", "value", "spec", "data", "rules"), VALUE),
    },
)


def same(group: str, kind: str, raw: bytes) -> None:
    expected = intent_of(group, kind, redact_json(raw, kind))
    assert wanted_of(group, kind, raw) == expected
    assert wanted_of(group, kind, raw) == expected  # what is remembered is the same


@examples(38)
@given(st.sampled_from(KINDS), OBJECT)
def test_parts_of_an_object_say_what_the_whole_object_says(kind: tuple[str, str], body: dict[str, Any]) -> None:
    same(*kind, orjson.dumps(body))


def test_objects_with_credentials_say_the_same() -> None:
    for each in BODIES.values():
        for kind in KINDS:
            same(*kind, orjson.dumps(each))


def test_an_object_with_very_many_labels_and_conditions_says_the_same() -> None:
    spec = {"containers": [{"name": f"c{number}", "image": "a:1", "args": ["b"]} for number in range(30)]}
    conditions = [{"type": each, "status": "True"} for each in ("Ready", "Available", "Failed", "Other")]
    for count in (27, 28, 29, 30):
        body = {"spec": {"containers": spec["containers"][:count]}, "status": {"conditions": conditions}}
        same("apps", "Deployment", orjson.dumps(body))


def test_patterns_of_the_operator_are_used_even_for_an_object_that_is_known(policy: Callable[[Policy], None]) -> None:
    text = "corp-1234567890123456"
    raw = orjson.dumps({"metadata": {"labels": {"a": text}}, "spec": {"paused": text}})
    before = wanted_of("apps", "Deployment", raw)
    policy(Policy(patterns=("corp-[0-9]{16}",)))
    assert wanted_of("apps", "Deployment", raw) != before
    same("apps", "Deployment", raw)
    policy(Policy())
    assert wanted_of("apps", "Deployment", raw) == before
    policy(Policy(strict=True))
    assert wanted_of("apps", "Deployment", raw) is None

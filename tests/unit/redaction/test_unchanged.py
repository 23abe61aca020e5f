"""These tests check that redaction skips the walk through an object only if the walk would change nothing."""

import json
import re
from collections.abc import Callable
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.redaction import cached, commands, redact, redact_json, unchanged
from collectors.redaction.forms import beginnings
from collectors.redaction.neutral import are_ordinary, is_neutral
from collectors.redaction.objects import clean_fields
from tests.inputs.credentials import FORMS, TEXTS, M
from tests.properties import examples, sampled
from timeline.core.secret_names import Grade, grade, telling_letters

# Words of names, so that generated texts often are names of credentials, or nearly.
_WORDS = """
    pass word to ken api key secret sec ret auth web hook pw sig id tokens keys webs assigned signature ref name value
    env mysql docker az user vault login set add redis last applied original object sk-ant- glpat- hvs s
    0123456789abcdef abcdefghijklmnop x7kq2m cGFzc3dvcmQ9aHVudGVyMg 10.0.0.1 http:// identified
"""
WORDS = [*_WORDS.split(), "identified by"]
SEPARATORS = ["", "(", ")", "'", "-", "_", ".", "/", ":", " ", "0", ": ", " -", "s", "=", "\n", "\\", '"']
NAMES = st.lists(st.sampled_from(WORDS) | st.sampled_from(SEPARATORS), min_size=1, max_size=8).map("".join)
STYLED = st.builds(lambda text, style: style(text), NAMES, st.sampled_from([str, str.upper, str.title, str.capitalize]))
_FIELDS = """
    name value kind data env args command annotations labels metadata managedFields secret imagePullSecrets hard
    fieldsV1 f:spec v:"x" sensitive instances type stringData spec items
"""
FIELDS = _FIELDS.split()
TEXTS_OF_FIELDS = [*FIELDS, "Secret", "Pod", "-p", "--user", "hunter2", "a:b", "alias", "host", "mc", "curl", "/p:x"]
TEXTS_OF_FIELDS += ["x", "password=abcdef", "http://a:b@c/d", "a\\u0073", "--token", "KEY=x", "Bearer abcdef"]
TEXTS_OF_FIELDS += ["eyJhbGciOiJI.eyJhbGciOiJI.x", "docker.io/a@sha256:00", "pa\u017fsword: x", '{"auth":"abc"}']
STRINGS = st.sampled_from(TEXTS_OF_FIELDS)
BODY_VALUES = st.recursive(
    STRINGS | STYLED | st.integers(-9, 9) | st.none() | st.booleans() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(FIELDS) | STYLED, inner, max_size=4),
    max_leaves=15,
)


@pytest.fixture(autouse=True)
def fresh() -> None:
    unchanged.forget()
    cached.forget()


def sorted_bytes(body: Any, kind: str = "") -> bytes:
    """Return what the walk through an object makes of it."""
    return orjson.dumps(redact(body, kind), option=orjson.OPT_SORT_KEYS)


def redacted_as_by_walking(body: Any) -> bytes:
    """Assert that an object is redacted as the walk through it does, and return what that is."""
    redacted = redact_json(orjson.dumps(body))
    assert redacted == sorted_bytes(body)
    return redacted


@given(
    st.dictionaries(st.sampled_from(FIELDS) | STYLED, BODY_VALUES, max_size=5), st.sampled_from(["", "Pod", "Secret"])
)
@examples(40)
def test_an_object_that_is_not_walked_would_not_be_changed(body: dict[str, Any], kind: str) -> None:
    for raw in (orjson.dumps(body), json.dumps(body).encode(), json.dumps(body, indent=1).encode()):
        if unchanged.is_unchanged(raw):
            assert redact(body) == body
        assert redact_json(raw, kind) == sorted_bytes(body, kind)


@given(
    st.dictionaries(st.sampled_from(["spec", "data", "env", "kind", "status"]) | STYLED, BODY_VALUES, max_size=3),
    st.dictionaries(st.sampled_from(FIELDS) | STYLED, BODY_VALUES, max_size=3),
    st.lists(st.dictionaries(st.sampled_from(FIELDS) | STYLED, BODY_VALUES, max_size=2), max_size=2),
)
@examples(40)
def test_an_object_in_parts_is_redacted_as_the_whole(
    body: dict[str, Any], metadata: dict[str, Any], managers: list[dict[str, Any]]
) -> None:
    body["metadata"] = {**metadata, "managedFields": managers}
    wanted = sorted_bytes(body)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cached, "_SMALL_BYTES", 0)
        for raw in (orjson.dumps(body), json.dumps(body, indent=1).encode()):
            for _ in range(2):  # the second time from memory
                assert redact_json(raw) == wanted


def test_parts_that_are_known_are_not_judged_again_and_keep_no_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    container = {"name": "a", "env": ENV, "image": "registry.example/app:1", "args": ["x" * 10] * 120}
    entry = {"manager": "kubelet", "operation": "Update", "fieldsV1": {"f:status": {"f:phase": {}}}}
    pod = {"kind": "Pod", "metadata": {"name": "p", "managedFields": [entry]}, "spec": {"containers": [container]}}
    redacted_as_by_walking(pod)
    judged: list[Any] = []

    def judge(body: dict[str, Any], parent: str) -> None:
        judged.append({**body})
        clean_fields(body, parent)

    monkeypatch.setattr(cached, "clean_fields", judge)
    for phase in ("Pending", "Running"):
        pod["status"] = {"phase": phase}
        redacted_as_by_walking(pod)
    assert [each for each in judged if each] == [{"phase": "Pending"}, {"phase": "Running"}]
    assert M.encode() not in redact_json(orjson.dumps(pod))


FEW_LETTERS = st.text(alphabet="aeknopstwyAKPST0129 -_./:()'\"", max_size=40)


@given(st.lists(STYLED, min_size=1, max_size=3) | st.lists(FEW_LETTERS, min_size=1, max_size=1))
@examples(150)
def test_ordinary_texts_are_neutral(texts: list[str]) -> None:
    if are_ordinary([_quoted(text) for text in texts]):
        assert [text for text in texts if not is_neutral(text)] == []


def _quoted(text: str) -> bytes:
    """Return a text as it is in JSON, with a quote as an escape of its code."""
    return json.dumps(text).encode()[1:-1].replace(rb"\\", rb"\u005c").replace(rb"\"", rb"\u0022")


@given(st.from_regex(re.compile(unchanged._DIFFERING.decode(), re.ASCII), fullmatch=True))
@examples(25)
def test_times_ids_and_addresses_are_neutral(value: str) -> None:
    for text in (value, f'v:"{value}"', f'k:{{"uid":"{value}"}}', f'k:{{"ip":"{value}"}}'):
        assert is_neutral(text)
        assert text == value or unchanged._KEYS.fullmatch(_quoted(text))


@given(STYLED)
@examples(100)
def test_each_name_of_a_credential_has_telling_letters(name: str) -> None:
    letters = "".join(letter for letter in name.lower() if letter.isalpha())
    if grade(name) is not Grade.PLAIN:
        assert any(piece in letters for piece in telling_letters())


def test_that_a_pod_was_assigned_hides_no_name_of_a_credential() -> None:
    assert are_ordinary([b"Successfully assigned default/web-0 to node-1"])
    for text in ("as-sig: nedhorse99", "a pod assigned as-sig: nedhorse99", "x assigned token: nedhorse99"):
        assert not are_ordinary([text.encode()])
        assert b"nedhorse" not in redact_json(orjson.dumps({"kind": "Event", "note": text}))
    assert [piece for piece in telling_letters() if piece in "assigned" and piece != "sig"] == []


@pytest.mark.parametrize("credential", FORMS.values(), ids=FORMS)
def test_no_credential_is_neutral(credential: str) -> None:
    assert not is_neutral(credential)
    assert not are_ordinary([credential.encode()])
    assert not are_ordinary([f"see {credential} there".encode(), b"x"])


def test_each_fixed_beginning_of_a_form_is_known() -> None:
    assert {"ghp_", "AKIA", "glpat-", "eyJ", "xox", "v1.local.", "sk-ant-"} <= beginnings()


def test_names_are_found_whatever_stands_between_their_letters() -> None:
    for name in ("pass_word", "to-ken", "toks.en", "web0hook", "PassWord", "api/key"):
        assert not are_ordinary([name.encode()])


@pytest.mark.parametrize("text", sampled([*TEXTS.values(), *FORMS.values()], 24))
def test_escapes_hide_nothing(text: str) -> None:
    """Each letter may be written as an escape: `\\u0070assword` is a password."""
    body = {"data": {"a": text}, "password": M}
    escaped = re.sub(r"(?<!\\)[a-z](?=[^\"]*\")", lambda match: f"\\u{ord(match[0]):04x}", json.dumps(body))
    raw = escaped.encode()
    assert json.loads(raw) == body
    assert redact_json(raw) == sorted_bytes(body)


def test_an_ordinary_pod_is_not_walked() -> None:
    token = {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}}
    volume = {"name": "kube-api-access-x7kq2", "projected": {"sources": [token], "defaultMode": 420}}
    pod: dict[str, Any] = {"kind": "Pod", "metadata": {"name": "web-0"}, "spec": {"volumes": [volume]}}
    assert unchanged.is_unchanged(orjson.dumps(pod))
    assert redact(pod) == pod
    pod["spec"]["containers"] = [{"name": "a", "args": ["--password", M]}]
    assert not unchanged.is_unchanged(orjson.dumps(pod))


ENV: list[dict[str, Any]] = [{"name": "A", "value": M}, {"name": "B", "valueFrom": {"secretKeyRef": {"name": "b"}}}]
AROUND: dict[str, Callable[[str, Any], Any]] = {
    "in a container": lambda name, value: {"spec": {"containers": [{"name": "a", name: value}]}},
    "in labels": lambda name, value: {"metadata": {"labels": {name: value}}},
    "in annotations": lambda name, value: {"metadata": {"annotations": {name: value}}},
    "in data": lambda name, value: {"data": {name: value}},
    "in a quota": lambda name, value: {"spec": {"hard": {name: value}}},
    "in managedFields": lambda name, value: {"metadata": {"managedFields": [{"fieldsV1": {"f:a": {name: value}}}]}},
    "in managedFields with a bracket": lambda name, value: {
        "metadata": {"managedFields": [{"fieldsV1": {"]}]": {}, name: value}}]}
    },
    "beside a value": lambda name, value: {"spec": [{"name": "password", "value": {name: value}}]},
    "under a credential": lambda name, value: {"spec": {"credentials": {name: value, "a": "b"}}},
    "in an environment": lambda name, value: {"spec": {"env": {name: value}}},
    "after a quote": lambda name, value: {"spec": {f'a"{name}': value}},
    "twice": lambda name, value: {"spec": [{name: value}, {name: value, "list": ["a", {name: value}]}]},
    "in arguments": lambda name, value: {"spec": {"args": ["-c", {name: value}]}},
}


@pytest.mark.parametrize("around", AROUND)
def test_a_field_is_redacted_by_itself_only_where_it_does_not_matter_what_holds_it(around: str) -> None:
    values: list[Any] = [ENV, {"secretName": "s", "defaultMode": 420}, [{"name": "x"}], {"a": M, "]": "["}, True, M, 7]
    for name in ("env", "secret", "imagePullSecrets", "secure", "instances", "stringData", "token", "auth"):
        for value in (*values, {}, [M]):
            body = {"kind": "Pod", **AROUND[around](name, value)}
            for _ in range(2):  # the second time from memory
                redacted_as_by_walking(body)


def test_what_is_remembered_is_bounded_and_holds_no_credentials() -> None:
    for number in range(3):
        redact_json(orjson.dumps({"kind": "Pod", "spec": {"text": f"password=hunter2-{number}", "token": M}}))
    remembered = b" ".join(unchanged._strings | unchanged._pieces)
    assert b"hunter2" not in remembered and M.encode() not in remembered
    memory = unchanged._Memory()
    for number in range(100_000):
        memory.remember([b"%099d" % number])
    assert sum(map(len, memory)) < 4 << 20


def test_programs_that_take_credentials_are_not_neutral() -> None:
    assert not any(is_neutral(program) or are_ordinary([program.encode()]) for program in commands._OPTIONS)
    assert not any(is_neutral(word) or are_ordinary([word.encode()]) for word in commands._WORDS_BEFORE)


def test_a_name_in_managed_fields_is_redacted_although_it_was_a_text_before() -> None:
    name = json.dumps({"token": M})
    assert M in redact_json(orjson.dumps({"spec": {f'k:{{"x":"{M}"}}': 1, "v:x": 1}})).decode()
    redact_json(orjson.dumps({"metadata": {"name": f"k:{name}"}, "spec": {f"k:{name}": 1, f'v:"{M}"': 1}}))
    entry = {"manager": "m", "fieldsV1": {"f:a": {f"k:{name}": {}}, "f:token": {f'v:"{M}"': {}}}}
    assert M not in redact_json(orjson.dumps({"metadata": {"managedFields": [entry]}})).decode()


@pytest.mark.parametrize("colon", [b":", b" :", b"\n:", b"\t: ", b": "])
def test_white_space_after_the_name_of_managed_fields_hides_nothing(colon: bytes) -> None:
    body = {"metadata": {"managedFields": [{"fieldsV1": {"f:token": {f'v:"{M}"': {}}, "env": ["a=b"]}}]}}
    redacted = redact_json(orjson.dumps(body).replace(b'"managedFields":', b'"managedFields"' + colon))
    assert redacted == sorted_bytes(body) and M.encode() not in redacted


def test_neither_a_comma_before_a_quote_nor_a_field_of_the_same_name_hides_anything() -> None:
    for body in ({"a,": "b", "password": M}, {"a": ",", "b": ",", "password": M}, {"a": '\\,","', "password": M}):
        assert M.encode() not in redacted_as_by_walking(body)
    assert redact_json(b'{"env":' + b'[{"a":' * 140 + b"1" + b"}]" * 140 + b',"env":{}}') == b'{"env":{}}'


@pytest.mark.parametrize("text", ["k:" + "[" * 300 + "]" * 300, 'v:{"a":' + "[" * 300 + "]" * 300 + "}"])
def test_json_that_is_nested_deeply_in_a_text_does_not_keep_its_object_out(text: str) -> None:
    redacted = orjson.loads(redact_json(orjson.dumps({"kind": "Pod", "note": text, "token": M})))
    assert redacted["kind"] == "Pod" and redacted["note"] == text and redacted["token"] != M
    redacted_as_by_walking({"metadata": {"managedFields": [{"fieldsV1": {text: {}}}]}})


def test_a_text_with_deep_json_is_masked_and_its_object_is_kept() -> None:
    text = '{"password":"' + M + '","a":' + "[" * 300 + "]" * 300 + "}"
    redacted = orjson.loads(redact_json(orjson.dumps({"kind": "Pod", "note": text})))
    assert redacted["kind"] == "Pod" and M not in redacted["note"]


def test_many_small_parts_and_long_names_take_bounded_memory() -> None:
    results = cached._Results(lambda raw, _: raw)
    for number in range(50_000):
        results.of(b"1", f"f{number}")
    assert len(results._known) < 12_000
    for number in range(100):
        results.of(b"1", f"{number}" + "f" * 200_000)
    assert len(results._known) < 30

"""These tests check that what only saves time changes nothing: redaction finds the same without it."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.redaction import commands, field_names, forms, redact, redact_json
from collectors.redaction.entries import SHORT
from tests.inputs.credentials import FILES, FORMS, NOTATIONS, SPACED, SPELLINGS, TEXTS, M
from tests.properties import examples

MARKS = ("@", "://", "----", "$", "{", "_", "-", "\n", "\t", ",", "|", "]", " ", ">", "#", '"', "'", "</", "=", ":")
HINTS = (*MARKS, "\\", "：", "eyJ", "&gt;", "%2F", "Secret", "data:", "echo ", "printf ", "htpasswd ", "user ", "AUTH ")
PLANTED = [*TEXTS.values(), *FILES.values(), *FORMS.values(), *SPELLINGS, *SPACED, *HINTS, M, "true", "x"]
PLANTED += [each.format(n=name, x=M) for each in NOTATIONS.values() for name in ("apiKey", "PIN", "密码", "name")]
PLANTED += ["bEaReR ", "bAsIc "]


def test_no_form_is_shorter_than_texts_that_are_not_searched_for_forms() -> None:
    expressions = [*forms._all_tokens(), *forms._TOKENS_BY_HINT.values(), forms._HASHES]
    for expression in expressions:
        for alternative in forms._alternatives(expression):
            shortest, _ = re._parser.parse(alternative).getwidth()  # type: ignore[attr-defined]
            assert shortest >= max(forms._SHORT, field_names.SHORTEST_FORM, SHORT), alternative


@contextmanager
def without_shortcuts() -> Iterator[None]:
    """Turn off everything that only saves time, and what is remembered."""
    with pytest.MonkeyPatch.context() as patched:
        for module in ("text", "forms", "spaced_values", "commands"):
            patched.setattr(f"collectors.redaction.{module}.has", lambda *_: True)
        for known in ("objects._harmless_texts", "objects._harmless_managed", "objects.plain_fields"):
            patched.setattr(f"collectors.redaction.{known}", set())
        patched.setattr("collectors.redaction.field_names.harmless_names", set())
        for module in ("objects", "field_names"):
            patched.setattr(f"collectors.redaction.{module}.remember", lambda *_: None)
        patched.setattr("collectors.redaction.objects._cannot_hold_credential", lambda _: False)
        patched.setattr("collectors.redaction.commands._names_program", lambda _: True)
        everything = set(range(len(commands._PHRASES)))
        patched.setattr("collectors.redaction.commands._phrases_in", lambda _: everything)
        patched.setattr("collectors.redaction.text._SEPARATES", re.compile(""))
        for name in ("forms._SHORT", "field_names.SHORTEST_FORM", "text._RUN_LENGTH"):
            patched.setattr(f"collectors.redaction.{name}", 0)
        yield


def assert_shortcuts_change_nothing(bodies: list[Any]) -> None:
    for body in bodies:
        quick = redact(body)
        with without_shortcuts():
            assert quick == redact(body)
        assert orjson.loads(redact_json(orjson.dumps(body))) == quick


@pytest.mark.parametrize("table", [TEXTS, FILES, FORMS, NOTATIONS], ids=len)
def test_shortcuts_change_nothing_in_what_is_planted(table: dict[str, str]) -> None:
    assert_shortcuts_change_nothing([{text: text, "args": [text]} for text in table.values()])


@given(
    st.lists(st.sampled_from(PLANTED) | st.text(max_size=12), min_size=1, max_size=5),
    st.sampled_from(["", " ", "\n", "=", ": ", '"', "，"]),
)
@examples(25)
def test_shortcuts_change_nothing(pieces: list[str], between: str) -> None:
    text = between.join(pieces)
    tls = {"key": text, "value": text, "name": pieces[0]}
    assert_shortcuts_change_nothing([{"message": text}, {text: {"a": pieces}}, {"tls": tls}])

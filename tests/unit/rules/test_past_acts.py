"""These tests check what a client did on the strength of a past that it saw again."""

import pytest

from tests.unit.rules.test_rules import check_fires

ACTOR = "Actor/cassandra-operator/v0.9 (linux/amd64)"


@pytest.mark.parametrize(
    ("fixture", "severity", "said"),
    [
        ("fires-and-acts-on-the-past", "warning", "it then created Pod db-0 for StatefulSet db, which was gone"),
        ("fires-and-is-refused", "info", "it then tried to update StatefulSet other, which was refused"),
    ],
)
def test_a_return_to_the_past_is_as_grave_as_what_the_client_did_then(fixture: str, severity: str, said: str) -> None:
    # watched from 106 ======   from 102 =   acts   from 107 ===
    (found,) = check_fires(f"view-went-back/{fixture}", ACTOR)
    (once,) = found.occurrences
    assert (found.severity, once.effect_text) == (severity, said)
    assert once.proof[-1].role == "acted on what it saw"

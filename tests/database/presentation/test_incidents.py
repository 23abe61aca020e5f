"""These tests hold what pages say of an incident and its symptoms, and how they count."""

from typing import Any

import pytest

from dashboard.presentation import incidents
from dashboard.presentation.symptoms import named, same_cause, separation, symptoms
from timeline.queries.people.separations import Separation

ANCHOR = {"group": "batch", "kind": "Job", "namespace": "nightly", "name": "shards"}
SYMPTOM: dict[str, Any] = {
    "id": "b" * 16,
    "title": "Job shards got 3 Pods more than it asked for",
    "anchor": ANCHOR,
    "subjects": 4,
    "names": ["a", "b", "c"],
    "findings": 4,
    "occurrences": 1,
    "worst": "c" * 16,
}


def incident(**changed: Any) -> Any:
    """Return what of an incident these functions read."""
    row = {"id": "a" * 16, "source": 3, "severity": "error", "effect": "observed"}
    return {**row, "symptoms": [SYMPTOM, SYMPTOM], "symptoms_total": 2, "findings": 8, **changed}


def test_where_it_happened_names_one_object_or_counts_several() -> None:
    other = {**SYMPTOM, "anchor": {**ANCHOR, "name": "paused"}}
    lease = {**SYMPTOM, "anchor": {**ANCHOR, "kind": "Lease"}}
    for symptoms_, total, spaces, words in (
        ([SYMPTOM, SYMPTOM], 2, ["nightly"], "nightly / Job shards"),
        ([SYMPTOM, other], 2, ["a", "b", "c"], "a, b and 1 more / 2 Jobs"),
        ([SYMPTOM, lease], 9, ["", "nightly"], "nightly / at least 2 objects"),
    ):
        given = incident(anchor=ANCHOR, symptoms=symptoms_, symptoms_total=total, anchored_in=spaces)
        assert incidents.where(given) == words


def test_counts_are_written_alike() -> None:
    counts = {"total": 1, "symptoms": 9, "findings": 40}
    noted = {"acknowledged": 0, "acknowledged_symptoms": 4, "acknowledged_findings": 10}
    listed: Any = {**counts, **noted}
    assert incidents.summary(listed) == "1 incident · 13 symptoms · 50 findings"
    assert incidents.numbers_of_all(2, 2, 1) == "2 incidents · 2 symptoms · 1 finding"
    assert incidents.without_harm(0, 3) == ""
    assert incidents.without_harm(3, 1) == "3 more without harm"
    assert incidents.without_harm(3, 0) == "3 without harm"


def test_symptoms_are_folded_where_there_are_several() -> None:
    shown = symptoms(incident(symptoms_total=22))
    assert (shown.numbers, shown.more) == ("22 symptoms · 8 findings", 20)
    row = shown.rows[0]
    assert (row.url, row.where) == (f"/sources/3/findings/{'c' * 16}/", "nightly / Job shards")
    assert (row.names, row.numbers) == ("a, b, c and 1 more", "1 occurrence · 4 findings")
    alone = symptoms(incident(symptoms=[SYMPTOM], symptoms_total=1))
    assert (alone.rows, alone.more, alone.numbers) == ([], 0, "1 symptom · 8 findings")
    assert named(["a"], 1) == "a"
    assert same_cause([("Job", 5), ("ReplicaSet", 1)]) == "5 other Jobs and 1 other ReplicaSet"
    assert same_cause([]) == ""


@pytest.mark.parametrize(
    ("severity", "effect", "harms"),
    [
        ("error", "observed", True),
        ("warning", "possible", True),
        ("warning", "none", False),
        ("info", "possible", False),
    ],
)
def test_only_what_does_harm_is_marked_as_ongoing(severity: str, effect: str, harms: bool) -> None:
    assert incidents.harms(incident(severity=severity, effect=effect)) is harms


def test_a_separation_names_the_incident_that_the_page_does_not_show() -> None:
    said = Separation("a" * 16, "Of one cause", "b" * 16, "Of another", "ada", "2026-11-22T05:02:11.000000Z")
    here = separation(said, incident())
    assert (here.other, here.title, here.out, here.said) == ("b" * 16, "Of another", True, "ada, 2026-11-22 05:02 UTC")
    there = separation(said._replace(by=""), incident(id="b" * 16))
    assert (there.other, there.title, there.out) == ("a" * 16, "Of one cause", False)
    assert there.said.startswith("somebody, ")
    assert separation(said._replace(symptom_title=""), incident()).title == "an incident that is gone"

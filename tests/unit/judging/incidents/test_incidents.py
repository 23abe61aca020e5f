"""Incidents: what belongs to one, and what it is called."""

from collections.abc import Iterable
from functools import cache
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from collectors.analysis import Analysis, analyse
from collectors.formats import Limits
from tests.inputs.recordings import SAMPLE
from timeline.history.lifelines import Name
from timeline.judge import rulebook
from timeline.judging.incidents.subjects import identity, title
from timeline.payloads.incidents.symptoms import Part, Symptom, parts_of, payload, symptoms_of

RING = Name("", "Service", "vol-restart", "ring")


@cache
def analysed() -> Analysis:
    return analyse([(SAMPLE, SAMPLE.name)], Limits())


def expected() -> list[Any]:
    return symptoms_of(parts_of(analysed().findings), rulebook())


def shown(symptoms: Iterable[Symptom]) -> list[Any]:
    return sorted((payload(each) for each in symptoms), key=lambda each: each["id"])


def test_every_rule_can_name_its_incidents() -> None:
    for rule in rulebook():
        several = title(rule.incident, RING, ["Pod"], 2, "Pod a", 2, 3)
        assert "{" not in several
        assert several[0].isupper() or several[0].isdigit()


def test_a_title_counts_subjects_of_one_kind_and_names_a_single_one() -> None:
    template = "{anchor} was away under {subjects}{times}"
    assert title(template, RING, ["Pod"], 1, "Pod a", 1, 1) == "Service ring was away under Pod a"
    assert title(template, RING, ["Pod"], 2, "Pod a", 2, 2) == "Service ring was away under 2 Pods, 2 times"
    assert title(template, RING, ["Pod", "Job"], 2, "Pod a", 2, 1) == "Service ring was away under 2 objects"


def test_what_happened_to_several_pods_of_one_service_is_one_incident() -> None:
    gap, *others = [each for each in expected() if each.rule == "service-gap"]
    assert not others
    assert gap.title == "Service ring was away under 3 Pods, 2 times"
    assert (gap.gravest.severity, gap.subjects, len(gap.findings), len(gap.times), gap.open) == (
        "warning",
        3,
        3,
        2,
        False,
    )
    assert gap.names == ["ring-steady-0", "ring-steady-1", "ring-steady-2"]
    assert gap.id == identity("service-gap", RING)
    ongoing = {each.rule for each in expected() if each.open}  # when the recording ended
    assert ongoing == {"lease-shared-config"}


def test_an_object_that_is_created_again_stays_in_its_incident() -> None:
    found = next(each for each in analysed().findings if each.rule == "service-gap")
    again = replace(found, subject=replace(found.subject, uid="another"))
    assert again.id != found.id
    (incident,) = symptoms_of(parts_of([found, again]), rulebook())
    assert (incident.subjects, len(incident.findings)) == (2, 2)


@given(st.data())
def test_findings_that_come_and_go_leave_no_trace_whatever_their_order(data: st.DataObject) -> None:
    """A live source adds findings to its incidents and removes them one by one; a recording gathers all at once."""
    parts: list[Part] = data.draw(st.permutations(list(parts_of(analysed().findings))))
    gone = parts[: data.draw(st.integers(0, len(parts)))]
    assert shown(symptoms_of(parts, rulebook())) == shown(expected())
    symptoms: dict[tuple[str, Name], Symptom] = {}
    templates = {rule.id: rule.incident for rule in rulebook()}
    for each in [*parts, *(each._replace(severity="error", name="other") for each in gone), *gone]:
        about = symptoms.setdefault((each.rule, each.anchor), Symptom(each.rule, each.anchor, templates[each.rule]))
        about.put([each])
    assert shown(symptoms.values()) == shown(expected())
    for each in gone:
        symptoms[each.rule, each.anchor].remove(each.id)
    rest = symptoms_of(parts[len(gone) :], rulebook())
    assert shown(each for each in symptoms.values() if each) == shown(rest)

"""Incidents: what belongs to one, and what it is called."""

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
from timeline.payloads.incidents.making import incident_of, incidents_of, parts_of
from timeline.payloads.incidents.members import Members, Part

RING = Name("", "Service", "vol-restart", "ring")


@cache
def analysed() -> Analysis:
    return analyse([(SAMPLE, SAMPLE.name)], Limits())


def expected() -> list[Any]:
    return incidents_of(parts_of(analysed().findings), rulebook())


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
    gap, *others = [each for each in analysed().incidents() if each.rule == "service-gap"]
    assert not others
    assert gap.title == "Service ring was away under 3 Pods, 2 times"
    assert (gap.severity, gap.subjects, len(gap.findings), len(gap.times), gap.open) == ("warning", 3, 3, 2, False)
    assert gap.names == ["ring-steady-0", "ring-steady-1", "ring-steady-2"]
    assert gap.id == identity("service-gap", RING)
    ongoing = {each.rule for each in analysed().incidents() if each.open}  # when the recording ended
    assert ongoing == {"lease-shared-config"}


def test_an_object_that_is_created_again_stays_in_its_incident() -> None:
    found = next(each for each in analysed().findings if each.rule == "service-gap")
    again = replace(found, subject=replace(found.subject, uid="another"))
    assert again.id != found.id
    (incident,) = incidents_of(parts_of([found, again]), rulebook())
    assert (incident.subjects, len(incident.findings)) == (2, 2)


@given(st.data())
def test_findings_that_come_and_go_leave_no_trace_whatever_their_order(data: st.DataObject) -> None:
    """A live source adds findings to its incidents and removes them one by one; a recording gathers all at once."""
    parts: list[Part] = data.draw(st.permutations(list(parts_of(analysed().findings))))
    gone = parts[: data.draw(st.integers(0, len(parts)))]
    assert incidents_of(parts, rulebook()) == expected()
    members: dict[tuple[str, Name], Members] = {}
    templates = {rule.id: rule.incident for rule in rulebook()}
    for each in [*parts, *(each._replace(severity="error", name="other") for each in gone), *gone]:
        about = members.setdefault((each.rule, each.anchor), Members(each.rule, each.anchor, templates[each.rule]))
        about.put([each])
    assert sorted(map(incident_of, members.values())) == sorted(expected())
    for each in gone:
        members[each.rule, each.anchor].remove(each.id)
    rest = incidents_of(parts[len(gone) :], rulebook())
    assert sorted(incident_of(each) for each in members.values() if each) == sorted(rest)

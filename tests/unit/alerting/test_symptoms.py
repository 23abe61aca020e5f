"""These tests hold what routes do about the symptoms of incidents, and about incidents that become symptoms."""

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dashboard.alerting.routing import Rule
from tests.properties import examples
from tests.unit.alerting.test_routing import HOUR, MINUTE, RULES, SECOND, START, World, incident, reported, route


def test_a_route_matches_any_symptom_that_no_silence_takes_out() -> None:
    symptoms = (("service-gap", "shop", "train"), ("stale-view", "bank", "report"))
    matching: tuple[dict[str, Any], ...] = (
        {"rule": "stale-view"},
        {"namespace": "bank"},
        {"owner": "rep*"},
        {"rule": "service-gap"},
    )
    for values in matching:
        assert World(route(**values)).then(incident(symptoms=symptoms)) == ["a began"]
    assert World(route(rule="stale-view")).then(incident(symptoms=symptoms[:1])) == []
    crossed = route(rule="service-gap", namespace="bank")  # no symptom is both
    assert World(crossed).then(incident(symptoms=symptoms)) == []


def test_symptoms_that_come_within_the_wait_are_one_message_and_later_ones_ring_only_if_it_gets_worse() -> None:
    world = World(route(repeat=4 * HOUR))
    several = tuple(("service-gap", "shop", f"train-{number}") for number in range(5))
    for number in range(1, 4):
        world.put(incident(rank=1, symptoms=several[:number]))
        world.ask(11 * SECOND)
    assert reported(world.ask(11 * SECOND)) == ["a began"]
    assert world.then(incident(rank=1, symptoms=several, last=world.now), length=HOUR) == []
    assert world.then(incident(rank=0, symptoms=several, last=world.now)) == ["a worse"]
    assert world.then(incident(rank=0, symptoms=several, ongoing=False, last=world.now)) == ["a over"]
    world.now += 4 * HOUR
    assert world.then(incident(rank=0, symptoms=several, last=world.now)) == ["a began"]


def test_what_becomes_part_of_another_incident_neither_ends_nor_begins() -> None:
    world = World(route())
    assert world.then(incident("a", rank=1), incident("b", rank=0)) == ["a began", "b began"]
    world.join("ab", incident("root", rank=0))
    assert world.until(HOUR) == []
    assert world.then(incident("root", rank=0, ongoing=False)) == ["root over"]


def test_what_waits_to_be_sent_goes_on_waiting_as_a_part_of_another_incident() -> None:
    world = World(route())
    world.put(incident("a"))
    world.ask()
    world.ask(20 * SECOND)
    world.join("a", incident("root"))
    assert reported(world.ask(9 * SECOND)) == []
    assert reported(world.ask(SECOND)) == ["root began"]


def test_of_a_recording_nothing_is_sent_again_that_is_part_of_another_incident() -> None:
    world = World(route(recordings=True))
    recorded = incident("a", live=False, imported=START, last=START - 99 * HOUR)
    assert world.then(recorded) == ["a began"]
    world.join("a", replace(recorded, identity="root", last=START - 98 * HOUR))
    assert world.until(48 * HOUR, HOUR) == []


PARTS = st.lists(
    st.tuples(st.booleans(), st.integers(0, 2), st.integers(0, 300)),  # ongoing, rank, seconds until the next one
    min_size=1,
    max_size=6,
)


@given(RULES, PARTS)
@examples(20)
def test_no_route_sends_more_beginnings_than_incidents_that_people_see(
    rule: Rule, parts: list[tuple[bool, int, int]]
) -> None:
    world, names = World(rule), [str(number) for number in range(len(parts))]
    for name, (ongoing, rank, seconds) in zip(names, parts, strict=True):
        world.put(incident(name, rank=rank, ongoing=ongoing, last=world.now))
        world.ask(seconds * SECOND)
    goes_on = any(state.begun for state in world.states.values())
    whole = incident("root", rank=min(rank for _, rank, _ in parts), last=world.now)
    world.join(names, whole)
    sent = [each for each in world.until(9 * MINUTE) if each != "root again"]
    assert sent in ([], ["root worse"]) if goes_on else sent in ([], ["root worse"], ["root began"])
    assert not sent or whole.rank <= rule.rank
    world.put(replace(whole, ongoing=False))
    assert world.until(3 * HOUR).count("root over") <= 1
    assert not any(state.begun for state in world.states.values())

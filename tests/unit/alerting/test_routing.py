"""These tests hold the decision which incidents routes tell: pure, with time as an argument."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, time, timedelta
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.alerting.routing import Decision, Group, Key, Notification, Now, Quiet, Rule, State, decide, joined
from tests.properties import examples

START = datetime(2026, 11, 23, 12, 0, tzinfo=UTC)  # a Monday
SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)


def incident(identity: str = "a", **values: object) -> Now:
    given = {"live": True, "rank": 0, "ongoing": True, "last": START}
    named = {"namespace": "shop", "owner": "train", "rule": "service-gap"}
    return Now(1, identity, 1, **{**given, **named, **values})  # type: ignore[arg-type]


def route(number: int = 1, **values: object) -> Rule:
    return Rule(number, START - HOUR, **values)  # type: ignore[arg-type]


class World:
    """This class asks the routes again and again, as the task does, and keeps what they know."""

    def __init__(self, *rules: Rule) -> None:
        self.rules, self.now = rules, START
        self.incidents: dict[Key, Now] = {}
        self.states: dict[tuple[int, Key], State] = {}
        self.sent: list[tuple[datetime, Group]] = []
        self.noticed: set[Key] = set()

    def put(self, *changed: Now) -> None:
        self.incidents |= {each.key: each for each in changed}
        self.noticed |= {each.key for each in changed}

    def decide(self) -> Decision:
        return decide(self.rules, self.states, self.incidents, self.noticed, self.now)

    def ask(self, after: timedelta = timedelta()) -> list[Group]:
        self.now += after
        decision = self.decide()
        self.states |= decision.states
        for pair in decision.forgotten:
            del self.states[pair]
        self.noticed = set()
        self.sent += [(self.now, group) for group in decision.groups]
        return decision.groups

    def until(self, length: timedelta, every: timedelta = MINUTE) -> list[str]:
        """Ask for so long, and return what is reported in this time."""
        end, before = self.now + length, len(self.sent)
        while self.now < end:
            self.ask(every)
        return reported(group for _, group in self.sent[before:])

    def then(self, *changed: Now, length: timedelta = MINUTE) -> list[str]:
        """Return what is reported in this time after these changes, which is asked for often."""
        self.put(*changed)
        return self.until(length, 5 * SECOND if length <= 2 * MINUTE else MINUTE)

    def join(self, identities: Iterable[str], into: Now) -> None:
        """Let incidents be a part of another one from now on."""
        for identity in {*identities} - {into.identity}:
            self.incidents.pop((1, identity), None)
        for rule in self.rules:
            keys = [
                key for key in ((1, each) for each in {*identities, into.identity}) if (rule.route, key) in self.states
            ]
            if keys:
                found = {key[1]: self.states.pop((rule.route, key)) for key in keys}
                self.states[rule.route, into.key] = joined(found, into)[1]
        self.put(into)

    @property
    def notifications(self) -> list[Notification]:
        return [each for _, group in self.sent for each in group.notifications]


def reported(groups: Iterable[Group]) -> list[str]:
    return [
        f"{each.key[1]} {'again' if each.again else each.change}"
        for group in groups
        for each in group.notifications
        if not group.refresh
    ]


def test_an_incident_is_reported_after_the_wait_and_once_when_it_is_over() -> None:
    world = World(route())
    world.put(incident())
    assert world.ask() == world.ask(29 * SECOND) == []
    assert reported(world.ask(SECOND)) == ["a began"]
    assert world.until(HOUR) == []
    assert world.then(incident(ongoing=False), length=HOUR) == ["a over"]
    assert world.until(26 * HOUR) == []
    assert world.states == {}


def test_what_gets_worse_within_the_wait_is_reported_once_and_later_once_more() -> None:
    world = World(route())
    world.put(incident(rank=1))
    world.ask(10 * SECOND)
    world.put(incident(rank=0))
    world.ask(40 * SECOND)
    assert world.notifications == [Notification((1, "a"), "began", 0)]
    assert world.then(incident("b", rank=1)) == ["b began"]
    world.then(incident("b", rank=0))
    assert world.sent[-1][1].notifications == [Notification((1, "b"), "worse", 0, was=1)]
    assert world.until(HOUR) == []


def test_what_gets_milder_stays_as_severe_as_it_was_reported() -> None:
    world = World(route(repeat=HOUR))
    world.then(incident(rank=0))
    world.then(incident(rank=2), length=61 * MINUTE)
    world.then(incident(rank=2, ongoing=False))
    assert [(each.change, each.rank) for each in world.notifications] == [("began", 0), ("began", 0), ("over", 0)]


def test_incidents_of_one_group_are_reported_together_and_others_apart() -> None:
    world = World(route(grouping=("namespace",)))
    world.put(incident("a"))
    world.ask(20 * SECOND)
    world.then(incident("b"), incident("c", namespace="bank"))
    assert [(group.group, reported([group])) for _, group in world.sent] == [
        (("namespace=shop",), ["a began", "b began"]),
        (("namespace=bank",), ["c began"]),
    ]


def test_what_goes_on_is_reported_again_unless_somebody_knows_of_it() -> None:
    world = World(route(repeat=HOUR))
    world.then(incident("a"), incident("b"))
    assert world.then(incident("b", acknowledged=True), length=61 * MINUTE) == ["a again"]
    assert world.then(incident("a", held=True), incident("b", acknowledged=True), length=3 * HOUR) == []
    ends = incident("a", ongoing=False, held=True), incident("b", ongoing=False, acknowledged=True)
    assert world.then(*ends, length=HOUR) == ["a over", "b over"]


def test_flapping_is_reported_at_most_once_in_the_repeat_interval() -> None:
    world = World(route(repeat=HOUR))
    for turn in range(24):
        world.then(incident(last=world.now, ongoing=turn % 2 == 0), length=10 * MINUTE)
    begun = [at for at, group in world.sent if reported([group]) == ["a began"]]
    assert len(begun) > 1
    assert all(later - earlier >= HOUR for earlier, later in pairwise(begun))


def test_what_came_and_went_while_nobody_asked_is_reported() -> None:
    over = incident(ongoing=False, last=START - 20 * MINUTE)
    assert World(route()).then(over, length=2 * MINUTE) == ["a began", "a over"]


@pytest.mark.parametrize(
    "old", [incident(ongoing=False, last=START - 2 * HOUR), incident(live=False, imported=START - 2 * HOUR)]
)
def test_what_was_over_before_the_route_was_made_is_not_reported(old: Now) -> None:
    assert World(route(recordings=True)).then(old) == []


@pytest.mark.parametrize("recordings", [True, False])
def test_a_recording_is_reported_only_by_routes_that_ask_for_it_and_once(recordings: bool) -> None:
    world, recorded = World(route(recordings=recordings)), incident(live=False, imported=START, last=START - 999 * HOUR)
    assert world.then(recorded) == ["a began"] * recordings
    assert world.until(48 * HOUR, HOUR) == []
    assert world.then(recorded) == []  # it was judged again


def test_a_silence_that_ends_while_an_incident_goes_on_lets_it_be_reported() -> None:
    world = World(route())
    assert world.then(incident("a", held=True), incident("b", held=True), length=HOUR) == []
    world.incidents |= {(1, "a"): incident("a"), (1, "b"): incident("b", held=True, ongoing=False)}
    assert world.until(HOUR) == ["a began"]


NIGHT = Quiet(frozenset({0}), time(13, 30), time(8, 0), ZoneInfo("Europe/Berlin"))  # 12:30 to 7:00 UTC


def test_quiet_hours_hold_back_what_still_goes_on_after_them() -> None:
    world = World(route(quiet=NIGHT))
    assert world.then(incident("a")) == ["a began"]
    world.ask(HOUR)
    assert world.then(incident("a", ongoing=False), incident("b"), incident("c"), length=HOUR) == []
    assert world.then(incident("c", ongoing=False), length=16 * HOUR) == []
    assert world.until(HOUR) == ["a over", "b began"]


@pytest.mark.parametrize(
    ("at", "quiet"), [("12:29", False), ("12:30", True), ("23:59", True), ("30:59", True), ("31:00", False)]
)
def test_quiet_hours_are_in_their_time_zone(at: str, quiet: bool) -> None:
    hours, minutes = map(int, at.split(":"))
    assert NIGHT.covers(START - 12 * HOUR + hours * HOUR + minutes * MINUTE) == quiet


@pytest.mark.parametrize(
    ("values", "matches"),
    [
        ({}, True),
        ({"rank": 1}, True),
        ({"cluster": 1}, True),
        ({"cluster": 2}, False),
        ({"rule": "service-gap"}, True),
        ({"rule": "lease-stolen"}, False),
        ({"namespace": "bank"}, False),
        ({"owner": "tr*"}, True),
        ({"owner": "[t]rain"}, False),
        ({"owner": "ship-*"}, False),
        ({"changes": frozenset({"over"})}, False),
    ],
)
def test_what_a_route_matches(values: dict[str, Any], matches: bool) -> None:
    assert World(route(**values)).then(incident(rank=1)) == ["a began"] * matches


def test_an_incident_below_the_severity_is_reported_when_it_gets_worse() -> None:
    world = World(route(rank=0))
    assert world.then(incident(rank=1), length=HOUR) == []
    assert world.then(incident(rank=0)) == ["a worse"]
    assert world.then(incident(rank=0, ongoing=False)) == ["a over"]


def test_a_route_can_keep_what_it_takes_from_those_after_it() -> None:
    world = World(route(1, rank=0, stop=True), route(2))
    world.then(incident("a", rank=0), incident("b", rank=1))
    assert [(group.route, reported([group])) for _, group in world.sent] == [(1, ["a began"]), (2, ["b began"])]


def test_a_destination_that_forgets_hears_what_goes_on_even_if_somebody_knows_of_it() -> None:
    world = World(route(refresh=5 * MINUTE))
    world.then(incident("a"))
    world.then(incident("a", acknowledged=True), length=21 * MINUTE)
    assert [group.refresh for _, group in world.sent] == [False, *[True] * 4]


def test_what_is_gone_and_what_is_not_watched_any_more_is_reported_once() -> None:
    world = World(route())
    world.then(incident("a"), incident("b"))
    del world.incidents[1, "a"]
    assert world.then(incident("b", live=False), length=HOUR) == ["a over", "b over"]
    assert [each.unwatched for each in world.notifications if each.change == "over"] == [False, True]
    assert world.then(incident("b", live=False), length=30 * HOUR) == []


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["a", "b"]),
        st.sampled_from(["happens", "ends", "worse", "held", "acknowledged", "gone"]),
        st.integers(0, 400),  # seconds until the next step
        st.booleans(),  # whether a process dies before it commits
    ),
    max_size=25,
)
RULES = st.builds(
    Rule,
    st.just(1),
    st.just(START - HOUR),
    rank=st.sampled_from([0, 1, 2]),
    wait=st.sampled_from([timedelta(), 30 * SECOND, 5 * MINUTE]),
    repeat=st.sampled_from([10 * MINUTE, HOUR]),
    refresh=st.sampled_from([None, 5 * MINUTE]),
    grouping=st.sampled_from([(), ("rule",), ("owner",)]),
)


@given(RULES, STEPS)
@examples(20)
def test_whatever_happens_and_dies_each_is_reported_once_as_begun_and_once_as_over(
    rule: Rule, steps: list[tuple[str, str, int, bool]]
) -> None:
    world = World(rule)
    for identity, act, seconds, dies in steps:
        now = world.incidents.get((1, identity)) or incident(identity, rank=2, last=world.now)
        happens = replace(now, ongoing=True, last=world.now)
        changed = {
            "happens": happens,
            "ends": replace(now, ongoing=False),
            "worse": replace(happens, rank=max(0, now.rank - 1), acknowledged=False),
            "held": replace(now, held=not now.held),
            "acknowledged": replace(now, acknowledged=True),
        }
        if act == "gone":
            world.incidents.pop((1, identity), None)
        else:
            world.put(changed[act])
        if dies:  # a decision that is not committed has no effect, and is made again
            world.decide()
        world.ask()
        world.now += seconds * SECOND
    world.then(*(replace(each, ongoing=False) for each in world.incidents.values()), length=3 * HOUR)
    check(world, rule)


def check(world: World, rule: Rule) -> None:
    for identity in "ab":
        mine = [
            (at, each)
            for at, group in world.sent
            for each in group.notifications
            if each.key[1] == identity and not group.refresh
        ]
        begun, last = False, None
        for at, each in mine:
            match each.change:
                case "began" if each.again:
                    assert begun and last and at - last >= rule.repeat / 2
                case "began":
                    assert not begun, "it was reported as begun twice"
                    assert each.rank <= rule.rank
                    begun, last = True, at
                case "worse":
                    assert each.rank <= rule.rank
                    begun, last = True, at
                case "over":
                    assert begun, "the end was reported of what was not reported as begun"
                    begun = False
        assert not begun, "nobody was notified that it is over"


@given(STEPS)
@examples(20)
def test_nothing_that_nobody_knows_of_is_lost(steps: list[tuple[str, str, int, bool]]) -> None:
    """However seldom a route is asked, an incident that nobody has silenced or acknowledged is reported."""
    world = World(route(rank=2, repeat=10 * MINUTE))
    happened = set()
    for identity, act, seconds, asked in steps:
        if act in ("happens", "ends"):
            ongoing = act == "happens"
            world.put(incident(identity, ongoing=ongoing, last=world.now))
            happened.add(identity)
        if asked:
            world.ask()
        world.now += seconds * SECOND
    world.until(HOUR)
    assert {each.key[1] for each in world.notifications} == happened

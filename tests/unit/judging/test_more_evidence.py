"""These tests add evidence to watches: an audit log at level Metadata, or a part of it, leaves each finding of the
watches as certain and as severe as it was."""

import random
from collections.abc import Iterable, Sequence
from functools import cache

import pytest
from hypothesis import Phase, given
from hypothesis import strategies as st

from tests.inputs import mutations
from tests.inputs.mutations import Log
from tests.inputs.recordings import findings_of, world_of
from tests.properties import examples
from tests.unit.history.test_joins import PAIRS, bare, read, shown
from tests.unit.judging.logs import at_level, rules_of
from tests.unit.judging.test_engine import WATCHES, log, read_logs, watched
from timeline.core.entries import Observation
from timeline.history.lifelines import name_of
from timeline.judging.findings import Finding
from timeline.judging.verdicts import Verdict
from timeline.kinds import resource_of

names = pytest.mark.parametrize("name", WATCHES)
SURENESS = [Verdict.INCONCLUSIVE, Verdict.BOUNDED, Verdict.EXACT]
SEVERITY = ["info", "warning", "error"]


def metadata(name: str) -> Log:
    return at_level("Metadata", log(name))


@cache
def watch_alone(name: str) -> dict[str, Finding]:
    found = found_in(watched(name))
    assert found
    return found


def found_in(entries: Iterable[Observation]) -> dict[str, Finding]:
    return {each.id: each for each in findings_of(world_of(entries))}


def assert_nothing_less(before: dict[str, Finding], after: dict[str, Finding]) -> None:
    for key, each in before.items():
        now = after.get(key)
        assert now, f"{each.rule}: {each.summary}"
        assert SURENESS.index(now.verdict) >= SURENESS.index(each.verdict), each.summary
        assert SEVERITY.index(now.severity) >= SEVERITY.index(each.severity), each.summary


@names
def test_a_log_beside_watches_takes_nothing_away_and_without_bodies_it_adds_no_alarm(name: str) -> None:
    bare, whole = (
        found_in([*watched(name), *read_logs([at_level(level, log(name))])])
        for level in ("Metadata", "RequestResponse")
    )
    assert_nothing_less(watch_alone(name), bare)
    assert_nothing_less(watch_alone(name), whole)
    assert {each.id for each in bare.values() if each.severity != "info"} <= whole.keys()


def by_names(entries: Sequence[Observation]) -> dict[object, tuple[int, int]]:
    """Return how sure and how severe the findings about each object are. Not every line of a log has UIDs."""
    found: dict[object, tuple[int, int]] = {}
    for each in found_in(entries).values():
        key = each.rule, name_of(each.subject), each.other and name_of(each.other)
        sure, grave = SURENESS.index(each.verdict), SEVERITY.index(each.severity)
        known = found.get(key, (0, 0))
        found[key] = max(sure, known[0]), max(grave, known[1])
    return found


@pytest.mark.parametrize("name", [*WATCHES, *PAIRS])
def test_both_find_what_either_finds_and_are_as_sure(name: str) -> None:
    log_alone: Sequence[Observation] = bare(name) if name in PAIRS else read(log(name))
    watch_alone: Sequence[Observation] = shown(name) if name in PAIRS else watched(name)
    both = by_names([*log_alone, *watch_alone])
    assert len(both) >= 5
    for alone in by_names(log_alone), by_names(watch_alone):
        for key, known in alone.items():
            assert key in both and all(now >= before for now, before in zip(both[key], known, strict=True)), key


@examples(3, phases=[Phase.reuse, Phase.generate])
@given(name=st.sampled_from(sorted(WATCHES)), seed=st.integers(0, 2**32), share=st.sampled_from([0.05, 0.3, 0.8]))
def test_a_part_of_such_a_log_takes_nothing_away(name: str, seed: int, share: float) -> None:
    chance = random.Random(seed)
    events = mutations.lost(metadata(name), chance, share)
    cut = chance.randrange(len(events))
    events = chance.choice([events, events[cut:], events[:cut]])
    entries = [*watched(name), *read_logs([events])]
    assert_nothing_less(watch_alone(name), found_in(chance.sample(entries, len(entries))))


@names
def test_the_coverage_tells_of_the_watches(name: str) -> None:
    """A log that tells of objects of a watched kind where no watch shows any tells how much is missing, so these lines
    are left out here."""
    shown = {(resource_of(each.ref.kind), each.ref.namespace) for each in watched(name)}
    kinds = {kind for kind, _ in shown}
    here = [
        event
        for event in metadata(name)
        if mutations.kind(event) not in kinds or (mutations.kind(event), mutations.namespace(event)) in shown
    ]
    alone, both = world_of(watched(name)), world_of([*watched(name), *read_logs([here])])
    verdicts, answers = ["not", "inconclusive", "bounded", "exact"], ["cannot", "part", "can"]
    before, after = rules_of(alone), rules_of(both)
    for rule, each in before.items():
        assert verdicts.index(after[rule].verdict) >= verdicts.index(each.verdict), (rule, after[rule].why)
        assert answers.index(after[rule].answer) >= answers.index(each.answer), (rule, after[rule].why)

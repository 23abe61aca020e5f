"""These tests check what worlds make of times of which retention has deleted the changes."""

import random

from tests import ENGINE
from tests.inputs.live import observations
from tests.inputs.recordings import findings_of, world_of
from timeline.core.entries import Mark, MarkType, Observation
from timeline.history.freed import Freed


def test_spans_are_joined_in_any_order() -> None:
    added = [(10, 20), (20, 30), (50, 60), (15, 18), (40, 51), (70, 70), (90, 80)]
    for seed in range(20):
        spans = Freed()
        for since, until in random.Random(seed).sample(added, len(added)):
            spans.add(since, until)
        assert spans.spans == [(10, 30), (40, 60)] and not spans.add(12, 30) and spans
    over = {
        each: spans.overlaps(*each) for each in ((0, 10), (30, 40), (30, 30), (10, 10), (29, 29), (0, 11), (39, 41))
    }
    assert [each for each, overlaps in over.items() if overlaps] == [(29, 29), (0, 11), (39, 41)]


def test_no_rule_judges_what_goes_on_while_a_span_was_freed() -> None:
    observed: list[Observation] = observations(ENGINE / "families-watch")
    found = findings_of(world_of(observed))
    judged = {finding.id: finding for finding in found}
    occurrences = [each for finding in found for each in finding.occurrences]
    times = [each for occurrence in occurrences for each in (occurrence.first, occurrence.last)]
    middle = sorted(times)[len(times) // 2]
    mark = Mark("", "", "", MarkType.FREED, middle + 1, since=middle - 1)
    for seed in range(3):
        mixed = random.Random(seed).sample([*observed, mark], len(observed) + 1)
        left = findings_of(world_of(mixed))
        assert {finding.id for finding in left} < judged.keys()
        assert not any(each.first < middle + 1 and middle - 1 < each.last for one in left for each in one.occurrences)

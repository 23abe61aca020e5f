"""Judge the tracks of a recording with several processes, since one judgement does not depend on another.

Each process is a copy of this one, so it knows the whole world without being sent it; it answers with its findings,
which are few.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial

from timeline.core.machine import beside
from timeline.history.lifelines import Key, Track
from timeline.history.world.world import World
from timeline.judge import in_order, judged, judged_untracked
from timeline.judging.findings import Finding

Failures = Mapping[tuple[str, Key | None], str]  # as `World.failures`
_FEWEST = 4_000  # tracks; copying the process takes longer than judging fewer
_PART = 200  # tracks that a process judges in a row: children of one owner follow each other, and share answers


def judge_all(world: World, tracks: Sequence[Track], processes: int) -> list[Finding]:
    """Judge these tracks of a world, and what has no track, with at most so many processes.

    The findings are those of `timeline.judge.judge`, in the same order. What no copy of the process answers is judged
    by this one.
    """
    parts = [tracks[at : at + _PART] for at in range(0, len(tracks), _PART)]
    if len(tracks) < _FEWEST:
        processes = 1
    if processes > 1:
        _ = world.completeness  # computed once, before the process is copied
    found: list[list[Finding]] = [[] for _ in parts]
    with ExitStack() as copies:
        answers = [
            copies.enter_context(beside.computed(partial(_all_judged, world, parts[number::processes])))
            for number in range(1, processes)
        ]
        found[0::processes] = [_judged(world, part) for part in parts[0::processes]]
        for number, answer in enumerate(answers, 1):
            try:
                found[number::processes], failures = next(answer)
                world.failures.update(failures)
            except beside.Broken:
                found[number::processes] = [_judged(world, part) for part in parts[number::processes]]
    return in_order([finding for of_part in found for finding in of_part], judged_untracked(world))


def _judged(world: World, part: Sequence[Track]) -> list[Finding]:
    return [finding for findings in judged(world, part).values() for finding in findings]


def _all_judged(world: World, parts: Sequence[Sequence[Track]]) -> Iterator[tuple[list[list[Finding]], Failures]]:
    """Yield, at once, the findings about each part, and what failed: a copy of the process would wait if it sent them
    one by one."""
    yield [_judged(world, part) for part in parts], world.failures

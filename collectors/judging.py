"""This module judges the tracks of a recording with several processes, since one judgement does not depend on another.

Each process is a copy of this one, so it knows the whole world without being told; it answers with its findings, which
are few.
"""

import os
import pickle
import threading
from collections.abc import Sequence
from contextlib import suppress

from timeline.history.lifelines import Track
from timeline.history.world import World
from timeline.judge import in_order, judged, judged_untracked
from timeline.judging.findings import Finding

_FEWEST = 4_000  # tracks; copying the process takes longer than judging fewer
_PART = 200  # tracks that a process judges in a row: children of one owner follow each other, and share answers


def judge_all(world: World, processes: int) -> list[Finding]:
    """Judge all tracks of a world, and what has no track, with at most so many processes.

    The findings are those of `timeline.judge.judge`, in the same order. Other threads may hold locks that a copy of the
    process would wait for, so with other threads this process judges alone.
    """
    tracks = list(world.tracks())
    parts = [tracks[at : at + _PART] for at in range(0, len(tracks), _PART)]
    if len(tracks) < _FEWEST or threading.active_count() > 1:
        processes = 1
    if processes > 1:
        _ = world.completeness  # computed once, before the process is copied
    helpers = [_Helper(world, parts[number::processes]) for number in range(1, processes)]
    found: list[list[Finding]] = [[] for _ in parts]
    found[0::processes] = [_judged(world, part) for part in parts[0::processes]]
    for number, helper in enumerate(helpers, 1):
        found[number::processes] = helper.findings()
    return in_order([finding for of_part in found for finding in of_part], judged_untracked(world))


def _judged(world: World, part: Sequence[Track]) -> list[Finding]:
    return [finding for findings in judged(world, part).values() for finding in findings]


class _Helper:
    """This class judges parts of the tracks in a copy of this process. If that ends early, they are judged here."""

    def __init__(self, world: World, parts: Sequence[Sequence[Track]]) -> None:
        self._world = world
        self._parts = parts
        self._pipe, answer = os.pipe()
        self._process = os.fork()
        if self._process == 0:
            with suppress(BaseException):  # whatever happens, nothing else of this process may run twice
                os.close(self._pipe)
                with os.fdopen(answer, "wb") as file:
                    file.write(pickle.dumps([_judged(world, part) for part in parts], pickle.HIGHEST_PROTOCOL))
            os._exit(0)
        os.close(answer)

    def findings(self) -> list[list[Finding]]:
        """Wait for the helper; return the findings about each part."""
        with os.fdopen(self._pipe, "rb") as file:
            answer = file.read()
        os.waitpid(self._process, 0)
        try:
            found: list[list[Finding]] = pickle.loads(answer)
        except (EOFError, pickle.UnpicklingError):
            return [_judged(self._world, part) for part in self._parts]
        return found

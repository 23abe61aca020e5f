"""Read from an address which runs are compared."""

import re
from collections.abc import Sequence

from timeline.queries.objects.comparing import GOOD as GOOD_RUNS
from timeline.queries.objects.comparing import Chosen

_RUN = re.compile(r"(\d{1,18})(?:-(\d{1,18}))?", re.ASCII)


class NotChosen(Exception):
    """The address does not name runs that can be compared. The message says why."""


def run_of(text: str) -> Chosen:
    """Return the run that a parameter names. Raises NotChosen."""
    found = _RUN.fullmatch(text)
    if found is None:
        raise NotChosen(
            f"{text[:40]!r} names no run. Write a source and a track, such as 7-1234, or a source, such as 7."
        )
    return Chosen(int(found[1]), None if found[2] is None else int(found[2]))


def chosen(good: Sequence[str], bad: str) -> tuple[list[Chosen], Chosen]:
    """Return the good runs, each once, and the bad run. Raises NotChosen if they cannot be compared."""
    broken = run_of(bad)
    fine = list(dict.fromkeys(map(run_of, good)))
    if broken in fine:
        raise NotChosen("A run cannot be compared with itself. Choose other good runs.")
    if any((each.track is None) != (broken.track is None) for each in fine):
        raise NotChosen("An object can be compared with objects only, and a source with sources only.")
    if len(fine) > GOOD_RUNS:
        raise NotChosen(f"These are {len(fine)} good runs; {GOOD_RUNS} are the most.")
    return fine, broken

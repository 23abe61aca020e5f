"""Order the incarnations of one name, and find the times in which no object had the name. It does no I/O."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from timeline.history.lifelines import Moment, Track
from timeline.judging.verdicts import order_of


class Absence(NamedTuple):
    """A time in which no object of a name existed: from a deletion until the next creation."""

    deleted: Track
    went: Moment  # the deletion
    next: Track | None  # the next object of that name; None if none was observed
    back: Moment | None  # the creation of the next object


def absences(lives: Sequence[Track], since: int = 0) -> Iterator[Absence]:
    """Yield the absences among the incarnations of one name that began at a drawn time or later, in order.

    An absence is left out if the next object was observed but not its creation, since its end is not known then.
    """
    for index, life in enumerate(lives):
        if life.ended is None or life.ended.time < since:
            continue
        following = next((each for each in lives[index + 1 :] if order_of(life.ended, each.first)), None)
        if following is None or following.created:
            yield Absence(life, life.ended, following, following.created if following else None)


def split_at(moment: Moment, lives: Sequence[Track]) -> tuple[list[Track], list[tuple[Track, Moment]]]:
    """Divide the incarnations of a name by a moment.

    Return those that may have been created before the moment, and those that were surely created after it, each with
    its creation.
    """
    earlier: list[Track] = []
    later: list[tuple[Track, Moment]] = []
    for life in lives:
        if life.created is None or order_of(life.created, moment):
            earlier.append(life)
        else:
            later.append((life, life.created))
    return earlier, later

"""This pure module finds the objects that had one name, one after the other, and the times in which there was none."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from timeline.history.lifelines import Moment, Track
from timeline.judging.verdicts import order_of


class Absence(NamedTuple):
    """This is a time in which no object of a name existed: from a deletion until the next creation."""

    deleted: Track
    went: Moment  # the deletion
    next: Track | None  # None if no later object of that name was seen
    back: Moment | None  # its creation


def absences(lives: Sequence[Track]) -> Iterator[Absence]:
    """Yield the absences among the incarnations of one name, in order.

    An absence is left out if the next object was seen, but not its creation: then nothing tells when it came.
    """
    for index, life in enumerate(lives):
        if life.ended is None:
            continue
        following = next((each for each in lives[index + 1 :] if order_of(life.ended, each.first)), None)
        if following is None or following.created:
            yield Absence(life, life.ended, following, following.created if following else None)


def split_at(moment: Moment, lives: Sequence[Track]) -> tuple[list[Track], list[tuple[Track, Moment]]]:
    """Return the incarnations of a name that may have been created before a moment, and those that were surely created
    after it, each with its creation."""
    earlier: list[Track] = []
    later: list[tuple[Track, Moment]] = []
    for life in lives:
        if life.created is None or order_of(life.created, moment):
            earlier.append(life)
        else:
            later.append((life, life.created))
    return earlier, later

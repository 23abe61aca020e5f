"""Find loops of writes that have an effect and undo each other: objects created and deleted, or a status written to and
fro, again and again. It does no I/O."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from timeline.core.actors import actor_of
from timeline.core.entries import Change, Clock
from timeline.history.lifelines import Moment, Track
from timeline.history.world.world import World

_ENDINGS = ("terminal", "finished", "over")  # the facts by which kinds say that an object has finished
_STATES = ("balancer", "state")  # the facts that are a hash of a status
_LAST = ("kubelet", "namespace-controller", "generic-garbage-collector")  # they end what others wanted to end


class Round(NamedTuple):
    """One round of a loop: a write of `track`, and the one that undid it, which the next round may undo."""

    track: Track
    done: Moment
    undone: Moment


def made_and_deleted(children: Iterable[Track], short: int, world: World) -> Iterator[list[Round]]:
    """Yield the loops in which objects of one kind were created, and asked to end within `short` microseconds before
    they had finished, one after the other."""
    by_kind: dict[tuple[str, str], list[Round]] = defaultdict(list)
    for child in children:
        if found := _round(child, short, world):
            by_kind[child.ref.group, child.ref.kind].append(found)
    for rounds in by_kind.values():
        rounds.sort(key=lambda each: (each.done.at, each.track.ref.name))
        chain: list[Round] = []
        for each in rounds:
            if not chain or chain[-1].undone.at < each.done.at:
                chain.append(each)
        yield chain


def made_again(lives: Iterable[Track], short: int, world: World) -> list[Round]:
    """Return the rounds in which one program created an object of a name, and another one asked it to end within
    `short` microseconds before it had finished."""
    rounds = (found for each in lives if (found := _round(each, short, world)))
    return [each for each in rounds if each.undone.clock is Clock.AUDIT and _of_two(each)]


def _round(child: Track, short: int, world: World) -> Round | None:
    asked = next((each for each in child.moments if _ends(each)), None)
    if child.created is None or asked is None or asked.time - child.created.time > short:
        return None
    return None if _may_have_finished(child, asked, world) else Round(child, child.created, asked)


def _ends(moment: Moment) -> bool:
    return moment.change is Change.DELETED or (moment.facts is not None and bool(moment.facts.deleting))


def _may_have_finished(child: Track, asked: Moment, world: World) -> bool:
    """Return whether an object had finished when it was asked to end, or is of a kind that finishes and nothing shows
    that it had not."""
    states = [each.facts for each in child.moments if each.at <= asked.at and each.facts is not None]
    if any(getattr(facts, name, False) for facts in states for name in _ENDINGS):
        return True
    finishes = any(hasattr(child.kind.facts_type, name) for name in _ENDINGS)
    return finishes and asked.entry.facts is None and not world.seen[child.ref.group, child.ref.kind].shows_statuses


def to_and_fro(track: Track) -> list[Round]:
    """Return the rounds in which one program set the status of an object, of a Service that of its load balancer, and
    another one set the one before, while nobody asked for something else."""
    states = [each for each in track.moments if each.facts is not None]
    changes = [after for before, after in pairwise(states) if _state(before) != _state(after)]
    rounds = []
    for before, done, undone in zip(changes, changes[1:], changes[2:], strict=False):
        asked = {each.facts.generation for each in (before, done, undone)}
        round = Round(track, done, undone)
        if _state(before) == _state(undone) and len(asked) == 1 and _of_two(round):
            rounds.append(round)
    return rounds


def _state(moment: Moment) -> str:
    """Return a hash of the status of an object; "" if it has none, or if its kind keeps none."""
    return next((state for name in _STATES if (state := getattr(moment.facts, name, ""))), "")


def _of_two(round: Round) -> bool:
    """Return whether two programs made the two writes of a round, and the second one of its own accord."""
    one, other = actor_of(round.done.entry), actor_of(round.undone.entry)
    if one is None or other is None or other.component in _LAST:
        return False
    return (one.component, one.user) != (other.component, other.user)


def quick(rounds: Sequence[Round], times: int, within: int) -> list[Round]:
    """Return the rounds from the first stretch of `times` that took at most `within` microseconds to the end of the
    last such stretch; [] without any."""
    starts = [at for at in range(len(rounds) - times + 1) if _span(rounds[at : at + times]) <= within]
    return list(rounds[starts[0] : starts[-1] + times]) if starts else []


def _span(rounds: Sequence[Round]) -> int:
    return rounds[-1].undone.time - rounds[0].done.time


def writers(moments: Iterable[Moment]) -> str:
    """Return the programs that sent these writes, in words."""
    names = sorted({actor.component for each in moments if (actor := actor_of(each.entry))})
    return " and ".join(names[:2]) or "somebody"

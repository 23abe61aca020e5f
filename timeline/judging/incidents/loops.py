"""Find loops of writes that have an effect and undo each other: objects created and deleted, or a status written to and
fro, again and again. It does no I/O."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from timeline.core.actors import actor_of
from timeline.core.entries import Change
from timeline.history.lifelines import Moment, Track
from timeline.kinds.service import ServiceFacts


class Round(NamedTuple):
    """One round of a loop: a write of `track`, and the one that undid it, which the next round may undo."""

    track: Track
    done: Moment
    undone: Moment


def made_and_deleted(children: Iterable[Track], short: int) -> Iterator[list[Round]]:
    """Yield the loops in which objects of one kind were created, and asked to end within `short` microseconds before
    they had finished, one after the other."""
    by_kind: dict[tuple[str, str], list[Round]] = defaultdict(list)
    for child in children:
        asked = next((each for each in child.moments if _ends(each)), None)
        if child.created and asked and asked.time - child.created.time <= short and not _finished(child, asked):
            by_kind[child.ref.group, child.ref.kind].append(Round(child, child.created, asked))
    for rounds in by_kind.values():
        rounds.sort(key=lambda each: (each.done.at, each.track.ref.name))
        chain: list[Round] = []
        for each in rounds:
            if not chain or chain[-1].undone.at < each.done.at:
                chain.append(each)
        yield chain


def _ends(moment: Moment) -> bool:
    return moment.change is Change.DELETED or (moment.facts is not None and bool(moment.facts.deleting))


def _finished(child: Track, asked: Moment) -> bool:
    return any(bool(getattr(each.facts, "terminal", False)) for each in child.moments if each.at <= asked.at)


def to_and_fro(service: Track) -> list[Round]:
    """Return the rounds in which one program set the status of a load balancer, and another one set the one before."""
    states = [each for each in service.moments if isinstance(each.facts, ServiceFacts)]
    changes = [after for before, after in pairwise(states) if before.facts.balancer != after.facts.balancer]
    rounds = []
    for before, done, undone in zip(changes, changes[1:], changes[2:], strict=False):
        back = before.facts.balancer == undone.facts.balancer
        if back and before.facts.balancer and done.facts.balancer and _writer(done) != _writer(undone):
            rounds.append(Round(service, done, undone))
    return rounds


def _writer(moment: Moment) -> str:
    actor = actor_of(moment.entry)
    return f"{actor.component}\n{actor.user}" if actor else ""


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

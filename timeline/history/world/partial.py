"""Define a `World` that knows only a part of a log, and concludes nothing from what was left out. It does no I/O.

A rule judges the objects of the part as it does after all was read. What it finds does not count if it has asked about
anything else, because with the rest it might have found something else.
"""

from collections.abc import Callable, Iterator, Sequence

from timeline.core.entries import Entry, Request
from timeline.core.order import SECOND
from timeline.history.ledger.acts import Act
from timeline.history.ledger.left_out import LeftOut
from timeline.history.lifelines import Key, Moment, Name, Track
from timeline.history.part import Asked, Part
from timeline.history.world.completeness import MARGIN, Loss
from timeline.history.world.world import T, World
from timeline.kinds import kind_of


class PartialWorld(World):
    """Answer like `World` about the part that was read, and set `beyond` if a question is about the rest.

    `left_out` holds what is known of the writes that were left out, by file, when `settle` is called.
    """

    partial = True

    def __init__(self, keeps: Callable[[Entry], bool], part: Part, left_out: list[LeftOut]) -> None:
        super().__init__(keeps, intents=False)
        self._part = part
        self._beyond: set[object] = set()  # the keys of `once` whose answers are about what was left out
        self._ledger.left_out = left_out

    def complete(self, group: str, kind: str, start: int, end: int, namespace: str | None = None) -> bool:
        """Answer like `World.complete`, but only about what was read of a log that shows nearly every revision: the
        lines that were left out might have shown that others are missing."""
        if namespace is None and not (kind == "Lease" or not kind_of(group, kind).namespaced):
            self.beyond = True
            return False
        self._look(Name(group, kind, namespace or "", ""))
        complete = super().complete(group, kind, start, end, namespace)
        if complete and not self.completeness.dense:
            self.beyond = True
            return False
        return complete

    def _losses(self) -> Iterator[Loss]:
        """Yield also the losses that the writes show that were left out."""
        yield from super()._losses()
        ledger = self._ledger
        begins, clock = ledger.extent.answered + MARGIN, ledger.clocks.of_space("")
        for left_out in ledger.left_out:  # one, because it was joined
            for kind, created, received in left_out.unborn():
                if created > begins:
                    yield Loss(kind, created, min(created + 2 * SECOND, received), True)
            for kind, revision in left_out.unseen({revision for revision, _, _ in ledger.stamps() if revision}):
                if (earliest := clock.time_of(revision)) > begins:
                    yield Loss(kind, earliest, earliest, False)

    def once(self, key: object, compute: Callable[[], T]) -> T:
        """Answer like `World.once`, and set `beyond` for each caller if `compute` has set it."""

        def noted() -> T:
            before, self.beyond = self.beyond, False
            answer = compute()
            if self.beyond:
                self._beyond.add(key)
            self.beyond = before
            return answer

        answer = super().once(key, noted)
        self.beyond = self.beyond or key in self._beyond
        return answer

    def _look(self, name: Name) -> None:
        self.beyond = self.beyond or not self._part.reads(name)

    # The questions of `World` that can be about what was left out

    def of_kind(self, group: str, kind: str, until: int | None = None, after: int | None = None) -> Iterator[Track]:
        self.beyond = self.beyond or (kind != "Lease" and (kind_of(group, kind).namespaced or kind == "Namespace"))
        return super().of_kind(group, kind, until, after)

    def writes_of(self, process: str) -> Sequence[tuple[Track, Moment]]:
        self.beyond = True
        return super().writes_of(process)

    def incarnations(self, name: Name, until: int | None = None, after: Moment | None = None) -> Sequence[Track]:
        self._look(name)
        return super().incarnations(name, until, after)

    def begun_by(self, name: Name, time: int) -> Sequence[Track]:
        self._look(name)
        return super().begun_by(name, time)

    def track(self, key: Key) -> Track | None:
        self._look(key[0])
        return super().track(key)

    def requests(self, name: Name) -> Sequence[Request]:
        self._look(name)
        return super().requests(name)

    def refused_by(self, refuser: Name) -> Sequence[Request]:
        self.beyond = self.beyond or not (refuser.namespace or refuser.kind == "Namespace")
        self._look(refuser)
        return super().refused_by(refuser)

    def children(self, owner: Track) -> list[Track]:
        self.beyond = self.beyond or not owner.ref.namespace
        return super().children(owner)

    def acts(self, name: Name, child: str | None = None) -> Sequence[Act]:
        self._look(name)
        return super().acts(name, child)


def asked(world: World, part: Part) -> list[Track]:
    """Return the tracks that a part asks for: those of its namespaces, and its objects with all that they own."""
    answers: dict[Key, bool] = {}
    return [each for each in world.tracks() if _is_asked(each, world, part, answers)]


def _is_asked(track: Track, world: World, part: Part, answers: dict[Key, bool]) -> bool:
    ref = track.ref
    if (ref.name if ref.kind == "Namespace" and not ref.group else ref.namespace) in part.namespaces:
        return True
    if ref.namespace not in part.read or not ref.namespace:
        return False
    chain = []
    each: Track | None = track
    while each and each.key not in answers:
        answers[each.key] = Asked(each.ref.namespace, each.ref.kind, each.ref.name) in part.objects
        chain.append(each.key)
        each = None if answers[each.key] else world.owner_of(each)
    found = answers[each.key if each else chain[-1]]
    answers.update(dict.fromkeys(chain, found))
    return found

"""The incidents of a live source: each commit looks only at the findings that it changes, and at those that proof
connects with them."""

from collections import OrderedDict, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from timeline import models
from timeline.judge import rulebook
from timeline.judging.findings import Finding
from timeline.judging.incidents.partition import Apart, Piece, pieces_of
from timeline.payloads.incidents import symptoms
from timeline.payloads.incidents.making import Incident, places_of
from timeline.payloads.incidents.symptoms import Part, Symptom
from timeline.payloads.incidents.titles import harms_of
from timeline.storage.judged import incidents

if TYPE_CHECKING:
    from timeline.history.lifelines import Name

_KEPT = 100_000  # the most findings of incidents that are kept in memory, besides those of the latest incident


class Placed(NamedTuple):
    """To which incidents findings belong: those that changed, and others that belong to other incidents now."""

    changed: dict[str, list[str]]
    moved: dict[str, list[str]]


class LiveIncidents:
    """Keep the findings of the incidents of one live source that changed last."""

    def __init__(self, source: models.Source) -> None:
        self._source = source
        self._kept: OrderedDict[str, _Kept] = OrderedDict()
        self._places: dict[str, tuple[str, ...]] = {}  # of all findings: the incident of each occurrence
        self._holders: dict[str, set[str]] = defaultdict(set)  # by key of a piece, the findings that have it
        self._written = False  # whether all incidents have been written since this worker has the source
        self._apart: set[Apart] = set()  # the symptoms that people have taken out of incidents
        self._all_read = False  # whether the three above know the findings that an earlier worker stored

    def place(self, changed: Iterable[Finding], lost: Collection[str]) -> Placed:
        """Return to which incidents findings belong that are to be stored; `lost` are those that no longer hold."""
        news = {each.id: tuple(pieces_of(each)) for each in changed}
        gone = {*news, *lost}
        own = [piece for pieces in news.values() for piece in pieces]
        if (apart := incidents.apart(self._source)) != self._apart:
            self._forget_all()
            self._apart = apart
        if self._all_read and not self._connected(own, gone):
            return Placed(places_of(own), {})
        if not self._all_read:
            self._read(None, without=gone)
            self._all_read = True
        near = {finding for piece in own for key in piece.keys for finding in self._holders.get(key, ())}
        touched = {place for finding in near | gone for place in self._places.get(finding, ())}
        touched = incidents.with_separated(touched, apart)
        while True:
            others = {id: part.pieces for id, part in self._parts_of(touched, gone)}
            found = places_of((piece for pieces in [own, *others.values()] for piece in pieces), apart)
            reached = {place for places in [*found.values(), *map(self._places.get, others)] for place in places or ()}
            reached = incidents.with_separated(reached, apart)
            more = {each for each in reached - touched if each in self._kept or self._is_stored(each)}
            if not more:
                break
            touched |= more
        moved = {id: found[id] for id in others if tuple(found[id]) != self._places.get(id)}
        return Placed({id: found.get(id, []) for id in news}, moved)

    def write(
        self, placed: Placed, changed: Mapping[str, Part], lost: Collection[str]
    ) -> tuple[list[str], list[str], dict[str, list[str]]]:
        """Write the incidents of findings that were stored, and of those that belong to others or to none now.

        Return the identities of the incidents that changed, and of those that are gone, and by identity the namespaces
        that they involved before.
        """
        now = {**placed.changed, **placed.moved}
        touched = {place for id in [*now, *lost] for place in self._places.get(id, ())}
        touched |= {place for places in now.values() for place in places}
        rows = models.Incident.objects.filter(source=self._source)
        if self._written:
            rows = rows.filter(identity__in=touched)
        else:  # this version of the rules may have withdrawn findings of any incident
            touched |= {*self._kept, *rows.values_list("identity", flat=True)}
            self._written = True
        before = {row.identity: row for row in rows}
        for identity in touched:
            self._check(identity, before.get(identity))
        unknown = touched - self._kept.keys()
        parts = {**dict(self._held(placed.moved)), **changed}
        for id in lost:
            self._take_out(id)
        for id, part in parts.items():
            self._take_out(id)
            self._put(part, now[id])
        self._read(unknown)
        found = [each for identity in touched if (each := self._incident(identity))]
        written, gone = incidents.store(self._source, found, before)
        self._forget(touched)
        return written, gone, {row.identity: row.namespaces for row in before.values() if row.namespaces}

    def _connected(self, own: Iterable[Piece], gone: Iterable[str]) -> bool:
        """Return whether something connects new pieces with others, or may have connected earlier ones."""
        earlier = (place for id in gone for place in self._places.get(id, ()))
        return any(piece.keys for piece in own) or any(
            place not in self._kept or self._kept[place].connected for place in earlier
        )

    def _is_stored(self, identity: str) -> bool:
        return models.Incident.objects.filter(source=self._source, identity=identity).exists()

    def _parts_of(self, identities: Collection[str], without: Collection[str]) -> Iterator[tuple[str, Part]]:
        """Yield the findings of these incidents by identity, without some."""
        self._read([each for each in identities if each not in self._kept], without)
        for identity in identities:
            for id, part in self._kept[identity].parts.items():
                if id not in without:
                    yield id, part

    def _held(self, ids: Iterable[str]) -> Iterator[tuple[str, Part]]:
        """Yield the parts of these findings that are kept."""
        for id in ids:
            held = (self._kept[place].parts.get(id) for place in self._places[id] if place in self._kept)
            if part := next(filter(None, held), None):
                yield id, part

    def _read(self, identities: Collection[str] | None, without: Collection[str] = ()) -> None:
        """Keep the stored findings of these incidents, or of all, without some."""
        self._kept |= {identity: _Kept(identity) for identity in identities or ()}
        if identities is None or identities:
            for each in incidents.read_findings(self._source, identities, without):
                part = symptoms.part(each)
                self._index(part, each.places)
                for place in {*each.places}:
                    if identities is None or place in identities:
                        self._kept.setdefault(place, _Kept(place)).put(part, each.places)

    def _index(self, part: Part, places: Iterable[str]) -> None:
        self._places[part.id] = tuple(places)
        for piece in part.pieces:
            for key in piece.keys:
                self._holders[key].add(part.id)

    def _put(self, part: Part, places: Collection[str]) -> None:
        self._index(part, places)
        for place in {*places} & self._kept.keys():
            self._kept[place].put(part, places)

    def _take_out(self, id: str) -> None:
        """Take a finding out of all incidents. Nothing happens if it is in none."""
        for place in self._places.pop(id, ()):
            if (kept := self._kept.get(place)) and (part := kept.remove(id)):
                for key in (key for piece in part.pieces for key in piece.keys):
                    self._holders[key].discard(id)
                    if not self._holders[key]:
                        del self._holders[key]

    def _incident(self, identity: str) -> Incident | None:
        kept = self._kept.get(identity)
        return kept.incident() if kept and kept.parts else None

    def _check(self, identity: str, stored: models.Incident | None) -> None:
        """Forget the findings of an incident if somebody else has changed them: retention deletes findings that are too
        old."""
        kept = self._kept.get(identity)
        if kept and stored and (stored.findings, stored.occurrences) != (len(kept.parts), kept.occurrences):
            del self._kept[identity]

    def _forget_all(self) -> None:
        """Forget to which incidents findings belong: a person has moved some."""
        self._kept.clear()
        self._places.clear()
        self._holders.clear()
        self._all_read = False

    def _forget(self, touched: Iterable[str]) -> None:
        """Forget incidents that have no findings any more, and those that changed longest ago if there are many."""
        for identity in touched:
            if (kept := self._kept.get(identity)) and kept.parts:
                self._kept.move_to_end(identity)
            else:
                self._kept.pop(identity, None)
        size = sum(len(each.parts) for each in self._kept.values())
        while size > _KEPT and len(self._kept) > 1:
            size -= len(self._kept.popitem(last=False)[1].parts)


class _Kept:
    """The findings of one incident."""

    def __init__(self, identity: str) -> None:
        self._identity = identity
        self.parts: dict[str, Part] = {}  # whole, by finding
        self._pieces: dict[str, list[Piece]] = {}  # those of the incident
        self._symptoms: dict[tuple[str, Name], Symptom] = {}

    @property
    def connected(self) -> bool:
        """Whether anything may connect its findings."""
        return any(piece.keys for pieces in self._pieces.values() for piece in pieces)

    @property
    def occurrences(self) -> int:
        return sum(len(each.times) for each in self._symptoms.values())

    def put(self, part: Part, places: Collection[str]) -> None:
        """Add a finding that has occurrences in this incident, or replace it."""
        self.remove(part.id)
        numbers = [number for number, place in enumerate(places) if place == self._identity]
        self.parts[part.id] = part
        self._pieces[part.id] = [part.pieces[number] for number in numbers]
        key = part.rule, part.anchor
        if key not in self._symptoms:
            self._symptoms[key] = Symptom(part.rule, part.anchor, _templates()[part.rule])
        self._symptoms[key].put([part.within(numbers)])

    def remove(self, id: str) -> Part | None:
        """Take a finding out of the incident, and return it; None if the incident does not have it."""
        if part := self.parts.pop(id, None):
            del self._pieces[id]
            key = part.rule, part.anchor
            self._symptoms[key].remove(id)
            if not len(self._symptoms[key]):
                del self._symptoms[key]
        return part

    def incident(self) -> Incident:
        """Return the incident as it is now."""
        pieces = (piece for of_it in self._pieces.values() for piece in of_it)
        return Incident(self._identity, pieces, self._symptoms.values(), harms_of(rulebook()))


def _templates() -> dict[str, str]:
    return {rule.id: rule.incident for rule in rulebook()}

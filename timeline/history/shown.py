"""Count which sorts of lines a source shows, by kind and namespace. It does no I/O.

A sort is a verb and how much of it was seen, such as "deletions, but only that they happened". What is known only
grows, so the result does not depend on the order of observations, on repetition, nor on how they were divided.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from enum import StrEnum

from timeline.core.entries import Change, Clock, Entry, Level, Request
from timeline.history.ledger.acts import acted_in
from timeline.history.seen import GroupKind


class Verb(StrEnum):
    """What a line can show."""

    STATE = "state"  # an object as it stands, after a write or in a list
    CREATE = "create"
    UPDATE = "update"  # writes of anything but the status
    STATUS = "status"  # writes of the status
    DELETE = "delete"
    EVENT = "event"  # Events whose writer names the revision of the copy on which it acted
    CONFLICT = "conflict"  # writes that were refused because the object had been changed meanwhile
    VAIN = "vain"  # other writes that changed nothing: refused ones, and those after which the object was as before
    WATCH = "watch"  # the watch requests of clients
    OWNED = "owned"  # other objects that name an object of this kind as their owner
    LOG = "log"  # the log of a program; `Shown` does not count these


class Depth(StrEnum):
    """How much of a change can be seen: the levels of an audit log, and an object alone."""

    METADATA = Level.METADATA.value
    REQUEST = Level.REQUEST.value
    FULL = Level.FULL.value
    OBJECT = "object"  # from a watch or a list: the object after the change, without who sent the request


_DEPTHS = list(Depth)
_PLACES = {verb: len(_DEPTHS) * place for place, verb in enumerate(Verb)}
_LEVELS = {level: _DEPTHS.index(Depth(level.value)) for level in Level}
_OBJECT = _DEPTHS.index(Depth.OBJECT)
_WRITTEN = {  # by change, and by whether the status was written; the subresources that are not here show no verb
    (Change.CREATED, ""): (Verb.STATE, Verb.CREATE),
    (Change.MODIFIED, ""): (Verb.STATE, Verb.UPDATE),
    (Change.MODIFIED, "scale"): (Verb.UPDATE,),
    (Change.MODIFIED, "status"): (Verb.STATE, Verb.STATUS),
    (Change.DELETED, ""): (Verb.DELETE,),
}
_WATCHED = {  # a watch does not say whether the status was written
    Change.CREATED: (Verb.STATE, Verb.CREATE),
    Change.MODIFIED: (Verb.STATE, Verb.UPDATE, Verb.STATUS),
    Change.OBSERVED: (Verb.STATE,),
    Change.DELETED: (Verb.DELETE,),
}


def _bits(verbs: Iterable[Verb], depth: int) -> int:
    return sum(1 << (_PLACES[verb] + depth) for verb in verbs)


_OF_LOG = {(level, *key): _bits(verbs, depth) for key, verbs in _WRITTEN.items() for level, depth in _LEVELS.items()}
_OF_WATCH = {change: _bits(verbs, _OBJECT) for change, verbs in _WATCHED.items()}
_OWNED = _bits([Verb.OWNED], _OBJECT)
_WATCH, _CONFLICT, _VAIN = (_bits([verb], _LEVELS[Level.METADATA]) for verb in (Verb.WATCH, Verb.CONFLICT, Verb.VAIN))


class Shown:
    """Hold which sorts of lines were seen, each as one bit, by kind and namespace."""

    def __init__(self) -> None:
        self._bits: dict[GroupKind, dict[str, int]] = defaultdict(dict)
        self._grouped: dict[GroupKind, dict[int, set[str]]] = {}  # the namespaces by their bits, as far as that holds

    def rename(self, before: GroupKind, kind: GroupKind) -> None:
        """Count what was seen of a kind under another name as seen of the kind."""
        for namespace, bits in self._bits.pop(before, {}).items():
            self._bits[kind][namespace] = self._bits[kind].get(namespace, 0) | bits
        self._grouped.clear()

    def learn(self, entry: Entry) -> bool:
        """Count a change; return whether it is the first of its sort in its namespace."""
        ref = entry.ref
        if entry.clock is Clock.AUDIT:
            bits, depth = _OF_LOG.get((entry.level, entry.change, entry.action), 0), _LEVELS[entry.level]
        else:
            bits, depth = _OF_WATCH[entry.change], _OBJECT
        if entry.facts is not None:
            bits |= 1 << (_PLACES[Verb.STATE] + depth)
            if entry.facts.deleting and not entry.action:  # the request to delete it, or a finalizer that was removed
                bits = bits & ~(1 << (_PLACES[Verb.UPDATE] + depth)) | 1 << (_PLACES[Verb.DELETE] + depth)
            if ref.kind == "Event" and acted_in(entry):
                bits |= 1 << (_PLACES[Verb.EVENT] + depth)
        news = self._add((ref.group, ref.kind), ref.namespace, bits)
        if (owner := entry.owner) is not None:
            news |= self._add((owner.group, owner.kind), ref.namespace, _OWNED)
        return news

    def request(self, request: Request) -> None:
        """Count a request that changed nothing."""
        if request.verb == "watch":
            bits = _WATCH
        elif request.verb in ("get", "list") or (request.verb != "write" and not request.refused):
            return  # a read, or a creation whose name is not known
        else:
            bits = _CONFLICT if request.code == 409 and request.reason in ("", "Conflict") else _VAIN
        self._add((request.ref.group, request.ref.kind), request.ref.namespace, bits)

    def _add(self, kind: GroupKind, namespace: str, bits: int) -> bool:
        namespaces = self._bits[kind]
        known = namespaces.get(namespace, 0)
        if known | bits == known:
            return False
        namespaces[namespace] = known | bits
        self._grouped.pop(kind, None)
        return True

    def kinds(self) -> list[GroupKind]:
        """Return the kinds that were seen."""
        return sorted(kind for kind, namespaces in self._bits.items() if namespaces)

    def of(self, kind: GroupKind, verb: Verb) -> list[tuple[set[Depth], set[str]]]:
        """Return how deeply it was seen what a verb did to objects of a kind: pairs of depths and the namespaces in
        which they were seen. Namespaces in which nothing was seen are left out."""
        if kind not in self._grouped:
            groups: dict[int, set[str]] = defaultdict(set)
            for namespace, bits in self._bits.get(kind, {}).items():
                groups[bits].add(namespace)
            self._grouped[kind] = groups
        found = [(bits >> _PLACES[verb], namespaces) for bits, namespaces in self._grouped[kind].items()]
        depths = [({each for at, each in enumerate(_DEPTHS) if bits >> at & 1}, spaces) for bits, spaces in found]
        return [(shown, namespaces) for shown, namespaces in depths if shown]

    def state(self) -> Iterator[tuple[str, str, str, int]]:
        """Yield what was seen, in a form that can be stored: group, kind, namespace and bits."""
        for (group, kind), namespaces in sorted(self._bits.items()):
            yield from ((group, kind, namespace, bits) for namespace, bits in sorted(namespaces.items()))

    def restore(self, state: Iterable[tuple[str, str, str, int]]) -> None:
        """Add what `state` returned."""
        for group, kind, namespace, bits in state:
            self._add((group, kind), namespace, bits)

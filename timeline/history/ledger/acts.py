"""Keep which copy of an object each writer of an Event held when it recorded the Event. It does no I/O."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import attrgetter
from typing import NamedTuple

import msgspec

from timeline.core.entries import Change, Client, Clock, Entry, ObjectRef, Place, revision
from timeline.core.machine.sharing import shared
from timeline.core.observations import precedence
from timeline.core.order import SECOND
from timeline.history.lifelines import Name
from timeline.kinds.event import Acted, EventFacts

_ANSWERS = 64  # answers that are kept, since the children of one owner are judged one after another


class Act(msgspec.Struct, frozen=True, gc=False):
    """One Event, as far as it shows what its writer knew: when it recorded the Event, its copy of the object `ref` had
    this revision. Times are microseconds since 1970.

    `recorded` is by the writer's clock, all other times are by that of the API server. The creation of the Event was
    received and answered between `received` and `staged`, up to half a minute after the Event was recorded.
    """

    ref: ObjectRef  # the object that the Event is about, with its UID
    revision: int
    recorded: int
    received: int
    staged: int
    reason: str
    child: str  # the name of the object that the writer says it created or deleted; "" for other Events
    event: Name
    actor: str
    user_agent: str
    client: Client | None
    identity: str
    place: Place | None

    @property
    def recorded_by(self) -> int:
        """Return the last time at which the Event can have been recorded. Some Events have only whole seconds."""
        return self.recorded if self.recorded % SECOND else self.recorded + SECOND - 1


class _Seen(NamedTuple):
    """The best observations of one Event. Both are often the same."""

    created: Entry | None  # shows its creation
    shown: Entry | None  # shows what it says


class _Answer(NamedTuple):
    """All acts about the objects of a name. A controller may have recorded one for each of many children."""

    acts: list[Act]
    by_child: dict[str, list[Act]]


class Acts:
    """Keep the acts of one source by the object that they are about.

    An audit log of level Metadata shows who created an Event, and a watch beside it what the Event says. What this
    class answers does not depend on the order in which entries were learned, nor on repetitions.
    """

    def __init__(self, corrected: Callable[[Entry], Entry]) -> None:
        """`corrected` returns an entry with the offset of its file's clock subtracted from its times."""
        self._corrected = corrected
        self._events: dict[Name, _Seen] = {}
        self._about: dict[Name, set[Name]] = defaultdict(set)  # the names of the Events about each object
        self._answers: dict[Name, _Answer] = {}  # the last answers of `about` that still hold
        self.changed: set[Name] = set()  # the objects whose answers may have changed since this set was emptied

    def __len__(self) -> int:
        """Return for how many objects Events name the copy on which their writer acted."""
        return len(self._about)

    def learn(self, entry: Entry) -> None:
        """Learn an entry of an Event, without its body."""
        creates, acted = entry.change is Change.CREATED, acted_in(entry)
        if not creates and acted is None:
            return
        event = _event(entry.ref)
        created, shown = before = self._events.get(event, _NOTHING)
        if creates and (created is None or _rank(entry) < _rank(created)):
            created = entry
        if acted and (shown is None or _rank(entry) < _rank(shown)):
            if shown:
                self._leave(event, shown)
            self._about[shared(_object(acted))].add(shared(event))
            shown = entry
        if (created, shown) != before:
            self._answers.clear()
            self._events[shared(event)] = _Seen(created, shown)
            if shown and (acted := acted_in(shown)):
                self.changed.add(_object(acted))

    def _leave(self, event: Name, shown: Entry) -> None:
        if acted := acted_in(shown):
            name = _object(acted)
            self.changed.add(name)
            self._about[name].discard(event)
            if not self._about[name]:
                del self._about[name]

    def forget(self, before: int) -> None:
        """Forget the Events that were created before a time, in microseconds since 1970."""
        self._answers.clear()
        for event, seen in list(self._events.items()):
            if all(each is None or each.received < before for each in seen):
                del self._events[event]
                if seen.shown:
                    self._leave(event, seen.shown)

    def about(self, name: Name, child: str | None = None) -> Sequence[Act]:
        """Return the acts about the objects of a name, in the order in which they were recorded: all, or those that
        created or deleted a child of this name."""
        if name not in self._about:
            return ()
        if (known := self._answers.get(name)) is None:
            if len(self._answers) == _ANSWERS:
                self._answers.clear()
            acts = (self._act(event) for event in self._about[name])
            known = _Answer(sorted((act for act in acts if act), key=attrgetter("recorded", "event")), {})
            for act in known.acts:
                known.by_child.setdefault(act.child, []).append(act)
            self._answers[name] = known
        return known.acts if child is None else known.by_child.get(child, ())

    def __iter__(self) -> Iterator[Entry]:
        """Yield the entries of Events from which `learn` restores what is known."""
        for created, shown in self._events.values():
            if created:
                yield created
            if shown and shown is not created:
                yield shown

    def names(self) -> Iterable[Name]:
        """Return the names of the objects that Events with a revision are about."""
        return self._about

    def reconsider(self) -> None:
        """Note that clock offsets have changed, and with them the times of all acts."""
        self._answers.clear()
        self.changed.update(self._about)

    def _act(self, event: Name) -> Act | None:
        created, shown = self._events[event]
        acted = shown and acted_in(shown)
        if not created or not acted:
            return None
        created = self._corrected(created)
        return Act(
            ObjectRef(*acted[:6]),
            revision(acted.revision) or 0,
            acted.recorded,
            created.received,
            created.staged,
            acted.reason,
            acted.child,
            event,
            created.actor,
            created.user_agent,
            created.client,
            created.identity,
            created.place,
        )


_NOTHING = _Seen(None, None)


def acted_in(entry: Entry) -> Acted | None:
    """Return what an entry shows of the copy that the writer of an Event held; None if it shows nothing."""
    return entry.facts.acted if isinstance(entry.facts, EventFacts) else None


def _rank(entry: Entry) -> tuple[bool, bool, bool, tuple[object, ...]]:
    """Return a sort key that puts the observation first that shows most: a creation, in an audit log, with the process
    that sent it."""
    return entry.change is not Change.CREATED, entry.clock is not Clock.AUDIT, entry.client is None, precedence(entry)


def _event(ref: ObjectRef) -> Name:
    """Return the name of an Event, which is the same in both groups that have Events."""
    return Name("", "Event", ref.namespace, ref.name)


def _object(acted: Acted) -> Name:
    return Name(acted.group, acted.kind, acted.namespace, acted.name)

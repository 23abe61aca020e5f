"""Pure: who held a Lease, from which write to which, and whose workload the holders are.

A holder is known by its identity alone, `<Pod>_<uuid>` as a rule. What it is of is told by its Pod's owners, or by the
workload that so names its Pods, or by the Events in which it says that it leads. A holder that none of them knows is
unknown: it is of no other workload.
"""

import re
from itertools import pairwise
from math import inf
from typing import NamedTuple

from timeline.core.entries import Change, Clock, ObjectRef
from timeline.history.lifelines import Moment, Name, Track
from timeline.history.world import World
from timeline.judging.rulebook import setting
from timeline.judging.verdicts import Verdict, between, dated, surely_live
from timeline.kinds.deployment import Lock

TIMES = setting("lease-flapping", "times", 3, "", "How many take-overs within the time are too many.")
WITHIN = setting("lease-flapping", "within", 300, "s", "The time within which so many take-overs are too many.")

WORKLOADS = ("Deployment", "StatefulSet", "DaemonSet")
_RANDOM = "[bcdfghjklmnpqrstvwxz2456789]"  # the letters of generated names (k8s.io/apimachinery util/rand)
_NAMED = {  # how workloads name their Pods; a StatefulSet names them as people name nodes
    "Deployment": re.compile(f"(.+)-{_RANDOM}{{1,10}}-{_RANDOM}{{5}}"),
    "DaemonSet": re.compile(f"(.+)-{_RANDOM}{{5}}"),
}
_SAYS = re.compile(r"(\S+) (?:became leader|stopped leading)")


class Term(NamedTuple):
    """One holder's time with a Lease. The writes are told by their places among the Lease's moments."""

    holder: str
    taken: int  # the first that shows it
    renewed: int  # the last that renewed it
    left: int | None  # the one that ended it: another holder, none, or the Lease's deletion; None while it lasts


class Election:
    """The terms of one Lease, and what is known of its holders."""

    def __init__(self, lease: Track, world: World) -> None:
        self.lease = lease
        self.world = world
        self.terms = _terms(lease)
        self._workloads: dict[str, Name | None] = {}
        self._components: dict[str, str] | None = None

    def write(self, place: int) -> Moment:
        return self.lease.moments[place]

    @property
    def handovers(self) -> list[tuple[Term, Term]]:
        """A holder and the other that followed it, in order."""
        return [(old, new) for old, new in pairwise(self.terms) if old.holder != new.holder]

    def unbroken(self, start: int, end: int) -> bool:
        """Whether surely no write lies between those that are known from one to another, and each told its state."""
        writes = self.lease.moments[start : end + 1]
        told = all(
            b.entry.facts is not None
            and b.change is not Change.OBSERVED
            and b.facts.transitions <= a.facts.transitions + 1
            for a, b in pairwise(writes)
        )
        return told and self.world.gapless(self.lease, writes[0].time, writes[-1].time)

    def pod(self, term: Term) -> Track | None:
        """The Pod that bears its holder's name."""
        names = (Name("", "Pod", space, host) for host in _hosts(term.holder) for space in self._spaces(term))
        lives = next((pods for name in names if (pods := self.world.incarnations(name))), [])
        return _standing(lives, self.write(term.renewed))

    def _spaces(self, term: Term) -> tuple[str, ...]:
        """The namespaces that its Pod may be in: of the account that writes, and of the Lease."""
        parts = self.write(term.taken).actor.split(":")
        own = self.lease.ref.namespace
        return (parts[2], own) if parts[:2] == ["system", "serviceaccount"] and len(parts) > 3 else (own,)

    def workload(self, term: Term) -> Name | None:
        """The Deployment, StatefulSet or DaemonSet that its holder is of; None where nothing tells."""
        if term.holder not in self._workloads:
            pod = self.pod(term)
            self._workloads[term.holder] = (pod and _owner(pod, self.world)) or self._namer(term)
        return self._workloads[term.holder]

    def _namer(self, term: Term) -> Name | None:
        """The one known workload whose Pods bear names like its holder's."""
        namers = {
            name
            for host in _hosts(term.holder)
            for kind, pattern in _NAMED.items()
            if (match := pattern.fullmatch(host))
            for space in self._spaces(term)
            if self.world.incarnations(name := Name("apps", kind, space, match[1]))
        }
        return namers.pop() if len(namers) == 1 else None

    def component(self, term: Term) -> str:
        """What its holder calls itself in the Events of the election; "" where it is not told, or only its identity."""
        if self._components is None:
            self._components = {}
            for event in self.world.referrers(self.lease.name):
                said = _SAYS.match(getattr(event.last.facts, "message", ""))
                if said and event.last.facts.reason == "LeaderElection":
                    self._components[said[1]] = event.last.facts.component
        known = self._components.get(term.holder, "")
        return "" if known == term.holder or known in _hosts(term.holder) else known

    def title(self, term: Term) -> str:
        """What to call its holder's workload."""
        name = self.workload(term)
        return f"{name.kind} {name.name}" if name else self.component(term) or term.holder

    def schedulers(self, term: Term) -> set[str]:
        """The schedulers that its holder stands for: as its workload's arguments, else as its Events name it."""
        name = self.workload(term)
        locks = {lock for each in self.world.incarnations(name) for lock in _locks(each)} if name else set()
        own = (self.lease.ref.namespace, self.lease.ref.name)
        told = {scheduler for lock in locks if lock[:2] == own for scheduler in lock.schedulers}
        return told or {component for component in [self.component(term)] if component}

    def wanted(self, term: Term, at: Moment) -> bool | None:
        """Whether its holder's workload still ran when another took over; None where nothing tells it surely."""
        name, pod = self.workload(term), self.pod(term)
        workload = _standing(self.world.incarnations(name), at) if name else None
        left = pod.asked_to_end if pod else None
        pod_left = left is not None and left <= at.time
        if workload:
            if _gone(workload, at) or (workload.facts_at(at.time) or workload.first.facts).replicas == 0:
                return False
            # One that lives answers the end of its Pod: it writes of it, and has another made.
            answers = not pod_left or workload.last.time > (left or 0)
            return True if answers and surely_live(workload, at.time, self.world) else None
        if pod:
            return False if pod_left else (pod.last.time > at.time and surely_live(pod, at.time, self.world)) or None
        return self._known_without(term, at) or None

    def stopped(self, start: int, until: int) -> bool:
        """Whether the holder as of a write was stopped by a drawn time: its Pod asked to end, its workload deleted or
        scaled to zero."""
        since = self.write(start).time
        term = next((each for each in self.terms if each.taken <= start <= each.renewed), None)
        if term is None:
            return False
        pod, name = self.pod(term), self.workload(term)
        if pod and pod.asked_to_end is not None and pod.asked_to_end <= until:
            return True
        return any(
            moment.change is Change.DELETED or moment.facts.deleting or moment.facts.replicas == 0
            for life in (self.world.incarnations(name) if name else ())
            for moment in life.moments
            if since <= moment.time <= until
        )

    def differ(self, old: Term, new: Term) -> bool:
        """Whether the two holders are of different workloads."""
        owners = self.workload(old), self.workload(new)
        if all(owners):
            return owners[0] != owners[1]
        components = self.component(old), self.component(new)
        return all(components) and components[0] != components[1]

    def flaps(self) -> list[list[tuple[Term, Term]]]:
        """Stretches in which the Lease changed hands too often."""
        counted = [(old, new) for old, new in self.handovers if self._unplanned(old, new)]
        times, stretches, end = int(TIMES.value), list[list[tuple[Term, Term]]](), 0
        for start in range(len(counted) - times + 1):
            window = counted[start : start + times]
            if self._lasted(window[0], window[-1]) > WITHIN.value:
                continue
            if start < end:
                stretches[-1] += counted[end : start + times]
            else:
                stretches.append(window)
            end = start + times
        return stretches

    def _unplanned(self, old: Term, new: Term) -> bool:
        """Whether nobody had asked its holder to end: a rollout of one workload moves its Lease from Pod to Pod."""
        if self.workload(old) and self.workload(new) and self.differ(old, new):
            return True
        at = self.write(new.taken)
        if pod := self.pod(old):
            return stays(pod, at, self.world)
        return self._known_without(old, at)

    def _known_without(self, term: Term, at: Moment) -> bool:
        """Whether its holder was no Pod: by a moment, none of that name was missed or is forgotten."""
        since = self.write(term.taken).time
        return at.time >= self.world.remembered and self.world.complete("", "Pod", since, at.time)

    def _lasted(self, first: tuple[Term, Term], last: tuple[Term, Term]) -> float:
        """Seconds from one take-over to another, at most."""
        old, new = first
        seen = new.taken if self.unbroken(new.taken - 1, new.taken) else old.renewed
        return at_most(self.write(seen), self.write(last[1].taken))


def stays(track: Track, at: Moment, world: World) -> bool:
    """Whether an object surely stood at a moment, and was not asked to end."""
    return not _gone(track, at) and surely_live(track, at.time, world)


def runs(workload: Track, at: Moment, world: World) -> bool | None:
    """Whether a workload stood at a moment; None where that rests on nothing but that no line tells of its end."""
    if not stays(workload, at, world):
        return False
    if any(each.time > at.time and each.entry.facts is not None for each in workload.moments):
        return True
    return any(not _gone(child, at) for child in world.children(workload)) or None


def _gone(track: Track, at: Moment) -> bool:
    asked, born = track.asked_to_end, track.created
    return (asked is not None and asked <= at.time) or (born is not None and born.time > at.time)


def known(name: Name, world: World) -> ObjectRef:
    """The last object of a name, or the name where none was seen."""
    lives = world.incarnations(name)
    return lives[-1].ref if lives else ObjectRef(name.group, "v1", name.kind, name.namespace, name.name)


def _locks(workload: Track) -> set[Lock]:
    return {lock for moment in workload.moments for lock in moment.facts.locks}


def _standing(lives: list[Track], at: Moment) -> Track | None:
    """The one of a name's lives that stood at a moment, as far as is known."""
    begun = [track for track in lives if track.first.time <= at.time] or lives[:1]
    return begun[-1] if begun else None


def heartbeat(lease: Track) -> bool:
    """Whether it is no election, but the sign of life of a node or of an API server."""
    return lease.ref.namespace == "kube-node-lease" or (
        lease.ref.namespace == "kube-system" and lease.ref.name.startswith("apiserver-")
    )


def renews(before: Moment, after: Moment) -> bool:
    """Whether a write of the same holder renewed the Lease; others only touch it."""
    return not after.facts.renewed or before.facts.renewed != after.facts.renewed


def at_most(a: Moment, b: Moment) -> float:
    """Seconds between two writes of one Lease; infinite where nothing tells when the second came."""
    most = between(a, b).most
    return inf if most is None or not dated(b) else most / 1e6


def sureness(*moments: Moment) -> Verdict:
    """How sure the time between writes of one Lease is."""
    return Verdict.BOUNDED if any(each.clock is Clock.OBJECT for each in moments) else Verdict.EXACT


def _terms(lease: Track) -> list[Term]:
    found: list[Term] = []
    holder, taken, renewed = "", 0, 0
    for place, moment in enumerate(lease.moments):
        gone = moment.change is Change.DELETED
        if moment.entry.facts is None and not gone:
            continue  # whose it is then is not told
        now = "" if gone else moment.facts.holder
        if now != holder:
            if holder:
                found.append(Term(holder, taken, renewed, place))
            holder, taken, renewed = now, place, place
        elif holder and renews(lease.moments[renewed], moment):
            renewed = place
    if holder:
        found.append(Term(holder, taken, renewed, None))
    return found


def _hosts(holder: str) -> tuple[str, ...]:
    """The Pods that an identity may name: <Pod>, <Pod>_<uuid>, <Pod>-external-<program>."""
    host = holder.partition("_")[0]
    return tuple(dict.fromkeys((holder, host, host.partition("-external")[0])))


def _owner(pod: Track, world: World) -> Name | None:
    """The workload at the end of a Pod's chain of owners, also where its ReplicaSet was not seen."""
    owner = pod.owner
    if owner and owner.kind == "ReplicaSet":
        replica_set = world.owner_of(pod)
        if replica_set is None or replica_set.owner is None:
            deployment = owner.name.rpartition("-")[0]
            return Name("apps", "Deployment", pod.ref.namespace, deployment) if deployment else None
        owner = replica_set.owner
    if owner and owner.group == "apps" and owner.kind in WORKLOADS:
        return Name("apps", owner.kind, pod.ref.namespace, owner.name)
    return None

"""Find which workload the holder of a Lease belongs to. It does no I/O.

A Lease identifies its holder by a text, usually `<Pod>_<uuid>`. The workload is found by the owners of that Pod, by the
names that workloads give their Pods, or by the Events in which the holder says that it leads. If none of these shows
it, the workload is unknown, and does not count as different from any other.
"""

import re
from collections.abc import Iterable, Sequence

from timeline.core.entries import ObjectRef
from timeline.history.lifelines import Moment, Name, Track
from timeline.history.world.world import World
from timeline.judging.leases.terms import Term
from timeline.kinds.deployment import Lock

WORKLOADS = ("Deployment", "StatefulSet", "DaemonSet")
_RANDOM = "[bcdfghjklmnpqrstvwxz2456789]"  # the letters of generated names (k8s.io/apimachinery util/rand)
_POD_NAMES = {  # how workloads name their Pods; not of StatefulSets, since nodes often have names of the same form
    "Deployment": re.compile(f"(.+)-{_RANDOM}{{1,10}}-{_RANDOM}{{5}}"),
    "DaemonSet": re.compile(f"(.+)-{_RANDOM}{{5}}"),
}
_LEADS = re.compile(r"(\S+) (?:became leader|stopped leading)")


class Holders:
    """Find the Pod, the workload and the component of each holder of one Lease."""

    def __init__(self, lease: Track, world: World) -> None:
        self.lease = lease
        self.world = world
        self._workloads: dict[str, Name | None] = {}
        self._components: dict[str, str] | None = None

    def pod(self, term: Term) -> Track | None:
        """Return the Pod that the identity of the holder names; None if no such Pod was observed."""
        names = (Name("", "Pod", space, pod) for pod in _pod_names(term.holder) for space in self._namespaces(term))
        renewed = self.lease.moments[term.renewed]
        lives = next((pods for name in names if (pods := self.world.incarnations(name, renewed.time))), ())
        return existing(lives, renewed)

    def _namespaces(self, term: Term) -> tuple[str, ...]:
        """Return the namespaces in which the Pod may be: that of its ServiceAccount, and that of the Lease."""
        parts = self.lease.moments[term.taken].actor.split(":")
        own = self.lease.ref.namespace
        return (parts[2], own) if parts[:2] == ["system", "serviceaccount"] and len(parts) > 3 else (own,)

    def workload(self, term: Term) -> Name | None:
        """Return the Deployment, StatefulSet or DaemonSet of the holder; None if it is not known."""
        if term.holder not in self._workloads:
            pod = self.pod(term)
            self._workloads[term.holder] = (pod and _workload_of(pod, self.world)) or self._namer(term)
        return self._workloads[term.holder]

    def _namer(self, term: Term) -> Name | None:
        """Return the workload whose Pods have names like the holder's, if there is exactly one; else None."""
        namers = {
            name
            for pod in _pod_names(term.holder)
            for kind, pattern in _POD_NAMES.items()
            if (match := pattern.fullmatch(pod))
            for space in self._namespaces(term)
            if self.world.incarnations(name := Name("apps", kind, space, match[1]), self.lease.first.time)
        }
        return namers.pop() if len(namers) == 1 else None

    def component(self, term: Term) -> str:
        """Return the component that the holder's Events name; "" without Events, or if it only repeats the identity."""
        if self._components is None:
            name = self.lease.name
            self._components = self.world.computed(("components", name), lambda: _components(name, self.world))
        component = self._components.get(term.holder, "")
        return "" if component == term.holder or component in _pod_names(term.holder) else component

    def title(self, term: Term) -> str:
        """Return the text by which findings name the holder's workload."""
        name = self.workload(term)
        return f"{name.kind} {name.name}" if name else self.component(term) or term.holder

    def schedulers(self, term: Term) -> set[str]:
        """Return the scheduler names that the holder serves, from the arguments of its workload, or else its Events."""
        name = self.workload(term)
        locks = self.world.computed(("locks", name), lambda: _all_locks(name, self.world)) if name else set()
        own = (self.lease.ref.namespace, self.lease.ref.name)
        configured = {scheduler for lock in locks if lock[:2] == own for scheduler in lock.schedulers}
        return configured or {component for component in [self.component(term)] if component}

    def differ(self, old: Term, new: Term) -> bool:
        """Return whether the two holders surely belong to different workloads."""
        workloads = self.workload(old), self.workload(new)
        if all(workloads):
            return workloads[0] != workloads[1]
        components = self.component(old), self.component(new)
        return all(components) and components[0] != components[1]


def existing(lives: Sequence[Track], at: Moment) -> Track | None:
    """Return the incarnation of a name that existed at a moment: the last one that began by then, or else the first;
    None without any."""
    found = next((track for track in reversed(lives) if track.first.time <= at.time), None)
    return found or (lives[0] if lives else None)


def last_ref(name: Name, world: World) -> ObjectRef:
    """Return a reference to the last object of a name; without a UID if no object of that name was observed."""
    lives = world.incarnations(name)
    return lives[-1].ref if lives else ObjectRef(name.group, "v1", name.kind, name.namespace, name.name)


def _components(lease: Name, world: World) -> dict[str, str]:
    """Return the component that the Events of a Lease name for each holder."""
    found = {}
    for event in world.referrers(lease):
        leads = _LEADS.match(getattr(event.last.facts, "message", ""))
        if leads and event.last.facts.reason == "LeaderElection":
            found[leads[1]] = event.last.facts.component
    return found


def _all_locks(workload: Name, world: World) -> set[Lock]:
    return {lock for each in world.incarnations(workload) for lock in _locks(each)}


def _locks(workload: Track) -> Iterable[Lock]:
    return {lock for moment in workload.moments for lock in moment.facts.locks}


def _pod_names(holder: str) -> tuple[str, ...]:
    """Return the names of Pods that the identity of a holder may contain: it can have the forms <Pod>, <Pod>_<uuid> and
    <Pod>-external-<program>."""
    pod = holder.partition("_")[0]
    return tuple(dict.fromkeys((holder, pod, pod.partition("-external")[0])))


def _workload_of(pod: Track, world: World) -> Name | None:
    """Return the workload at the end of a Pod's chain of owners, even if its ReplicaSet was not observed; None if the
    Pod does not belong to a workload."""
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

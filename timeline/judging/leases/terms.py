"""Find the terms of a Lease: who held it, and which writes began, renewed and ended that. It does no I/O."""

from math import inf
from typing import NamedTuple

from timeline.core.entries import Change, Clock
from timeline.history.lifelines import Moment, Track
from timeline.judging.verdicts import Verdict, between, dated

OF_NODES = "kube-node-lease"  # the namespace of the Leases of nodes, which are heartbeats


class Term(NamedTuple):
    """The time in which one holder held a Lease. Writes are given as indexes into the moments of the Lease."""

    holder: str
    taken: int  # the first write that names the holder
    renewed: int  # the last write that renewed the Lease
    left: int | None  # the write that ended the term (another holder, no holder, a deletion); None while it lasts


def terms_of(lease: Track) -> list[Term]:
    """Return the terms of a Lease, in order."""
    terms: list[Term] = []
    holder, taken, renewed = "", 0, 0
    for place, moment in enumerate(lease.moments):
        gone = moment.change is Change.DELETED
        if moment.entry.facts is None and not gone:
            continue  # this write does not show the holder
        now = "" if gone else moment.facts.holder
        if now != holder:
            if holder:
                terms.append(Term(holder, taken, renewed, place))
            holder, taken, renewed = now, place, place
        elif holder and renews(lease.moments[renewed], moment):
            renewed = place
    if holder:
        terms.append(Term(holder, taken, renewed, None))
    return terms


def is_heartbeat(lease: Track) -> bool:
    """Return whether a Lease is the heartbeat of a node or an API server rather than a leader election."""
    return lease.ref.namespace == OF_NODES or (
        lease.ref.namespace == "kube-system" and lease.ref.name.startswith("apiserver-")
    )


def renews(before: Moment, after: Moment) -> bool:
    """Return whether a write by the same holder renewed the Lease, rather than changing something else."""
    return not after.facts.renewed or before.facts.renewed != after.facts.renewed


def at_most(a: Moment, b: Moment) -> float:
    """Return the greatest number of seconds that can lie between two writes of one Lease; infinity if the time of the
    second is not known."""
    most = between(a, b).most
    return inf if most is None or not dated(b) else most / 1e6


def sureness(*moments: Moment) -> Verdict:
    """Return the verdict that the clocks of these writes of one Lease allow: BOUNDED if any of them has only whole
    seconds, else EXACT."""
    return Verdict.BOUNDED if any(each.clock is Clock.OBJECT for each in moments) else Verdict.EXACT


def sureness_words(*moments: Moment) -> str:
    """Return `sureness` as the beginning of a sentence."""
    return "Exact" if sureness(*moments) is Verdict.EXACT else "Bounded, by whole seconds"

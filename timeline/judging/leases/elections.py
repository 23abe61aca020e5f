"""Find the handovers of a Lease from holder to holder, and whether the old holder should still have been running. It
does no I/O."""

from itertools import pairwise

from timeline.core.entries import Change
from timeline.core.order import by_revision
from timeline.history.lifelines import Moment, Track
from timeline.history.world.world import World
from timeline.judging.leases.holders import Holders, existing
from timeline.judging.leases.terms import Term, at_most, terms_of
from timeline.judging.references.endings import surely_live
from timeline.judging.rulebook import setting
from timeline.judging.verdicts import Verdict, order_of

TIMES = setting("lease-flapping", "times", 3, "", "How many take-overs within the time are too many.")
WITHIN = setting("lease-flapping", "within", 300, "s", "The time within which so many take-overs are too many.")

Handover = tuple[Term, Term]  # the terms of the old holder and of the new one


class Election:
    """Analyse the leader election on one Lease: its terms and its holders."""

    def __init__(self, lease: Track, world: World) -> None:
        self.lease = lease
        self.world = world
        self.terms = terms_of(lease)
        self.holders = Holders(lease, world)

    def write(self, place: int) -> Moment:
        """Return the write of the Lease with this index."""
        return self.lease.moments[place]

    @property
    def handovers(self) -> list[Handover]:
        """Return the pairs of consecutive terms with different holders, in order."""
        return [(old, new) for old, new in pairwise(self.terms) if old.holder != new.holder]

    def unbroken(self, start: int, end: int) -> bool:
        """Return whether the writes with the indexes from `start` to `end` are surely all that there were, and each of
        them shows the state of the Lease."""
        writes = self.lease.moments[start : end + 1]
        shown = all(
            b.entry.facts is not None
            and b.change is not Change.OBSERVED
            and b.facts.transitions <= a.facts.transitions + 1
            for a, b in pairwise(writes)
        )
        return shown and self.world.gapless(self.lease, writes[0].time, writes[-1].time)

    def wanted(self, term: Term, at: Moment) -> bool | None:
        """Return whether the holder's workload should still have been running at the moment when another holder took
        over; None if that is not sure."""
        name, pod = self.holders.workload(term), self.holders.pod(term)
        workload = existing(self.world.incarnations(name, at.time), at) if name else None
        left = pod.asked_to_end if pod else None
        pod_left = left is not None and left <= at.time
        if workload:
            if _gone(workload, at) or (workload.facts_at(at.time) or workload.first.facts).replicas == 0:
                return False
            # A workload that still exists reacts to the end of its Pod: its status changes, and it gets another Pod.
            reacts = not pod_left or workload.last.time > (left or 0)
            return True if reacts and surely_live(workload, at.time, self.world) else None
        if pod:
            return False if pod_left else (pod.last.time > at.time and surely_live(pod, at.time, self.world)) or None
        return self._is_no_pod(term, at) or None

    def stopped(self, start: int, until: int) -> bool:
        """Return whether the holder at the write with the index `start` was stopped by the drawn time `until`.

        It was if the deletion of its Pod was requested, or if its workload was deleted or scaled to zero.
        """
        since = self.write(start).time
        term = next((each for each in self.terms if each.taken <= start <= each.renewed), None)
        if term is None:
            return False
        pod, name = self.holders.pod(term), self.holders.workload(term)
        if pod and pod.asked_to_end is not None and pod.asked_to_end <= until:
            return True
        return any(
            moment.change is Change.DELETED or moment.facts.deleting or moment.facts.replicas == 0
            for life in (self.world.incarnations(name, until) if name else ())
            for moment in life.moments
            if since <= moment.time <= until
        )

    def flaps(self) -> list[list[Handover]]:
        """Return the series of unplanned handovers that followed each other too quickly, as the settings define it."""
        counted = [(old, new) for old, new in self.handovers if self._unplanned(old, new)]
        times, stretches, end = int(TIMES.value), list[list[Handover]](), 0
        for start in range(len(counted) - times + 1):
            window = counted[start : start + times]
            if self._seconds(window[0], window[-1]) > WITHIN.value:
                continue
            if start < end:
                stretches[-1] += counted[end : start + times]
            else:
                stretches.append(window)
            end = start + times
        return stretches

    def _unplanned(self, old: Term, new: Term) -> bool:
        """Return whether a handover was unplanned: the old holder should still have been running. A rollout, which
        moves a Lease from Pod to Pod, is planned."""
        holders = self.holders
        if holders.workload(old) and holders.workload(new) and holders.differ(old, new):
            return True
        at = self.write(new.taken)
        if pod := holders.pod(old):
            return stays(pod, at, self.world)
        return self._is_no_pod(old, at)

    def _is_no_pod(self, term: Term, at: Moment) -> bool:
        """Return whether the holder is surely not a Pod, because a Pod of its name would have been observed."""
        since = self.write(term.taken).time
        return at.time >= self.world.remembered and self.world.complete("", "Pod", since, at.time)

    def _seconds(self, first: Handover, last: Handover) -> float:
        """Return the most seconds that can lie between two handovers."""
        old, new = first
        seen = new.taken if self.unbroken(new.taken - 1, new.taken) else old.renewed
        return at_most(self.write(seen), self.write(last[1].taken))


def stays(track: Track, at: Moment, world: World) -> bool:
    """Return whether an object surely existed at a moment, and its deletion had not been requested."""
    return not _gone(track, at) and surely_live(track, at.time, world)


def runs(workload: Track, at: Moment, world: World) -> bool | None:
    """Return whether a workload existed at a moment; None if the only evidence is that no deletion was observed."""
    if not stays(workload, at, world):
        return False
    if any(each.time > at.time and each.entry.facts is not None for each in workload.moments):
        return True
    return any(not _gone(child, at) for child in world.children(workload)) or None


def _gone(track: Track, at: Moment) -> bool:
    """Return whether an object may have been about to be deleted at a moment, or had not been created yet."""
    asked, born = track.asked_to_end, track.created
    asked_before = asked is not None and asked <= at.time and not _deleted_at_once_after(track, at)
    return asked_before or (born is not None and born.time > at.time)


def _deleted_at_once_after(track: Track, at: Moment) -> bool:
    """Return whether revisions prove that an object was deleted after a moment, and that nothing had requested it
    before. A watch shows when a deletion arrived, but not when it was committed; the object of a deletion that waited
    for something has a deletionTimestamp."""
    end = track.ended
    shown = end is not None and end.entry.facts is not None and not end.facts.deleting and not end.facts.asked
    return end is not None and shown and by_revision(at.stamp, end.stamp) and order_of(at, end) is Verdict.EXACT

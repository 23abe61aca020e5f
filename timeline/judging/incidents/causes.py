"""Find what is behind a violation, where that is proven: an old copy, or a lost Lease. It does no I/O.

A finding says what went wrong. If one of the writes that prove it was sent by a controller that acted on an old copy of
the owner, or by a process that had lost its Lease, then that is its cause.
"""

from collections.abc import Iterator
from itertools import islice

from msgspec.structs import replace

from timeline.core.actors import actor_of
from timeline.history.lifelines import Moment, Track, name_of
from timeline.history.world.world import World
from timeline.judging.copies.staleness import stale_acts
from timeline.judging.findings import Cause, Finding, Proof
from timeline.judging.leases.lost import late_writes_of
from timeline.judging.verdicts import between

# Rules that report causes themselves.
_CAUSES = frozenset({"stale-view", "stale-write", "view-went-back", "write-after-lease-lost", "write-storm"})


def explained(finding: Finding, world: World) -> Finding:
    """Return the finding with its cause, if one is proven: that of its gravest occurrence which has one."""
    if finding.rule in _CAUSES:
        return finding
    occurrences = sorted(finding.occurrences, key=lambda each: (each.weight, -each.first), reverse=True)
    causes = (cause for each in occurrences for proof in each.proof for cause in _causes(proof, world))
    world.beyond = False
    cause = next(causes, None)
    return replace(finding, cause=cause) if cause and not world.beyond else finding


def _causes(proof: Proof, world: World) -> Iterator[Cause]:
    track = world.track((name_of(proof.ref), proof.ref.uid))
    if track is None or proof.moment.entry.client is None:
        return
    yield from _old_copy(track, proof.moment, world)
    yield from _lost_lease(track, proof.moment, world)


def _old_copy(track: Track, moment: Moment, world: World) -> Iterator[Cause]:
    for stale in stale_acts(track, world):
        if stale.done.identity == moment.identity:
            owner, act, verb = stale.owner.ref, stale.act, "created" if stale.created else "deleted"
            named = _named(stale.owner)
            state = f" when {named} {stale.matters}" if stale.matters else ""
            copies = (each for each in stale.owner.moments if each.stamp.resource_version == act.revision)
            yield Cause(
                "stale-view",
                f"{stale.actor} {verb} {_named(track)}{state}. {stale.sentence}",
                (
                    *(Proof(f"{named} as the copy had it", owner, each) for each in islice(copies, 1)),
                    Proof(f"{named} {stale.matters or 'changed'}, which the copy lacks", owner, stale.unseen),
                    Proof(f"{_named(track)} {verb}; Event {act.event.name} names the copy", track.ref, stale.done),
                ),
            )


def _lost_lease(track: Track, moment: Moment, world: World) -> Iterator[Cause]:
    for late in late_writes_of(track.key, world):
        if any(each.identity == moment.identity for each in late.writes):
            lease, verb = _named(late.lease), moment.change.value
            yield Cause(
                "write-after-lease-lost",
                f"{actor_of(moment.entry)} {verb} {_named(track)}. It had lost {lease} to {late.new.holder} "
                f"{between(late.new.first, moment)} before.",
                (
                    Proof(f"{lease} last written by its old holder", late.lease.ref, late.old.last),
                    Proof(f"{lease} taken over", late.lease.ref, late.new.first),
                    Proof(f"{_named(track)} {verb} by the old holder", track.ref, moment),
                ),
            )


def _named(track: Track) -> str:
    return f"{track.ref.kind} {track.ref.name}"

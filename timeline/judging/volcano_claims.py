"""This pure module finds the PersistentVolumeClaims that Volcano made for a job, and those that it forgot.

For a volume that names no claim, Volcano makes one. It writes the names back into the job once it has found or made the
claims of all volumes. If it fails before that, it forgets the claims that it made, and the next attempt makes others.
"""

from typing import NamedTuple

from timeline.core.entries import FOREVER
from timeline.history.lifelines import Track
from timeline.history.world import World
from timeline.judging.children import is_used, was_kept
from timeline.kinds.volcano_job import makes_claim


class Claims(NamedTuple):
    """These are the claims that Volcano made for one job."""

    volumes: int  # for which the job asks Volcano to make a claim
    made: int
    leaked: list[Track]  # surely forgotten, in order of creation
    suspected: list[Track]  # nothing says that the job knows them


def claims_of(job: Track, world: World) -> list[Track]:
    """Return the claims that Volcano made for a job, in order of creation."""
    children = world.children(job)
    return [each for each in children if _is_claim(each) and makes_claim(job.ref.name, each.ref.name)]


def leaked_claims(job: Track, settle: int, world: World) -> Claims | None:
    """Return which claims of a job were forgotten; None if all are known to it.

    Volcano has `settle` microseconds to write back the name of a claim.
    """
    volumes = max(moment.facts.makes for moment in job.moments)
    named = {name for moment in job.moments for name in moment.facts.claims + moment.facts.held}
    created = world.tally(job.ref.uid, "claimed", (FOREVER, 0))
    if not volumes or created <= sum(makes_claim(job.ref.name, name) for name in named):
        return None
    claims = claims_of(job, world)
    unused = [each for each in claims if not is_used(each, job, world)]
    nameable = max(0, volumes - (len(claims) - len(unused)))  # the claims of the last attempt may yet be written back
    unused = [each for each in unused if was_kept(each, job, settle)]
    attempts = max(0, len(unused) - nameable)
    settled = [each for each in unused[attempts:] if each.first.time + settle <= world.last]
    leaked = unused[:attempts] + [each for each in settled if _left_behind(each, job, settle, world)]
    suspected = [each for each in settled if each not in leaked and _job_logged(job, each, settle, world)]
    return Claims(volumes, len(claims), leaked, suspected)


def surely_stands(claim: Track, settle: int, world: World) -> bool:
    """Return whether no single missing line can have deleted the claim. With a finalizer, a deletion takes two."""
    if len(claim.moments) > 1 or claim.last.facts.finalizers or not claim.created:
        return True
    return world.completeness.accounts_since(claim.first, claim.first.time + settle)


def _left_behind(claim: Track, job: Track, settle: int, world: World) -> bool:
    """Return whether the job was seen later without the claim, or an Event says that the attempt failed."""
    settled = claim.first.time + settle
    if any(moment.entry.facts is not None and moment.time >= settled for moment in job.moments):
        return True
    failed = any(
        moment.time > claim.first.time and moment.facts.reason == "PVCError"
        for event in world.referrers(job.name)
        if event.ref.kind == "Event"
        for moment in event.moments
    )
    return failed and _job_logged(job, claim, settle, world)


def _job_logged(job: Track, claim: Track, settle: int, world: World) -> bool:
    return world.complete(job.ref.group, job.ref.kind, claim.first.time, claim.first.time + settle)


def _is_claim(child: Track) -> bool:
    return child.ref.kind == "PersistentVolumeClaim" and child.ref.group == ""

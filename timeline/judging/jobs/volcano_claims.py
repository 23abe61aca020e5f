"""Find the PersistentVolumeClaims that Volcano created for a Job, and those that it leaked. It does no I/O.

For a volume that names no claim, Volcano creates one. It writes the names into the spec of the Job once it has found or
created the claims of all volumes. If it fails before that, the names of the claims that it created are lost, and the
next attempt creates others.
"""

from typing import NamedTuple

from timeline.core.entries import FOREVER
from timeline.history.lifelines import Track
from timeline.history.world.world import World
from timeline.judging.jobs.children import is_used, was_kept
from timeline.kinds.volcano_job import makes_claim


class Claims(NamedTuple):
    """Which of the claims that Volcano created for one Job were leaked."""

    volumes: int  # the number of volumes for which Volcano creates a claim
    made: int  # the number of claims that it created
    leaked: list[Track]  # the claims that were surely leaked, in order of creation
    suspected: list[Track]  # other claims that the Job was not observed to name


def claims_of(job: Track, world: World) -> list[Track]:
    """Return the claims that Volcano created for a Job, in order of creation."""
    children = world.children(job)
    return [each for each in children if _is_claim(each) and makes_claim(job.ref.name, each.ref.name)]


def leaked_claims(job: Track, settle: int, world: World) -> Claims | None:
    """Return which claims of a Job were leaked; None if the Job names all of them.

    `settle` is the time in microseconds after which Volcano should have written the name of a claim into the Job.
    """
    volumes = max(moment.facts.makes for moment in job.moments)
    named = {name for moment in job.moments for name in moment.facts.claims + moment.facts.held}
    created = world.tally(job.ref.uid, "claimed", (FOREVER, 0))
    if not volumes or created <= sum(makes_claim(job.ref.name, name) for name in named):
        return None
    claims = claims_of(job, world)
    unused = [each for each in claims if not is_used(each, job, world)]
    nameable = max(0, volumes - (len(claims) - len(unused)))  # the Job may still get the names of the last attempt
    unused = [each for each in unused if was_kept(each, job, settle)]
    attempts = max(0, len(unused) - nameable)
    settled = [each for each in unused[attempts:] if each.first.time + settle <= world.last]
    leaked = unused[:attempts] + [each for each in settled if _left_behind(each, job, settle, world)]
    suspected = [each for each in settled if each not in leaked and _job_logged(job, each, settle, world)]
    return Claims(volumes, len(claims), leaked, suspected)


def surely_exists(claim: Track, settle: int, world: World) -> bool:
    """Return whether the claim surely still exists, even if one line of the log is missing.

    The deletion of a claim that has a finalizer takes two writes, so one missing line cannot hide it.
    """
    if len(claim.moments) > 1 or claim.last.facts.finalizers or not claim.created:
        return True
    return world.completeness.accounts_since(claim.first, claim.first.time + settle)


def _left_behind(claim: Track, job: Track, settle: int, world: World) -> bool:
    """Return whether the claim was surely leaked, because the Job was observed later without its name, or an Event says
    that the attempt failed."""
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
    since = claim.first.time
    return world.complete(job.ref.group, job.ref.kind, since, since + settle, job.ref.namespace)


def _is_claim(child: Track) -> bool:
    return child.ref.kind == "PersistentVolumeClaim" and child.ref.group == ""

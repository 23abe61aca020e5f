"""Objects that wait for another one that does not exist.

## What it sees

A Pod that needs a PersistentVolumeClaim, a ConfigMap, a Secret, a ServiceAccount or a PriorityClass, or a Volcano job
whose volume names a claim, while that other object does not exist: it was not created yet, or was deleted. The rule
judges the time from the creation until the Pod runs or is asked to end.

## Why it matters

The Pod stays Pending or in ContainerCreating, the job creates no Pods, and their status does not say for which object
they wait, or since when. A Volcano job that waits for a claim can leak other claims meanwhile (runaway-creation).

## Proof

An object that was created later did not exist before, because a creation succeeds only if no object of that name
exists. An object that never came is proven missing by an Event that says so (FailedScheduling, FailedMount, PVCError),
or by its deletion and no creation since in a complete log. It counts as missing for as long as the log is complete and
the Pod does not run. The finding is an info if the wait took less than 5 s; if all that is known is that a complete log
since the creation of the namespace never shows the object; or if lines are missing in which it may have come and gone.

## Looks alike but is benign

- References that are `optional`.
- Ephemeral volumes, and claims of a StatefulSet, which are created before their Pod.
- A claim that waits for its first consumer: it exists.
- Names that a controller writes back after it created the claims.
- An object that existed before the log begins, or whose creation was not observed.
- Kinds that the source does not show.
- A Pod that was running before the object came, or of which nothing was seen after the object was deleted.
- ServiceAccount `default` and the ConfigMaps of root certificates, which come shortly after their namespace: waiting
  for them is an info at most.

## What to do

Create the missing object, or correct its name. Create claims and configuration before what uses them. Mark a reference
`optional: true` if the container can do without it.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from timeline.core.durations import Length
from timeline.core.entries import Change, Clock, Level, ObjectRef
from timeline.core.order import SECOND
from timeline.history.lifelines import Moment, Name, Track
from timeline.history.world.world import World
from timeline.judging.advice import about, kubectl
from timeline.judging.coverage.lines import line
from timeline.judging.findings import Effect, Finding, Part, Proof, occurrence
from timeline.judging.references.missing import (
    MISSING_OBJECT,
    Missing,
    Reports,
    events_about,
    logged_in_full,
    missing_link,
    needed,
    never_existed,
    not_found_events,
    progress_logged,
    times_missing,
    waited_until,
    went_on,
)
from timeline.judging.rulebook import rule, setting
from timeline.judging.verdicts import Verdict, between, so_far, why

GRACE = setting("missing-reference", "grace", 5, "s", "How long something may be missing without a warning.")
_COMES_WITH_NAMESPACE = {
    ("ServiceAccount", "default"),
    ("ConfigMap", "kube-root-ca.crt"),
    ("ConfigMap", "openshift-service-ca.crt"),
}
_NEEDED = ("ConfigMap", "PersistentVolumeClaim", "PriorityClass", "Secret", "ServiceAccount")
_ABSENT = "Inconclusive: all that is known is that no line of the log shows it."
_LOST = "Inconclusive: lines may be missing that would show it, or that nobody waited for it any more."


class _Waiting(NamedTuple):
    """An object that needs others, with the drawn times at which it went on and stopped waiting, if it did."""

    user: Track
    ran: int | None
    left: int | None
    reports: dict[int, Reports]  # the Events about it, by the drawn time up to which they were read


class Evidence(NamedTuple):
    """The evidence that an object was missing."""

    end: int  # the drawn time up to which it was missing, as far as that is known
    verdict: Verdict
    why: str
    events: Sequence[tuple[Track, Moment]] = ()  # the Events that say that it was not found, in order


@rule(
    "missing-reference",
    judges=("Pod", "Job.batch.volcano.sh"),
    needs=MISSING_OBJECT.needs,
    also=(line(*_NEEDED, verbs="delete", level=Level.METADATA),),
    incident="{subjects} waited for {anchor}",
    harm="{count} objects waited for {anchors}",
)
def judge(user: Track, world: World) -> Iterator[Finding]:
    ran = went_on(user)
    waiting = _Waiting(user, ran, waited_until(user, ran), {})
    for name, since in needed(user):
        missing = times_missing(since, world.incarnations(name, waiting.left, after=since))
        found = [(each, evidence) for each in missing if (evidence := _evidence(waiting, name, each, world))]
        if found and (finding := _finding(user, name, *max(found, key=lambda each: each[1].end - each[0].start.time))):
            yield finding


def _evidence(waiting: _Waiting, name: Name, missing: Missing, world: World) -> Evidence | None:
    """Return the evidence that an object waited for the missing one; None if it may not have waited."""
    user, ran, left, reports = waiting
    start = missing.start.time
    came = missing.came[1] if missing.came else None
    if (left is not None and left <= start) or (came and ran is not None and ran < came.time):
        return None
    bounds = [bound for bound in (left, missing.seen, came.time if came else None) if bound is not None]
    end = max(start, world.no_later(min(bounds)) if bounds else world.last)
    if end not in reports:
        reports[end] = events_about(user, end, world)
    events, other_reason = not_found_events(reports[end], name, start)
    event = events[-1] if events else None
    if came:
        deleted = missing.went is not None and missing.went[1] is missing.start
        waited = ran is not None or any(each.time >= end and each.entry.facts is not None for each in user.moments)
        if waited and (event or deleted or logged_in_full(name, start, came.time, world)):
            return Evidence(end, missing.order, why(missing.order, missing.start, came), events)
        return Evidence(end, Verdict.INCONCLUSIVE, _LOST, events)
    waits = ran is None and missing.seen is None and progress_logged(user, start, end, world)
    whole = waits and logged_in_full(name, start, end, world)
    if event:
        verdict = Verdict.BOUNDED if event[1].clock is Clock.OBJECT else Verdict.EXACT
        if whole and not other_reason:
            return Evidence(end, verdict, "An Event says so, and no creation of it follows in the log.", events)
        return Evidence(event[1].time, verdict, "An Event says so.", events)
    seen_since = any(moment.time > start or moment is user.created for moment in user.moments if moment.time >= start)
    if whole and seen_since and missing.went and logged_in_full(name, missing.went[1].time, end, world):
        return Evidence(end, Verdict.EXACT, "Its deletion is in the log, and no creation of it since.")
    if whole and never_existed(name, start, end, world):
        return Evidence(end, Verdict.INCONCLUSIVE, _ABSENT)
    return None


def _finding(user: Track, name: Name, missing: Missing, evidence: Evidence) -> Finding | None:
    length = evidence.end - missing.start.time
    short = length - (SECOND if evidence.verdict is Verdict.BOUNDED else 0) < GRACE.microseconds
    expected = (name.kind, name.name) in _COMES_WITH_NAMESPACE
    if short and (expected or evidence.verdict is Verdict.INCONCLUSIVE):
        return None
    known = missing.came or missing.went
    what, kind = f"{name.kind} {name.name}", user.ref.kind
    fate = "was created later" if missing.came else "was deleted" if missing.went else "does not exist"
    ran = went_on(user)
    came = missing.came[1] if missing.came else None
    waited = _waited(missing.start, came, evidence)
    fared = "was not seen to go on" if ran is None else f"went on {_later(ran, came, evidence)}"
    goes_on = all(each is None for each in (missing.came, missing.seen, ran, waited_until(user, ran)))
    once = occurrence(
        *_proof(user, name, missing, evidence.events),
        first=missing.start.time,
        last=evidence.end,
        headline=f"{{subjects}} waited {waited} for {what}",
        plural=f"{kind}s",
        why=evidence.why,
        effect=(Effect.NONE if short or expected else Effect.POSSIBLE, f"{{names}} {fared}"),
        arrow=f"{name.kind} {waited.arrow}" if came else "",
        open=goes_on,
        links=(missing_link(name, missing, evidence.end),),
        interval=waited,
    )
    return Finding(
        rule="missing-reference",
        subject=user.ref,
        other=known[0].ref if known else ObjectRef(name.group, "v1", name.kind, name.namespace, name.name),
        anchor=name,
        verdict=evidence.verdict,
        summary=f"{kind} {user.ref.name} waited {waited} for {what}, which {fate}",
        occurrences=(once,),
        measured=once,
        advice=_advice(user, name),
    )


def _waited(start: Moment, came: Moment | None, evidence: Evidence) -> Length:
    """Return how long the object was missing: since `start`, and at least since the first Event that says so."""
    known = between(start, came) if came else so_far(start, evidence.end)
    until = came.committed[0] if came else evidence.end
    said = evidence.events[0][1].committed[1] if evidence.events else None
    return known if said is None else Length(max(known.least, until - said), known.most)


def _later(ran: int, came: Moment | None, evidence: Evidence) -> str:
    """Return text that says how long after the missing object was created, or observed, the other one went on.

    `ran` is the drawn time at which it went on, which is known only to the second.
    """
    least, most = came.committed if came else (evidence.end, evidence.end)
    return f"{Length(max(0, ran - SECOND - (most or ran)), max(1, ran - least))} later"


def _proof(user: Track, name: Name, missing: Missing, events: Sequence[tuple[Track, Moment]]) -> list[Proof]:
    proof = []
    if missing.went:
        proof.append(Proof(f"{name.kind} deleted", missing.went[0].ref, missing.went[1], Part.REMOVED))
    if missing.went is None or missing.went[1] is not missing.start:
        begun = "created" if missing.start.change is Change.CREATED else "seen"
        proof.append(Proof(f"{user.ref.kind} {begun}", user.ref, missing.start))
    if events:
        proof.append(Proof("reported missing", events[-1][0].ref, events[-1][1]))
    if missing.came:
        proof.append(Proof(f"{name.kind} created", missing.came[0].ref, missing.came[1], Part.LATE))
    return sorted(proof, key=lambda each: each.moment.at)


def _advice(user: Track, name: Name) -> tuple[str, ...]:
    what = f"{name.kind} {name.name}"
    yours = f"{user.ref.kind} {user.ref.name}"
    kind = name.kind.lower()
    see = f"Verify: {kubectl(name.namespace, 'get {} {}', kind, name.name)} shows it."
    tonight = (
        f"Look: does {yours} still wait, as {about('describe', user.ref)} tells? Is there one under another name, as "
        f"{kubectl(name.namespace, 'get {}', kind)} lists them?",
        f"Clean: create {what} if it is still missing; {yours} then goes on by itself.",
    )
    if user.ref.kind != "Pod":
        return *tonight, f"Prevent: create {what} before {yours}, or correct the name in its volumes.", see
    create = f"Prevent: create {what} before {yours}, or correct the name in its template."
    if name.kind in {"ConfigMap", "Secret"}:
        create += " Mark it `optional: true` where the container can do without."
    return *tonight, create, see

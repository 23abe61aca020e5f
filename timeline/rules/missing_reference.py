"""Objects that wait for another one that does not exist.

## What it sees

A Pod that needs a PersistentVolumeClaim, a ConfigMap, a Secret, a ServiceAccount or a PriorityClass, or a Volcano job
whose volume names a claim, while that other object does not exist: not yet, or not any more. It is judged from the
creation until the Pod runs or is asked to end.

## Why it matters

The Pod stays Pending or hangs in ContainerCreating, the job makes no Pods, and nothing in their status says since when
or whom they wait for. A vcjob that waits for a claim can leak others meanwhile (runaway-creation).

## Proof

That something came later proves that it was not there: a creation succeeds only where nothing of that name stands. What
never came is missing by the API's own word, an Event that says so (FailedScheduling, FailedMount, PVCError), or by its
deletion with no creation since in a complete log; from then on as long as the log is complete and the Pod does not run.
Under 5 s it is an info. It is one, too, where no more is known than that a whole log since the namespace's creation
never shows the object, or where lines are missing in which it may have come and gone.

## Looks alike but is benign

References that are `optional`; ephemeral volumes and claims of a StatefulSet, made before their Pod; a claim that waits
for its first consumer: it is there; names that a controller writes back after it made the claims; an object that was
there before the log began, or whose creation was not observed; kinds that the source does not show; a Pod that was
running before the object came, or of which nothing is seen since the object was deleted. ServiceAccount `default` and
the ConfigMaps of root certificates come a moment after their namespace: waiting for them is an info at most.

## What to do

Create what is missing, or correct its name. Create claims and configuration before what uses them. Mark a reference
`optional: true` that the container can do without.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from timeline.core.durations import Length
from timeline.core.entries import Change, Clock, ObjectRef
from timeline.core.order import SECOND
from timeline.history.lifelines import Moment, Name, Track
from timeline.history.world import World
from timeline.judging.advice import kubectl
from timeline.judging.findings import Effect, Finding, Occurrence, Proof
from timeline.judging.rulebook import rule, setting
from timeline.judging.verdicts import Verdict, between, order_of, so_far, why
from timeline.kinds.volcano_job import makes_claim

GRACE = setting("missing-reference", "grace", 5, "s", "How long something may be missing without a warning.")
_WITH_THE_NAMESPACE = {
    ("ServiceAccount", "default"),
    ("ConfigMap", "kube-root-ca.crt"),
    ("ConfigMap", "openshift-service-ca.crt"),
}


class Absence(NamedTuple):
    start: Moment  # of the referrer from which it was needed, or the deletion
    came: tuple[Track, Moment] | None
    order: Verdict  # how surely it came after the start
    went: tuple[Track, Moment] | None  # the last deletion before
    seen: int | None = None  # when it was seen to stand, where its creation was not observed


class Judgement(NamedTuple):
    end: int
    verdict: Verdict
    why: str
    word: tuple[Track, Moment] | None  # the last Event that says that it was not found


@rule("missing-reference", judges=("Pod", "Job.batch.volcano.sh"), any_of=("Pod", "PersistentVolumeClaim"), lists=True)
def judge(user: Track, world: World) -> Iterator[Finding]:
    for name, since in _needed(user):
        found = None
        for absence in _absences(since, world.incarnations(name)):
            if judgement := _judgement(user, name, absence, world):
                found = max(found or (absence, judgement), (absence, judgement), key=_length)
        if found and (finding := _finding(user, name, *found)):
            yield finding


def _length(found: tuple[Absence, Judgement]) -> int:
    return found[1].end - found[0].start.time


def _needed(user: Track) -> Iterator[tuple[Name, Moment]]:
    """What it cannot do without, each with the moment from which it needed it."""
    if user.ref.kind == "Pod":
        for each in user.value("needs") or ():
            namespace = user.ref.namespace if each.namespace is None else each.namespace
            yield Name(each.group, each.kind, namespace, each.name), user.first
        return
    told: set[str] = set()
    for moment in user.moments:
        for claim in moment.facts.claims:
            if claim not in told and not makes_claim(user.ref.name, claim):
                told.add(claim)
                yield Name("", "PersistentVolumeClaim", user.ref.namespace, claim), moment


def _absences(since: Moment, lives: list[Track]) -> Iterator[Absence]:
    """When nothing of a name stood, from a moment on; nothing more where one may have stood."""
    start, went = since, None
    for life in lives:
        if life.ended is None and life.first.time < since.time:
            return
        order = order_of(start, life.created) if life.created else None
        if order and life.created:
            yield Absence(start, (life, life.created), order, went)
        elif life.first.time > start.time:
            yield Absence(start, None, Verdict.EXACT, went, seen=life.first.time)
        if life.ended is None:
            return
        went = life, life.ended
        if order_of(start, life.ended):
            start = life.ended
    yield Absence(start, None, Verdict.EXACT, went)


def _ran(user: Track) -> int | None:
    """When it surely had what it needed: a container of it ran, the job went on."""
    for moment in user.moments:
        facts = moment.facts
        if user.ref.kind == "Pod" and facts.started:
            return min(moment.time, int(facts.started) + SECOND)
        if facts.phase not in {"", "Pending", "Failed"}:
            return moment.time
    return None


def _left(user: Track) -> int | None:
    """When it waited no longer, whether it had run or not."""
    failed = next((moment.time for moment in user.moments if moment.facts.phase == "Failed"), None)
    return min((time for time in (_ran(user), failed, user.asked_to_end) if time is not None), default=None)


def _judgement(user: Track, name: Name, absence: Absence, world: World) -> Judgement | None:
    start, ran, left = absence.start.time, _ran(user), _left(user)
    came = absence.came[1] if absence.came else None
    if (left is not None and left <= start) or (came and ran is not None and ran < came.time):
        return None
    bounds = (world.last, left, absence.seen, came.time if came else None)
    end = max(start, min(bound for bound in bounds if bound is not None))
    words, denied = _words(user, name, start, end, world)
    word = words[-1] if words else None
    if came:
        deleted = absence.went is not None and absence.went[1] is absence.start
        waited = ran is not None or any(each.time >= end and each.entry.facts is not None for each in user.moments)
        if waited and (word or deleted or _whole(name, start, came.time, world)):
            return Judgement(end, absence.order, why(absence.order, absence.start, came), word)
        doubt = "Inconclusive: lines may be missing that would show it, or that nobody waited for it any more."
        return Judgement(end, Verdict.INCONCLUSIVE, doubt, word)
    waits = ran is None and absence.seen is None and _followed(user, start, end, world)
    whole = waits and _whole(name, start, end, world)
    if word:
        verdict = Verdict.BOUNDED if word[1].clock is Clock.OBJECT else Verdict.EXACT
        if whole and not denied:
            return Judgement(end, verdict, "An Event says so, and no creation of it follows in the log.", word)
        return Judgement(word[1].time, verdict, "An Event says so.", word)
    seen_since = any(moment.time > start or moment is user.created for moment in user.moments if moment.time >= start)
    if whole and seen_since and absence.went and _whole(name, absence.went[1].time, end, world):
        return Judgement(end, Verdict.EXACT, "Its deletion is in the log, and no creation of it since.", None)
    if whole and _never_since_the_namespace(name, start, end, world):
        doubt = "Inconclusive: all that is known is that no line of the log shows it."
        return Judgement(end, Verdict.INCONCLUSIVE, doubt, None)
    return None


def _words(user: Track, name: Name, start: int, end: int, world: World) -> tuple[list[tuple[Track, Moment]], bool]:
    """The Events that say that it was not found, in order, and whether a later one says that something else lacks."""
    told = [
        (event, moment)
        for event in world.referrers(user.name)
        if event.ref.kind == "Event"
        for moment in event.moments
        if start <= moment.time <= end and moment.facts.message
    ]
    if not told:
        return [], False
    kind = "persistentvolumeclaim|pvc" if name.kind == "PersistentVolumeClaim" else name.kind.lower()
    missing = re.compile(rf"\b({kind})s?(\.[a-z0-9.]+)? \"?{re.escape(name.name)}\"? (is )?not found", re.IGNORECASE)
    told.sort(key=lambda each: each[1].at)
    words = [each for each in told if missing.search(each[1].facts.message)]
    return words, bool(words) and told[-1][1].facts.message != words[-1][1].facts.message


def _whole(name: Name, start: int, end: int, world: World) -> bool:
    return world.complete(name.group, name.kind, start, end)


def _followed(user: Track, start: int, end: int, world: World) -> bool:
    """Whether it would show that it ran, or went on."""
    seen = world.seen[user.ref.group, user.ref.kind]
    told = seen.tells_status if user.ref.kind == "Pod" else seen.tells_state
    return told and _whole(user.name, start, end, world)


def _never_since_the_namespace(name: Name, start: int, last: int, world: World) -> bool:
    """Whether the log shows all of its kind since its namespace came, which is empty at first."""
    began = [life.created for life in world.incarnations(Name("", "Namespace", "", name.namespace)) if life.created]
    return bool(name.namespace and began and began[-1].time < start and _whole(name, began[-1].time, last, world))


def _finding(user: Track, name: Name, absence: Absence, found: Judgement) -> Finding | None:
    start, length = absence.start.time, found.end - absence.start.time
    short = length - (SECOND if found.verdict is Verdict.BOUNDED else 0) < GRACE.microseconds
    usual = (name.kind, name.name) in _WITH_THE_NAMESPACE
    if short and (usual or found.verdict is Verdict.INCONCLUSIVE):
        return None
    known = absence.came or absence.went
    what = f"{name.kind} {name.name}"
    fate = "was created later" if absence.came else "was deleted" if absence.went else "does not exist"
    ran = _ran(user)
    came = absence.came[1] if absence.came else None
    waited = between(absence.start, came) if came else so_far(absence.start, found.end)
    return Finding(
        rule="missing-reference",
        subject=user.ref,
        other=known[0].ref if known else ObjectRef(name.group, "v1", name.kind, name.namespace, name.name),
        verdict=found.verdict,
        summary=f"{user.ref.kind} {user.ref.name} waited {waited} for {what}, which {fate}",
        occurrences=(
            Occurrence(
                first=start,
                last=found.end,
                headline=f"{{subjects}} waited {waited} for {what}",
                plural=f"{user.ref.kind}s",
                why=found.why,
                effect=Effect.NONE if short or usual else Effect.POSSIBLE,
                effect_text="{names} was not seen to go on"
                if ran is None
                else f"{{names}} went on {_later(ran, came, found)}",
                proof=_proof(user, name, absence, found.word),
                arrow=f"{name.kind} {waited.arrow}" if came else "",
                interval=waited,
            ),
        ),
        advice=_advice(user, name),
        delay=length,
        interval=waited,
    )


def _later(ran: int, came: Moment | None, found: Judgement) -> str:
    """How long after it came, or after it was seen, something went on that ran by then, at a time of whole seconds."""
    least, most = came.committed if came else (found.end, found.end)
    return f"{Length(max(0, ran - SECOND - (most or ran)), max(1, ran - least))} later"


def _proof(user: Track, name: Name, absence: Absence, word: tuple[Track, Moment] | None) -> tuple[Proof, ...]:
    proof = []
    if absence.went:
        proof.append(Proof(f"{name.kind} deleted", absence.went[0].ref, absence.went[1]))
    if absence.went is None or absence.went[1] is not absence.start:
        begun = "created" if absence.start.change is Change.CREATED else "seen"
        proof.append(Proof(f"{user.ref.kind} {begun}", user.ref, absence.start))
    if word:
        proof.append(Proof("reported missing", word[0].ref, word[1]))
    if absence.came:
        proof.append(Proof(f"{name.kind} created", absence.came[0].ref, absence.came[1]))
    return tuple(sorted(proof, key=lambda each: each.moment.at))


def _advice(user: Track, name: Name) -> tuple[str, ...]:
    what = f"{name.kind} {name.name}"
    yours = f"{user.ref.kind} {user.ref.name}"
    see = f"Verify: {kubectl(name.namespace, f'get {name.kind.lower()} {{}}', name.name)} shows it."
    if user.ref.kind != "Pod":
        return f"Prevent: create {what} before {yours}, or correct the name in its volumes.", see
    create = f"Prevent: create {what} before {yours}, or correct the name in its template."
    if name.kind in {"ConfigMap", "Secret"}:
        create += " Mark it `optional: true` where the container can do without."
    return create, see

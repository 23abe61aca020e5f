"""A Service taken away under its running Pods.

## What it sees

The Service that a live Pod names in `spec.subdomain` was deleted. The gap ends when a Service of that name is created
again; without such a creation it lasts. All gaps of one Pod and one Service name are one finding that counts them.

## Why it matters

While the Service does not exist, the Pod's DNS name does not resolve, and its peers lose it. Volcano's RestartPod
deletes and re-creates the job's Service although the other Pods run on (volcano-sh/volcano#3753).

## Proof

The deletion and the next creation of the name, ordered by their revisions. The finding is an error if a container
failed or restarted during the gap or within a minute after it, and a warning if one ran during the gap. If writes are
missing from the source, a gap that lasts is inconclusive, and so is a gap before which the Pod or its owner may have
ended.

## Looks alike but is benign

- A teardown: the Pod ends, or is asked to, within 5 s of the deletion and before the Service comes back.
- A teardown by the owner: an owner of the Pod ends, has finished, or wants no Pods any more. Controllers and the
  garbage collector take their time.
- A namespace that is being deleted.
- A Pod that had finished, or was being deleted, before the Service was, or may have been.
- A Service that never existed, or that is not headless, because Pods have no names under it.
- A Pod without `spec.hostname`, which has no name to lose (info).
- A Service that was seen to be back, although nothing tells when it came.
- A container that ends because its Pod is stopped: this is not a failure.

## What to do

Look whether the Pods failed meanwhile, and delete those that have given up, so that their owner creates others. Find
out who deletes the Service: the actor of the proof. In a Volcano job with the svc plugin, avoid policies that restart
single Pods, or let the workload retry its DNS lookups.
"""

from collections.abc import Iterator
from functools import reduce
from typing import NamedTuple

from timeline.core.durations import Length
from timeline.core.entries import Level, ObjectRef
from timeline.history.lifelines import Moment, Name, Track
from timeline.history.world.world import World
from timeline.judging.advice import kubectl, repair_lookups
from timeline.judging.coverage.lines import OWNERS, line, need
from timeline.judging.findings import Effect, Finding, Occurrence, Part, Proof, longest, occurrence
from timeline.judging.references.endings import namespace_ended, owner_ended, surely_live
from timeline.judging.references.failures import failure, no_failure
from timeline.judging.references.incarnations import absences
from timeline.judging.rulebook import rule, setting
from timeline.judging.verdicts import Verdict, between, dated, order_of, so_far, why

TEARDOWN = setting("service-gap", "teardown", 5, "s", "How long a Pod may take to follow its Service into deletion.")

_ENDED = "Inconclusive: writes are missing from this source, perhaps one that ended the Pod or its owner before."
_WHEN = "Inconclusive: nothing tells when the Service was deleted, and so whether the Pod was ending with it."
_BACK = "Inconclusive: writes of Services are missing from this source, perhaps the next creation."


class Gap(NamedTuple):
    """A time in which the Service of one Pod did not exist."""

    service: Track  # the Service that was deleted
    went: Moment  # its deletion
    next: Track | None  # the next Service of that name
    back: Moment | None  # the creation of the next one
    ended: int  # drawn time at which the gap ended: by the next creation, the end of the Pod, or that of the source
    soon: int  # drawn time: a Pod that ends before it counts as deleted together with its Service

    @property
    def known(self) -> Length:
        return between(self.went, self.back) if self.back else so_far(self.went, self.ended)


@rule(
    "service-gap",
    judges=("Pod",),
    needs=(
        need(line("Pod", verbs="state")),
        need(line("Service", verbs="delete", level=Level.METADATA)),
        need(line("Service", verbs="state"), misses="what the Services are"),
        need(line("Service", verbs="create", level=Level.METADATA), misses="Services that came back"),
        need(line("Service", verbs="update"), misses="Services that finalizers held"),
        need(line("Pod", verbs="status"), misses="Pods that finished or failed"),
        need(line("Pod", verbs="delete", level=Level.METADATA), misses="Pods that were to end"),
    ),
    also=(OWNERS,),
    incident="{anchor} was away under {subjects}{times}",
    harm="{anchors} away under running Pods",
)
def judge(pod: Track, world: World) -> Iterator[Finding]:
    subdomain = pod.value("subdomain")
    if not subdomain:
        return
    finished = [moment.time for moment in pod.moments if moment.facts.terminal][:1]
    left = min(finished + [asked for asked in [pod.asked_to_end] if asked is not None], default=None)
    gaps = [
        gap
        for gap in _gaps(Name("", "Service", pod.ref.namespace, subdomain), pod.first, left, world)
        if _existed(pod, gap, left) and not _torn_down(pod, gap, left, world)
    ]
    gaps = [gap for gap in gaps if _verdict(pod, gap, world) is not Verdict.INCONCLUSIVE] or gaps
    if not gaps:
        return
    occurrences = tuple(_occurrence(pod, gap, world) for gap in gaps)
    each = reduce(Length.within, (gap.known for gap in gaps))
    times = f" {len(gaps)} times, for {each} each," if len(gaps) > 1 else f" for {each}"
    yield Finding(
        rule="service-gap",
        subject=pod.ref,
        other=gaps[0].service.ref,
        anchor=gaps[0].service.name,
        verdict=_verdict(pod, gaps[0], world),
        summary=f"Service {subdomain} was away{times} under Pod {pod.ref.name}{_still(gaps[-1])}",
        occurrences=occurrences,
        measured=longest(occurrences),
        advice=_advice(pod.ref, gaps[0].service, world),
    )


def _gaps(name: Name, began: Moment, left: int | None, world: World) -> Iterator[Gap]:
    """Yield the gaps of a headless Service for a Pod that began at a moment.

    `left` is the drawn time at which the Pod finished, or its deletion was requested; None if neither was observed.
    """
    for gone, went, following, back in absences(world.incarnations(name, left, after=began), began.time):
        if went.facts.names_pods:
            lasts = back.time if back else world.last if left is None else world.no_later(left)
            yield Gap(gone, went, following, back, max(went.time, lasts), went.time + TEARDOWN.microseconds)


def _existed(pod: Track, gap: Gap, left: int | None) -> bool:
    """Return whether the Pod existed, and neither had finished nor was being deleted, when the Service was deleted."""
    if order_of(pod.first, gap.went) is None or pod.facts_at(gap.went.time) is None:
        return False
    return left is None or left > gap.went.time


def _torn_down(pod: Track, gap: Gap, left: int | None, world: World) -> bool:
    """Return whether the Pod was deleted together with its Service."""
    if owner_ended(pod, gap.soon, world) or namespace_ended(pod, gap.went, gap.soon, world):
        return True
    if gap.back and (left is None or gap.ended < left):
        return False  # the Service came back while the Pod was still there
    return (world.last if left is None else left) <= gap.soon


def _verdict(pod: Track, gap: Gap, world: World) -> Verdict:
    """Return how sure it is that the Pod existed before the deletion of the Service, and that the Service was created
    again after it."""
    orders = {order_of(pod.first, gap.went), order_of(gap.went, gap.back) if gap.back else Verdict.EXACT}
    if Verdict.INCONCLUSIVE in orders or _doubt(pod, gap, world):
        return Verdict.INCONCLUSIVE
    return Verdict.BOUNDED if Verdict.BOUNDED in orders else Verdict.EXACT


def _doubt(pod: Track, gap: Gap, world: World) -> str:
    """Return a sentence that says which writes may be missing that would explain the gap; "" if none may be."""
    owner = world.owner_of(pod)
    if not surely_live(pod, min(gap.soon, gap.ended), world):
        return _ENDED
    if owner and not surely_live(owner, world.no_later(gap.soon), world):
        return _ENDED
    if not gap.back and not world.complete("", "Service", gap.went.time, gap.ended, pod.ref.namespace):
        return _BACK
    leaving = next((each for each in pod.moments if each.facts.terminal or each.facts.deleting), pod.ended)
    outlived = gap.back and (leaving is None or order_of(gap.back, leaving) is Verdict.EXACT)
    return "" if outlived or dated(gap.went) else _WHEN


def _occurrence(pod: Track, gap: Gap, world: World) -> Occurrence:
    proof = [Proof("Service deleted", gap.service.ref, gap.went, Part.REMOVED)]
    if gap.next and gap.back:
        proof.append(Proof("created again", gap.next.ref, gap.back, Part.LATE))
        reason = why(_verdict(pod, gap, world), gap.went, gap.back)
    else:
        reason = "Exact: the deletion is in the log, and no creation of that name follows; the log goes on for "
        reason += f"{so_far(gap.went, world.last)}."
    return occurrence(
        *proof,
        last=gap.ended,
        headline=f"Service {gap.service.ref.name} was away for {gap.known} under {{subjects}}{_still(gap)}",
        plural="running Pods",
        why=_doubt(pod, gap, world) or reason,
        effect=_effect(pod, gap, world),
        hole=f"none · {gap.known}",
        open=gap.back is None and gap.ended >= world.last,
        interval=gap.known,
    )


def _still(gap: Gap) -> str:
    return "" if gap.back else " and has not come back"


def _effect(pod: Track, gap: Gap, world: World) -> tuple[Effect, str]:
    if not pod.facts_at(gap.ended).started:
        return Effect.NONE, "no container of {names} was seen to start"
    if not pod.value("hostname"):
        return Effect.NONE, "{names} has no hostname, and so no DNS name to lose"
    if failed := failure(pod, gap.went.time, gap.ended):
        return Effect.OBSERVED, f"{{names}} failed {between(gap.went, failed)} after it went"
    return Effect.POSSIBLE, f"{{names}} ran meanwhile; {no_failure(pod, gap.went, gap.back or gap.ended, world)}"


def _advice(pod: ObjectRef, service: Track, world: World) -> tuple[str, ...]:
    owner = world.owner_of(service)
    retry = "Let the workload retry its DNS lookups: a running Pod has lost its name meanwhile."
    watch = kubectl(service.ref.namespace, "get service {} -w --output-watch-events", service.ref.name)
    verify = f"Verify: {watch} shows no DELETED while the Pods run."
    if owner and owner.ref.group == "batch.volcano.sh":
        return (
            *repair_lookups(pod),
            "Prevent: the job's restart policy deletes and re-creates the Service: restart the whole job, or none of "
            "its Pods.",
            'Give the plugin its argument in the job: `svc: ["--publish-not-ready-addresses=true"]`.',
            retry,
            verify,
        )
    change = "Prevent: change the Service in place instead of deleting and creating it."
    return (*repair_lookups(pod), change, retry, verify)

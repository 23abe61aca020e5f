"""Endpoints that were there before their Service, or are there without one.

## What it sees

An EndpointSlice (label `kubernetes.io/service-name`) or an Endpoints object that was created before its Service. It
also sees orphans: an EndpointSlice that exists for more than 10 s after its Service was deleted, or in a new namespace
in which its Service was never created.

## Why it matters

A consumer that watches endpoints and looks up their Service does not find it, and drops the event. Its route is set up
only when the consumer happens to look again. kube-vip dropped events like this for half an hour and longer
(kube-vip/kube-vip#1092). A consumer of an orphan sends traffic to addresses that belong to nobody.

## Proof

The two creations, ordered by their revisions. The creation of the Service succeeded, so no Service of that name existed
before. For an orphan: the deletion of the Service, no creation of that name since, and the slice, which still exists;
or the creation of its namespace, and no creation of the Service. If writes of Services are missing from the source, the
verdict is inconclusive. The finding is a warning if there were ready addresses, because then there was something to be
dropped, or to be reached in vain.

## Looks alike but is benign

- Endpoints that Kubernetes itself writes. Its controllers have seen the Service for which they write, and the API
  server writes the endpoints of `default/kubernetes`.
- Endpoints that people write for a Service without a selector: the order is reported as info.
- A slice that is deleted before its Service is created.
- A slice that waits for the garbage collector, or whose namespace is being deleted.
- The old slice of a Service that was re-created.
- An Endpoints object that is the lock of a leader election.
- A slice without the label.
- A Service whose creation was not observed: it may have existed before.
- Endpoints objects are never orphans: they are deleted with their Service, and no log shows this.

## What to do

Create the Service first. Let slices name their Service as owner, so that the garbage collector deletes them with it,
and delete those that were left. Upgrade kube-vip to v0.9.1 or later; until then touch the EndpointSlice or restart the
consumer, so that it looks again.
"""

from collections.abc import Iterator
from typing import NamedTuple

from timeline.core.entries import Level
from timeline.history.lifelines import Name, Track
from timeline.history.world.world import World
from timeline.judging.advice import about, kubectl, ordered
from timeline.judging.coverage.lines import line, need
from timeline.judging.endpoints.writers import Orphan, last_sign, orphaned, written_by_hand, written_by_kubernetes
from timeline.judging.findings import Effect, Finding, Occurrence, Part, Proof, occurrence
from timeline.judging.references.incarnations import split_at
from timeline.judging.rulebook import rule, setting
from timeline.judging.verdicts import Verdict, between, dated, order_of, so_far, why

ORPHAN = setting("endpoints-before-service", "orphan", 10, "s", "How long the slices of a deleted Service may stay.")
DOUBT = "Inconclusive: writes of Services are missing from this source, and among them may be one of that name."


class Case(NamedTuple):
    """One violation: endpoints that were created before their Service, or remained without it."""

    summary: str
    service: Track | None
    verdict: Verdict
    occurrence: Occurrence
    advice: tuple[str, ...]


@rule(
    "endpoints-before-service",
    judges=("EndpointSlice", "Endpoints"),
    needs=(
        need(line("EndpointSlice", "Endpoints", verbs="state", level=Level.METADATA)),
        need(line("Service", verbs="create delete", level=Level.METADATA)),
        need(
            line("EndpointSlice", "Endpoints", verbs="create", level=Level.METADATA),
            misses="endpoints that came before their Service",
        ),
        need(
            line("EndpointSlice", verbs="create", level=Level.METADATA), misses="slices that came before their Service"
        ),
        need(line("Service", verbs="create", level=Level.METADATA), misses="endpoints that came before their Service"),
        need(
            line("Service", verbs="delete", level=Level.METADATA), misses="slices that stay when their Service is gone"
        ),
        need(line("EndpointSlice", verbs="delete", level=Level.METADATA), misses="slices that were deleted in time"),
        need(
            line("EndpointSlice", "Endpoints", verbs="state"), misses="which Service a slice names, and its addresses"
        ),
        need(line("Service", verbs="state"), misses="what the Services are"),
    ),
    incident="{subjects} existed without {anchor}{times}",
    harm="endpoints without {anchors}",
)
def judge(endpoints: Track, world: World) -> Iterator[Finding]:
    ref = endpoints.ref
    service = endpoints.value("service") if ref.kind == "EndpointSlice" else ref.name
    if not service or endpoints.value("lock") or (ref.namespace, service) == ("default", "kubernetes"):
        return
    name = Name("", "Service", ref.namespace, service)
    cases = [_early(endpoints, name, world)]
    if ref.kind == "EndpointSlice":
        cases += [_orphan(endpoints, each, world) for each in orphaned(endpoints, name, ORPHAN.microseconds, world)]
    found = [case for case in cases if case]
    found = [case for case in found if case.verdict is not Verdict.INCONCLUSIVE] or found
    if not found:
        return
    worst = max(found, key=lambda case: case.occurrence.weight)
    yield Finding(
        rule="endpoints-before-service",
        subject=ref,
        other=worst.service.ref if worst.service else None,
        anchor=name,
        verdict=worst.verdict,
        summary=worst.summary,
        occurrences=tuple(sorted((case.occurrence for case in found), key=lambda each: each.first)),
        measured=worst.occurrence,
        advice=ordered(line for case in found for line in case.advice),
    )


def _early(endpoints: Track, name: Name, world: World) -> Case | None:
    """Return the case of endpoints that were created while no Service of that name existed, if one was created later;
    else None."""
    born, left = endpoints.created, endpoints.asked_to_end
    if not born or written_by_kubernetes(endpoints):
        return None
    before, after = split_at(born, world.incarnations(name, left, after=born))
    if any(each.ended is None or order_of(each.ended, born) in (None, Verdict.INCONCLUSIVE) for each in before):
        return None  # a Service existed when the endpoints were created, or may have existed
    service, came = after[0] if after else (None, None)
    if not service or not came or came.facts.type == "ExternalName" or (left is not None and left <= came.time):
        return None
    order, late = order_of(born, came), between(born, came)
    if order is None:
        return None
    doubt = not before and not world.complete("", "Service", born.time, came.time, name.namespace)
    until = max(born.time, came.time)
    effect = _effect(max(moment.facts.ready for moment in endpoints.moments if moment.time <= until), "by then")
    if written_by_hand(endpoints) and not came.facts.selects:
        effect = Effect.NONE, "the endpoints of that Service are written by hand"
    kind, ref = endpoints.ref.kind, endpoints.ref
    once = occurrence(
        Proof(f"{kind} created", ref, born, Part.ACT),
        Proof("Service created", service.ref, came, Part.LATE),
        headline=f"{{subjects}} created before Service {name.name}",
        plural="endpoints objects",
        why=DOUBT if doubt else why(order, born, came),
        effect=effect,
        arrow=f"Service {late.arrow}",
        interval=late,
    )
    advice = (
        f"Look: has the Service an address, and can it be reached? {about('get', service.ref)}",
        "Clean: touch them, so that whoever dropped them looks again: "
        f"{kubectl(ref.namespace, 'annotate {} {} looked-at=again --overwrite', kind.lower(), ref.name)}.",
        "Prevent: create the Service first. kube-vip looks again by itself from v0.9.1 on.",
        f"Verify: {kubectl(ref.namespace, 'get service,endpointslices')} shows them together, and the "
        "Service can be reached.",
    )
    summary = f"{kind} {ref.name} was created {late} before its Service {name.name}"
    return Case(summary, service, Verdict.INCONCLUSIVE if doubt else order, once, advice)


def _orphan(piece: Track, orphan: Orphan, world: World) -> Case | None:
    """Return the case of an EndpointSlice that remained without its Service; None if the evidence is too weak."""
    since, back, ref = orphan.since.moment, orphan.back, piece.ref
    doubt = "" if back or world.complete("", "Service", since.time, orphan.last, ref.namespace) else DOUBT
    if not dated(since) and not since.entry.undated:
        doubt = "Inconclusive: nothing tells when the Service was deleted."
    if doubt and orphan.service is None:
        return None
    effect = _effect(piece.facts_at(orphan.overdue).ready, "all that time")
    if orphan.service is None and written_by_hand(piece):
        effect = Effect.NONE, "it is written by hand"
    named = f"Service {orphan.service.ref.name}" if orphan.service else "its Service"
    begun = max((since, piece.first), key=lambda moment: moment.time)
    length = between(begun, back) if back and back.time == orphan.last else so_far(begun, orphan.last)
    stood = f"stood for {length} without {named}{'' if orphan.last < world.last else ' and still does'}"
    once = occurrence(
        *sorted((orphan.since, last_sign(piece, orphan.overdue)), key=lambda proof: proof.moment.at),
        first=orphan.first,
        last=orphan.last,
        headline=f"{{subjects}} {stood}",
        plural="EndpointSlices",
        why=doubt or _why(orphan),
        effect=effect,
        open=orphan.last >= world.last,
        interval=length,
    )
    advice = (
        f"Look: who wrote it, and is it still of use? "
        f"{kubectl(ref.namespace, 'get endpointslice {} -o yaml --show-managed-fields', ref.name)}",
        f"Clean: {kubectl(ref.namespace, 'delete endpointslice {}', ref.name)}.",
        "Prevent: let slices name their Service as owner, so that the garbage collector takes them along.",
        f"Verify: {kubectl(ref.namespace, 'get endpointslice {}', ref.name)} finds none.",
    )
    verdict = Verdict.INCONCLUSIVE if doubt else Verdict.EXACT
    return Case(f"EndpointSlice {ref.name} {stood}", orphan.service, verdict, once, advice)


def _why(orphan: Orphan) -> str:
    if orphan.back:
        return "Exact: the Service's deletion and its next creation are in the log, and the slice stood in between."
    begun = "deletion of the Service" if orphan.service else "creation of the namespace"
    rest = so_far(orphan.since.moment, orphan.last)
    return f"Exact: the {begun} is in the log, and no creation of one follows; the log goes on for {rest}."


def _effect(ready: int, when: str) -> tuple[Effect, str]:
    if not ready:
        return Effect.NONE, f"{{names}} had no ready address {when}"
    return Effect.POSSIBLE, f"{{names}} had {ready} ready {'addresses' if ready > 1 else 'address'} {when}"

"""Objects created in a Namespace that had no ServiceAccount yet, or was still being deleted.

## What it sees

The API server refused to create objects in a Namespace because its ServiceAccount did not exist yet, or because the
Namespace was still being deleted and was created again later.

## Why it matters

A client that does not try again has failed for nothing but the order of its steps, and what it was to create is
missing.

## Proof

The refused creations, in which the API server says why, and the creation that came too late: that of the
ServiceAccount, or that of the next Namespace of this name.

## Looks alike but is benign

- Creations that were refused for less than a second: this is only an info.
- A Namespace that is deleted and does not come back within the setting: controllers that still work in it are refused,
  as they should be.
- A ServiceAccount that never came: missing-reference reports what waits for it.

## What to do

Wait until the Namespace has its ServiceAccount, or until the old Namespace is gone, before anything is created in it.
"""

import math
from collections.abc import Iterator

from timeline.core.entries import Level, Request
from timeline.history.lifelines import Name, Track
from timeline.history.world.world import World
from timeline.judging.advice import kubectl
from timeline.judging.coverage.lines import line, need
from timeline.judging.findings import Effect, Finding, Occurrence, Part, Proof, longest, occurrence
from timeline.judging.refusals import outages as divided
from timeline.judging.rulebook import rule, setting
from timeline.judging.verdicts import Verdict, between

APART = setting("namespace-not-furnished", "apart", 60, "s", "Refusals further apart than this count separately.")
SHORT = setting("namespace-not-furnished", "short", 1, "s", "Creations refused for a shorter time are only an info.")
WITHIN = setting("namespace-not-furnished", "within", 60, "s", "How soon after a refusal a Namespace came again.")
_CONTROLLERS = ("kube-controller-manager",)


@rule(
    "namespace-not-furnished",
    judges=("Namespace",),
    needs=(
        need(line("Namespace", verbs="create", level=Level.METADATA)),
        need(line(verbs="vain", level=Level.METADATA)),
        need(line("ServiceAccount", verbs="create", level=Level.METADATA), misses="ServiceAccounts that came late"),
        need(line("Namespace", verbs="delete"), misses="Namespaces that were created again before they were gone"),
    ),
    incident="Objects were created before {anchor} was ready",
    harm="{count} Namespaces used too early",
)
def judge(namespace: Track, world: World) -> Iterator[Finding]:
    refused = [each for each in world.refused_by(namespace.name) if _during(namespace, each)]
    by_late: dict[str, tuple[Track, list[Request]]] = {}
    for each in refused:
        if late := _late(namespace, each, world):
            by_late.setdefault(late.ref.uid, (late, []))[1].append(each)
    found = [
        _occurrence(late, outage)
        for late, requests in by_late.values()
        for outage in divided.outages(requests, APART.microseconds)
    ]
    if not found:
        return
    judged = [each for _, requests in by_late.values() for each in requests]
    found.sort(key=lambda each: (each.first, each.last))
    ref = namespace.ref
    yield Finding(
        rule="namespace-not-furnished",
        subject=ref,
        verdict=Verdict.EXACT,
        summary=f"{divided.writes(judged)} in Namespace {ref.name} before it was ready for them",
        occurrences=tuple(found),
        measured=longest(found),
        advice=(
            f"Look: {kubectl(ref.name, 'get all')}: were the refused objects created since? The proof has who sent the "
            "requests.",
            "Clean: apply the manifests of what is missing again: `kubectl apply -f FILE`.",
            f"Prevent: wait for the ServiceAccount, {kubectl(ref.name, 'get serviceaccounts')}, or until the "
            f"old Namespace is gone: {kubectl('', 'wait --for=delete namespace/{}', ref.name)}.",
            f"Verify: {kubectl(ref.name, 'get all')} shows the objects.",
        ),
    )


def _during(namespace: Track, request: Request) -> bool:
    """Return whether a request was received while this Namespace existed, or before it if no other one shows."""
    until = namespace.until
    return namespace.first.time <= request.staged and (until is None or request.received <= until)


def _late(namespace: Track, request: Request, world: World) -> Track | None:
    """Return what came too late for a refused creation: the ServiceAccount that the API server missed, or the next
    Namespace of the name; None if that never came, or too late, or if a controller of Kubernetes was refused."""
    name, soon = namespace.ref.name, math.inf
    if "not found" in request.message:
        account = request.message.partition('serviceaccount "')[2].partition('"')[0] or "default"
        waited = world.incarnations(Name("", "ServiceAccount", name, account))
    elif request.user_agent.startswith(_CONTROLLERS):
        return None
    else:
        waited, soon = world.incarnations(namespace.name), WITHIN.microseconds
    created = ((each, each.created.time) for each in waited if each.created)
    return next((each for each, time in created if 0 < time - request.received <= soon), None)


def _occurrence(late: Track, outage: list[Request]) -> Occurrence:
    proof = divided.shown(outage, "creation refused")
    assert late.created
    proof.append(Proof(f"{late.ref.kind} created", late.ref, late.created, Part.LATE))
    lasted, refused = between(proof[0].moment, late.created), divided.writes(outage)
    harm = Effect.POSSIBLE if len(outage) > 1 and lasted.least >= SHORT.microseconds else Effect.NONE
    return occurrence(
        *proof,
        headline=f"{refused} in {{subjects}}, {lasted} before {late.ref.kind} {late.ref.name} was created",
        plural="Namespaces",
        why="Exact: the API server says in each refusal what was missing.",
        effect=(harm, refused),
        acts=divided.acts(outage),
        links=(divided.link(late.name, outage),),
        arrow=lasted.arrow,
        interval=lasted,
    )

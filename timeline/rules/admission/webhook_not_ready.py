"""Writes refused because the Service of a webhook had no ready endpoint.

## What it sees

A webhook configuration whose webhook was to be asked about writes while its Service had no ready endpoint: before its
first Pod was ready, or after its last one was gone. The API server refused these writes.

## Why it matters

As long as the webhook does not answer, nobody can create or change what it guards: a rollout stops, and what would
repair the webhook may be refused, too.

## Proof

The refused writes, in which the API server names the webhook. It says itself that the Service has no endpoints, or does
not exist; or it got no answer, and no EndpointSlice of the Service showed a ready endpoint. Of writes that it let
through, an annotation of the audit log names the webhook that could not be called.

## Looks alike but is benign

- Writes that were refused for less than a second, and then were taken: this is only an info.
- A webhook with `failurePolicy: Ignore`: no write is refused. That writes were let through unchecked is only an info.
- A webhook that answers, and refuses what is written.
- A webhook whose certificate is not trusted: ca-bundle-stale reports that.
- Dry runs.

## What to do

Register a webhook only once its Service has a ready endpoint, and exempt what the webhook itself needs to start.
"""

from collections.abc import Iterator

from timeline.core.entries import Level, Request
from timeline.history.lifelines import Track
from timeline.history.world.world import World
from timeline.judging.advice import kubectl
from timeline.judging.coverage.lines import line, need
from timeline.judging.findings import Effect, Finding, Occurrence, Part, Proof, longest, occurrence
from timeline.judging.refusals import outages as divided
from timeline.judging.refusals.webhooks import KINDS, Failures, failures, ready_after, ref_of, role, service_at, unready
from timeline.judging.rulebook import rule, setting
from timeline.judging.verdicts import Verdict

APART = setting("webhook-not-ready", "apart", 60, "s", "Refused writes further apart than this count as two outages.")
SHORT = setting("webhook-not-ready", "short", 1, "s", "Writes refused for a shorter time are only an info.")


@rule(
    "webhook-not-ready",
    judges=KINDS,
    needs=(
        need(line(*KINDS, verbs="state")),
        need(
            line(verbs="vain", level=Level.METADATA),
            line(verbs="create update", level=Level.METADATA, sent=True),
        ),
        need(line(verbs="vain", level=Level.METADATA), misses="writes that were refused"),
        need(
            line("EndpointSlice", verbs="state"),
            misses="webhooks that did not answer, and when they became ready",
        ),
    ),
    incident="{anchor} refused writes because its Service was not ready",
    harm="{count} outages of webhooks",
)
def judge(configuration: Track, world: World) -> Iterator[Finding]:
    for each in failures(configuration, world):
        service = service_at(each.service, each.writes[-1].received, world)
        writes = unready(service, each.writes, world)
        found = [_occurrence(each, service, outage, world) for outage in divided.outages(writes, APART.microseconds)]
        if not found:
            continue
        ref, name = configuration.ref, each.service.name
        yield Finding(
            rule="webhook-not-ready",
            subject=ref,
            other=ref_of(each.service, service),
            verdict=Verdict.EXACT,
            summary=f"{divided.writes(writes)} because Service {name} of {ref.kind} {ref.name} had no ready endpoint",
            occurrences=tuple(found),
            measured=longest(found),
            advice=(
                "Look: "
                + kubectl(each.service.namespace, "get endpointslices -l kubernetes.io/service-name={}", name)
                + ", and the Pods behind it: why are they not ready?",
                "Stop: if the Pods cannot start because the webhook refuses what they need, let it refuse nothing for "
                f"now: {kubectl('', 'delete {} {}', ref.kind.lower(), ref.name)}. Its controller or chart creates it "
                "again.",
                "Prevent: create the configuration after the Deployment is available, and leave the namespace of the "
                "webhook out of its `namespaceSelector`.",
                "Verify: a write that it guards succeeds: `kubectl create --dry-run=server -f FILE`.",
            ),
        )


def _occurrence(each: Failures, service: Track | None, outage: list[Request], world: World) -> Occurrence:
    back = ready_after(service, outage[-1].received, world)
    proof = divided.shown(outage, role)
    if back:
        proof.append(Proof("endpoint ready", back.track.ref, back.since, Part.LATE))
    lasted, writes = divided.lasted(outage), divided.writes(outage)
    refused = divided.lasted([each for each in outage if each.refused])
    harm = Effect.POSSIBLE if refused.least >= SHORT.microseconds else Effect.NONE
    return occurrence(
        *proof,
        headline=f"{writes} because {{subjects}} calls Service {each.service.name}, which had no ready endpoint",
        plural="webhook configurations",
        why="Exact: the API server names the webhook that it could not call, and the Service had no ready endpoint.",
        effect=(harm, writes),
        last=outage[-1].received,
        acts=divided.acts(outage),
        links=(divided.link(each.service, outage),) if any(write.refused for write in outage) else (),
        interval=lasted,
    )

"""Writes refused because a webhook configuration trusts another certificate than its webhook has.

## What it sees

The API server refused writes because the certificate of a webhook was signed by an authority that the `caBundle` of its
configuration does not have. The `caBundle` was written later, or never.

## Why it matters

As long as the two differ, nobody can create or change what the webhook guards. The webhook itself is ready, so nothing
else looks wrong.

## Proof

The refused writes, in which the API server names the webhook and says `x509: certificate signed by unknown authority`,
and the next write of the `caBundle`, if there was one.

## Looks alike but is benign

- Writes that were refused for less than a second, or for some seconds until the `caBundle` was written for the first
  time: this is only an info.
- A webhook with `failurePolicy: Ignore`: no write is refused.
- A certificate that has expired: nothing was written in the wrong order.

## What to do

Write the new authority into the `caBundle`, beside the old one, before the webhook gets a certificate of it.
"""

from collections.abc import Iterator

from timeline.core.entries import Level, Request
from timeline.history.lifelines import Moment, Track
from timeline.history.world.world import World
from timeline.judging.advice import kubectl
from timeline.judging.coverage.lines import line, need
from timeline.judging.findings import Effect, Finding, Occurrence, Part, Proof, longest, occurrence
from timeline.judging.refusals import outages as divided
from timeline.judging.refusals.webhooks import (
    KINDS,
    failures,
    is_untrusted,
    ref_of,
    role,
    service_at,
    webhooks_in,
)
from timeline.judging.rulebook import rule, setting
from timeline.judging.verdicts import Verdict

APART = setting("ca-bundle-stale", "apart", 60, "s", "Refused writes further apart than this count as two outages.")
SHORT = setting("ca-bundle-stale", "short", 1, "s", "Writes refused for a shorter time are only an info.")
FIRST = setting(
    "ca-bundle-stale",
    "first",
    10,
    "s",
    "Writes refused for a shorter time before the first caBundle was written are only an info.",
)


@rule(
    "ca-bundle-stale",
    judges=KINDS,
    needs=(
        need(line(*KINDS, verbs="state")),
        need(line(verbs="vain", level=Level.METADATA)),
        need(line(*KINDS, verbs="update"), misses="when the caBundle was written"),
    ),
    incident="{anchor} trusted another certificate than its webhook had",
    harm="{count} outages of webhooks",
)
def judge(configuration: Track, world: World) -> Iterator[Finding]:
    for each in failures(configuration, world):
        refused = [*filter(is_untrusted, each.writes)]
        found = [_occurrence(configuration, outage) for outage in divided.outages(refused, APART.microseconds)]
        if not found:
            continue
        ref, resource = configuration.ref, configuration.ref.kind.lower()
        yield Finding(
            rule="ca-bundle-stale",
            subject=ref,
            other=ref_of(each.service, service_at(each.service, refused[-1].received, world)),
            verdict=Verdict.EXACT,
            summary=f"{divided.writes(refused)} because the caBundle of {ref.kind} {ref.name} does not have the "
            f"authority of the certificate of Service {each.service.name}",
            occurrences=tuple(found),
            measured=longest(found),
            advice=(
                "Look: which authority does the configuration trust? "
                + kubectl("", "get {} {} -o jsonpath={}", resource, ref.name, "{.webhooks[*].clientConfig.caBundle}")
                + ", and who writes it: cert-manager's cainjector, or the webhook itself?",
                "Stop: restart what writes the caBundle, or write it by hand: "
                f"{kubectl('', 'edit {} {}', resource, ref.name)}.",
                "Prevent: keep the old authority in the caBundle until every Pod has a certificate of the new one.",
                "Verify: a write that it guards succeeds: `kubectl create --dry-run=server -f FILE`.",
            ),
        )


def _occurrence(configuration: Track, outage: list[Request]) -> Occurrence:
    written = _trusted_after(configuration, outage)
    proof = divided.shown(outage, role)
    if written:
        proof.append(Proof("caBundle written", configuration.ref, written, Part.LATE))
    lasted, refused = divided.lasted(outage), divided.writes(outage)
    short = FIRST if written and not _trusted_any(configuration, outage) else SHORT
    harm = Effect.POSSIBLE if lasted.least >= short.microseconds else Effect.NONE
    return occurrence(
        *proof,
        headline=f"{refused} because {{subjects}} did not trust the certificate of its webhook",
        plural="webhook configurations",
        why="Exact: the API server names the webhook in each refusal, and says that it does not know the authority.",
        effect=(harm, refused),
        last=outage[-1].received,
        acts=divided.acts(outage),
        links=(divided.link(configuration.name, outage),),
        interval=lasted,
    )


def _trusted_after(configuration: Track, outage: list[Request]) -> Moment | None:
    """Return the first write of the configuration after the last refused write that changed a caBundle; None if there
    was none."""
    before: dict[str, str] = {}
    for moment in configuration.moments:
        trusted = {each.name: each.trusts for each in webhooks_in(moment)}
        changed = any(before.get(name, of_it) != of_it for name, of_it in trusted.items())
        if changed and moment.time > outage[-1].received:
            return moment
        before = trusted
    return None


def _trusted_any(configuration: Track, outage: list[Request]) -> bool:
    """Return whether a configuration may have had a caBundle before the last refused write."""
    before = [each for each in configuration.moments if each.time <= outage[-1].received]
    return not before or any(webhook.trusts for each in before for webhook in webhooks_in(each))

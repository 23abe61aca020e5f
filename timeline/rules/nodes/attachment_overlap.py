"""A volume of one node that was attached to a second one.

## What it sees

A claim whose volume only one node at a time may have (`ReadWriteOnce`). Its volume was attached to a second node while
it was still attached to the first one; or it waits to be attached to a second one, because the first attachment does
not end.

## Why it matters

Two nodes that write to one disk destroy the file system on it. Where the storage refuses the second attachment, the
second Pod does not start as long as the first node holds the volume.

## Proof

The VolumeAttachments of the PersistentVolume of the claim: when each was attached, and when it was detached. No write
of them is missing.

## Looks alike but is benign

- A volume that several nodes may have.
- A second attachment that waits for less than the setting `wait`, which is as long as Kubernetes itself waits before it
  detaches a volume by force.

## What to do

Find out why the first attachment did not end before the second one was made.
"""

from bisect import bisect_left
from collections.abc import Iterator
from typing import NamedTuple

from timeline.core.entries import Level
from timeline.history.lifelines import Moment, Track
from timeline.history.world.world import World
from timeline.judging.advice import kubectl
from timeline.judging.coverage.lines import line, need
from timeline.judging.endpoints.readiness import Span, spans
from timeline.judging.findings import Effect, Finding, Occurrence, Part, Proof, longest, occurrence
from timeline.judging.rulebook import rule, setting
from timeline.judging.verdicts import Verdict, between, order_of, so_far, why

WAIT = setting("attachment-overlap", "wait", 360, "s", "How long a volume may take to be detached from a node.")


class _Overlap(NamedTuple):
    """A time in which a volume was attached to one node, and attached, or to be attached, to a second one."""

    first: Span
    second: Track
    since: Moment  # from which on the second one was attached, or waited
    until: int
    attached: bool
    verdict: Verdict


@rule(
    "attachment-overlap",
    judges=("PersistentVolumeClaim",),
    needs=(
        need(line("VolumeAttachment", verbs="status")),
        need(line("PersistentVolume", verbs="state")),
        need(line("PersistentVolumeClaim", verbs="state", level=Level.METADATA)),
        need(line("PersistentVolumeClaim", verbs="state"), misses="which claim of a name had the volume"),
    ),
    incident="The volume of {anchor} was held by two nodes{times}",
    harm="{count} volumes held by two nodes",
    times=True,
)
def judge(claim: Track, world: World) -> Iterator[Finding]:
    volumes = [each for each in world.referrers(claim.name) if each.ref.kind == "PersistentVolume"]
    found = [
        overlap
        for volume in volumes
        if any(getattr(each.facts, "exclusive", False) for each in volume.moments)
        for overlap in _overlaps(volume, world)
        if claim.first.time <= overlap.until and (claim.until is None or overlap.since.time <= claim.until)
    ]
    if not found:
        return
    ref, shown = claim.ref, [_occurrence(each) for each in found]
    worst = longest(shown)
    first, second = found[0].first.track, found[0].second
    yield Finding(
        rule="attachment-overlap",
        subject=ref,
        other=second.ref,
        anchor=claim.name,
        verdict=max((each.verdict for each in found), key=list(Verdict).index),
        summary=f"the volume of PersistentVolumeClaim {ref.name} was {_words(found[0])} for {worst.interval}",
        occurrences=tuple(shown),
        measured=worst,
        advice=(
            "Look: "
            + kubectl("", "get volumeattachments {} {} -o yaml", first.ref.name, second.ref.name)
            + ", and the log of the storage driver's attacher.",
            *_stop(claim, first, world),
            "Clean: check the file system of the volume before it is used again, if both nodes had mounted it.",
            "Prevent: do not delete a Pod by force while its node may still run it; use the taint "
            "`node.kubernetes.io/out-of-service` for a node that is down.",
            f"Verify: {kubectl('', 'get volumeattachments')} shows one attachment of the volume.",
        ),
    )


def _stop(claim: Track, attachment: Track, world: World) -> Iterator[str]:
    """Yield the advice to delete the Pods that use a claim on the node of its first attachment, if any still do."""
    pods = [each for each in world.referrers(claim.name) if each.ref.kind == "Pod" and each.until is None]
    on_node = [each.ref for each in pods if each.value("node") == attachment.value("node")]
    if on_node:
        command = kubectl(claim.ref.namespace, "delete pod {}", on_node[0].name)
        yield f"Stop: before both nodes write, stop the Pod on the first one: {command}."


def _overlaps(volume: Track, world: World) -> Iterator[_Overlap]:
    """Yield the times in which a volume was attached to one node, and attached to another one or to be attached."""
    attachments = [each for each in world.referrers(volume.name) if each.ref.kind == "VolumeAttachment"]
    attachments.sort(key=lambda each: (each.first.at, each.key))
    held = [[*spans(each, world.last, _is_attached)] for each in attachments]
    begun = [(each.first.time, at) for at, each in enumerate(attachments)]
    begun = sorted([*begun, *((span.since.time, at) for at, found in enumerate(held) for span in found)])
    for one, found in zip(attachments, held, strict=True):
        for first in found:
            during = begun[bisect_left(begun, (first.since.time, 0)) : bisect_left(begun, (first.until + 1, 0))]
            for at in sorted({at for _, at in during}):
                if attachments[at].value("node") != one.value("node"):
                    yield from _of_pair(first, attachments[at], held[at], world)


def _is_attached(facts: object) -> bool:
    return bool(getattr(facts, "attached", False))


def _of_pair(first: Span, second: Track, held: list[Span], world: World) -> Iterator[_Overlap]:
    for span in held:
        verdict = order_of(first.since, span.since)
        if verdict and span.since.time < first.until and world.gapless(first.track, first.since.time, span.since.time):
            yield _Overlap(first, second, span.since, min(span.until, first.until), True, verdict)
    waits = second.first
    end = min([first.until, *(each.since.time for each in held), *([second.until] if second.until else [])])
    verdict = order_of(first.since, waits)
    if verdict and end - waits.time >= WAIT.microseconds and world.gapless(first.track, first.since.time, end):
        yield _Overlap(first, second, waits, end, False, verdict)


def _words(overlap: _Overlap) -> str:
    one, other = overlap.first.track.value("node"), overlap.second.value("node")
    if overlap.attached:
        return f"attached to Node {other} while it was attached to Node {one}"
    return f"to be attached to Node {other} while it stayed attached to Node {one}"


def _occurrence(overlap: _Overlap) -> Occurrence:
    first, second = overlap.first, overlap.second
    ended = next((each for each in first.track.moments if each.time == first.until and each.at > first.since.at), None)
    proof = [
        Proof(f"attached to {first.track.value('node')}", first.track.ref, first.since),
        Proof(
            f"{'' if overlap.attached else 'to be '}attached to {second.value('node')}",
            second.ref,
            overlap.since,
            Part.ACT,
        ),
    ]
    if ended:
        proof.append(Proof(f"detached from {first.track.value('node')}", first.track.ref, ended, Part.LATE))
    lasted = between(overlap.since, ended) if ended else so_far(overlap.since, overlap.until)
    harm = "two nodes could write to it" if overlap.attached else "the second Pod could not start"
    return occurrence(
        *proof,
        headline=f"the volume of {{subjects}} was {_words(overlap)} for {lasted}",
        plural="claims",
        why=why(overlap.verdict, first.since, overlap.since),
        effect=(Effect.POSSIBLE, harm),
        first=overlap.since.time,
        last=overlap.until,
        interval=lasted,
        open=ended is None,
    )

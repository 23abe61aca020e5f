"""Objects written before the API served their kind.

## What it sees

A client wrote objects of a kind whose CustomResourceDefinition did not exist, or was not established yet, or whose
APIService was not available yet. The API server answered that it does not know the kind (404), or that nobody serves
it (503). Later the definition was established, or the APIService available.

## Why it matters

The objects are missing until somebody writes them again. A client that does not try again, such as a chart or a
pipeline, has failed for nothing but the order of its steps.

## Proof

The refused writes, which name the API group and the resource of the kind, and the moment at which the definition of
this name was established, or the APIService of this group and version available; if no state of the definition was
logged, the moment at which it was created.

## Looks alike but is benign

- Writes that were refused for less than a second: clients remember for a while which kinds there are, and try again.
  This is only an info.
- Reads of a kind that is not installed: programs ask in that way whether it is.
- A kind whose definition never came, or went before the writes: then nothing was written too early.
- An APIService that was available before: then its server was gone for a while, or too busy.
- An object that does not exist: the API server then names it.

## What to do

Apply the definitions and the APIServices first, wait until they are established or available, and only then apply their
objects.
"""

from collections.abc import Iterator

from timeline.core.entries import Level, Request
from timeline.history.lifelines import Moment, Track
from timeline.history.world.world import World
from timeline.judging.advice import kubectl
from timeline.judging.coverage.lines import line, need
from timeline.judging.findings import Effect, Finding, Occurrence, Part, Proof, longest, occurrence
from timeline.judging.refusals import outages as divided
from timeline.judging.rulebook import rule, setting
from timeline.judging.verdicts import Verdict, between
from timeline.kinds import resource_of

APART = setting("kind-not-served", "apart", 300, "s", "Refused writes further apart than this count separately.")
SHORT = setting("kind-not-served", "short", 1, "s", "Writes refused for a shorter time are only an info.")
_KINDS = ("CustomResourceDefinition", "APIService")


@rule(
    "kind-not-served",
    judges=_KINDS,
    needs=(
        need(line(*_KINDS, verbs="create", level=Level.METADATA)),
        need(line(verbs="vain", level=Level.METADATA)),
        need(line("CustomResourceDefinition", verbs="status"), misses="when the kinds were established"),
        need(line("APIService", verbs="status"), misses="kinds that an APIService serves"),
    ),
    incident="Objects were written before {anchor} was served",
    harm="{count} kinds written before the API served them",
)
def judge(definition: Track, world: World) -> Iterator[Finding]:
    served = _served(definition)
    if not served:
        return
    since = max((each.until or 0 for each in _before(definition, world)), default=0)
    refused = [
        each for each in world.refused_by(definition.name) if since < each.received and each.staged < served.time
    ]
    found = [_occurrence(definition, served, outage) for outage in divided.outages(refused, APART.microseconds)]
    if not found:
        return
    ref = definition.ref
    kind = ref.name
    wait = kubectl("", "wait --for=condition=Established crd/{} --timeout=60s", kind)
    if ref.kind == "APIService":
        kind = f"{resource_of(refused[0].ref.kind)}.{refused[0].ref.group}"
        wait = kubectl("", "wait --for=condition=Available apiservice/{} --timeout=60s", ref.name)
    yield Finding(
        rule="kind-not-served",
        subject=ref,
        verdict=Verdict.EXACT,
        summary=f"{divided.writes(refused)} because {ref.name} was not served yet",
        occurrences=tuple(found),
        measured=longest(found),
        advice=(
            f"Look: {kubectl('', 'get {} -A', kind)}: were the refused writes made again since? The proof has who "
            "sent them.",
            "Clean: apply the manifests of what is missing again: `kubectl apply -f FILE`.",
            f"Prevent: apply the definitions first, and wait: {wait}.",
            f"Verify: {kubectl('', 'get {} -A', kind)} shows the objects.",
        ),
    )


def _served(definition: Track) -> Moment | None:
    """Return the first moment at which an APIService was surely available, or a definition established, or else
    created; None if nothing shows when that was, or if the API server itself serves what the APIService names."""
    served = next((each for each in definition.moments if _state(each)), None)
    if definition.ref.kind == "APIService":
        return served if definition.created and definition.value("service") else None
    return definition.created and (served or definition.created)


def _state(moment: Moment) -> str:
    """Return in which state a definition or an APIService serves its kinds from a moment on; "" if it does not."""
    if getattr(moment.facts, "established", False):
        return "established"
    return "available" if getattr(moment.facts, "available", "") == "True" else ""


def _before(definition: Track, world: World) -> list[Track]:
    lives = world.incarnations(definition.name, definition.first.time)
    return [each for each in lives if each.first.at < definition.first.at]


def _occurrence(definition: Track, served: Moment, outage: list[Request]) -> Occurrence:
    proof = divided.shown(outage, "write refused")
    state = _state(served) or "created"
    proof.append(Proof(f"definition {state}", definition.ref, served, Part.LATE))
    lasted, refused = between(proof[0].moment, served), divided.writes(outage)
    harm = Effect.POSSIBLE if len(outage) > 1 and lasted.least >= SHORT.microseconds else Effect.NONE
    return occurrence(
        *proof,
        headline=f"{refused}, {lasted} before {{subjects}} was {state}",
        plural="definitions",
        why="Exact: the API server answered that it does not serve the kind, before its definition was there.",
        effect=(harm, refused),
        acts=divided.acts(outage),
        links=(divided.link(definition.name, outage),),
        arrow=lasted.arrow,
        interval=lasted,
    )

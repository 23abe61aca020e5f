"""An update refused because it rested on a revision that had been replaced before.

## What it sees

An update or a patch that named a revision of its object and was answered with 409 Conflict, although the write that
replaced this revision had been answered before the request was received. The client had not yet read the newer one.

## Why it matters

The API server refused the write, so no harm was done by it. But the client acts on an old copy of the object, and what
it does to other objects on the strength of that copy is not refused: it creates Pods that are no longer wanted, or
deletes those that are.

## Proof

The write that replaced the revision, and the refused request, which names the revision. The request was received after
the other write had been answered, so no race between the two explains the conflict.

## Looks alike but is benign

- Two requests that overlap: one of them has to lose, whatever its client had seen.
- One conflict and then success: clients read the object again and repeat the write. This is only an info. It is a
  warning if the same replaced revision is named again more than a second later, because then the copy stands still.
- A person who sends an old file again: this is only an info.
- A refused creation, or a patch that names no revision.
- A revision that no line of the log shows as replaced.

## What to do

Look at the actor of the refused request. A controller whose copy stands still watches through an API server or a proxy
that lags behind, or it is overloaded: restart it if it goes on, compare its watch with that of other clients, and look
at its queues.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from timeline.core.actors import KIND, Actor, actor_of
from timeline.core.durations import Length
from timeline.core.entries import Clock, Level, Request
from timeline.history.lifelines import Moment, Name, Track
from timeline.history.world.world import World
from timeline.judging.advice import restart, writers_of
from timeline.judging.copies import spans
from timeline.judging.coverage.lines import USUAL, line, need
from timeline.judging.findings import Effect, Finding, Link, Occurrence, Part, Proof, joined, longest, occurrence
from timeline.judging.requests import Explaining, moment_of, overtaken_by, refused_as_old, replaced_by
from timeline.judging.rulebook import rule, setting
from timeline.judging.verdicts import Verdict

_BY_HAND = ("kubectl/", "oc/", "k9s", "Mozilla")  # people send an old file again, and have no copy that stands still
STILL = setting("stale-write", "still", 1, "s", "How long after a conflict a client must have read the object again.")


class _Conflict:
    """One refused write, and the write by which, at the latest, the revision that it named had been replaced."""

    def __init__(self, request: Request, replacing: Moment, *, known: bool) -> None:
        self.request = request
        self.replacing = replacing
        self.known = known  # whether the replacing write is known to be the one that replaced the named revision
        least, most = request.received - replacing.entry.staged, request.received - replacing.entry.received
        self.lag = Length(least, most if known else None)

    @property
    def named(self) -> str:
        return "an older revision" if self.request.named is None else f"revision {self.request.named}"


@rule(
    "stale-write",
    judges=(),
    needs=(
        need(line(verbs="conflict", level=Level.METADATA, sent=True)),
        need(line(verbs="create update status", level=Level.METADATA, sent=True)),
        need(
            line(*USUAL, verbs="update", level=Level.METADATA, sent=True, others=True),
            misses="updates that replaced a revision",
        ),
        need(
            line(verbs="status", level=Level.METADATA, sent=True),
            misses="writes of the status that replaced a revision",
        ),
        need(line(verbs="update status", sent=True), misses="refused patches during which something else was written"),
    ),
    incident="{anchor} tried to update {subjects} from replaced revisions",
    harm="updates refused",
)
def judge(track: Track, world: World) -> Iterator[Finding]:
    by_actor: dict[Actor | None, list[_Conflict]] = defaultdict(list)
    naming, unnamed = world.requests_apart(track)
    of_name = world.computed(("refused as old", track.name), lambda: [*filter(refused_as_old, unnamed)])
    refused = sorted((*filter(refused_as_old, naming), *of_name), key=lambda each: (each.received, each.identity))
    explaining = Explaining(track, world) if refused else None
    for request in refused:
        if explaining and explaining.may(request) and (conflict := _conflict(track, request, world)):
            by_actor[actor_of(request)].append(conflict)
    occurrences = sorted(
        (
            _occurrence(track, actor, links, conflicts)
            for actor, of_actor in by_actor.items()
            for links, conflicts in _spans(track, actor, of_actor, world)
        ),
        key=lambda each: (each.first, each.last, each.headline),
    )
    if not occurrences:
        return
    count = sum(map(len, by_actor.values()))
    most = max(by_actor, key=lambda actor: (len(by_actor[actor]), str(actor)))
    who = str(most or "somebody") if len(by_actor) == 1 else f"{len(by_actor)} actors"
    times = f"{count} times" if count > 1 else "once"
    yield Finding(
        rule="stale-write",
        subject=track.ref,
        anchor=Name("", KIND, "", most.component if most else "somebody"),
        verdict=Verdict.EXACT,
        summary=f"{who} tried {times} to update {track.ref.kind} {track.ref.name} from a replaced revision",
        occurrences=tuple(occurrences),
        measured=longest(occurrences),
        count=count,
        advice=(
            f"Look: what else did {who} do on its copy of {track.ref.kind} {track.ref.name}? "
            f"{writers_of(track.ref)} shows who has written what stands.",
            *restart(most),
            "Clean: the refused updates changed nothing; see whether what they were to write has been written since.",
            "Prevent: compare its watch with that of other clients; a proxy or an API server may hold it back.",
            'Verify: `apiserver_request_total{code="409"}` of that client no longer grows.',
        ),
    )


def _conflict(track: Track, request: Request, world: World) -> _Conflict | None:
    """Return the conflict if the revision that the request named had surely been replaced before it was received."""
    replacing = None if request.named is None else replaced_by(track, request.named)
    if replacing and replacing.clock is Clock.AUDIT:
        return _Conflict(request, replacing, known=True) if replacing.entry.staged < request.received else None
    latest = overtaken_by(track, request, world)
    return _Conflict(request, latest, known=False) if latest else None


def _spans(
    track: Track, actor: Actor | None, conflicts: Sequence[_Conflict], world: World
) -> Iterator[tuple[tuple[Link, ...], list[_Conflict]]]:
    """Yield the conflicts of one actor by the span of old copies to which they belong, each with its links; those of
    copies that were new shortly before have none."""
    by_revision: dict[int | None, list[_Conflict]] = defaultdict(list)
    for each in conflicts:
        by_revision[each.request.named].append(each)
    spans_of: dict[str, tuple[list[Link], list[_Conflict]]] = defaultdict(lambda: ([], []))
    for named, of_revision in by_revision.items():
        oldest = max(of_revision, key=lambda each: each.lag.least)
        links = []
        if actor and _was_old(track, actor, named, oldest, world):
            links = [spans.link(actor, track, each.request.received, world) for each in of_revision]
        found = spans_of[links[-1].key if links else ""]
        found[0].extend(links)
        found[1].extend(of_revision)
    for links, of_span in spans_of.values():
        yield joined(links), of_span


def _was_old(track: Track, actor: Actor, named: int | None, conflict: _Conflict, world: World) -> bool:
    """Return whether a copy was old already when the sync began whose update was refused."""
    sent = conflict.request.received
    began = sent if named is None else spans.began(actor, track, named, sent, world)
    return began - conflict.replacing.entry.staged >= spans.LAG.microseconds


def _occurrence(
    track: Track, actor: Actor | None, links: tuple[Link, ...], conflicts: Sequence[_Conflict]
) -> Occurrence:
    """Return conflicts of one actor as one occurrence, proved by the one whose copy was the oldest."""
    worst = max(conflicts, key=lambda each: (each.lag.least, -each.request.received))
    still = _stands_still(conflicts)
    request, replacing = worst.request, worst.replacing
    ref = track.ref
    named = worst.named
    if still and not request.user_agent.startswith(_BY_HAND):
        effect = Effect.POSSIBLE, f"the copy that {actor or 'the client'} acts on stood still for {still}"
    else:
        effect = Effect.NONE, "the API server refused the write"
    return occurrence(
        Proof(f"replaced {named}" if worst.known else "last write before it", ref, replacing),
        Proof(f"refused: it named {named}", ref, moment_of(request), Part.ACT),
        headline=f"{actor or 'somebody'} tried to update {{subjects}} from {named}, replaced {worst.lag} before",
        plural=f"objects of kind {ref.kind}",
        why=_why(worst),
        effect=effect,
        first=min(min(each.request.received, replacing.time) for each in conflicts),
        last=max(each.request.received for each in conflicts),
        links=links,
        arrow=worst.lag.arrow,
        interval=worst.lag,
    )


def _why(conflict: _Conflict) -> str:
    if conflict.known:
        return (
            f"Exact: the refused request names {conflict.named}, and was received after the write that replaced it was "
            "answered."
        )
    return (
        "Exact: the object was not written while the request was under way, and no line is known to be lost, so the "
        "last write before it had replaced what it named, or an earlier one had."
    )


def _stands_still(conflicts: Sequence[_Conflict]) -> Length | None:
    """Return for how long at least one replaced revision was named again and again; None if it never was for longer
    than the setting allows."""
    by_revision: dict[int | None, list[int]] = defaultdict(list)
    for each in conflicts:
        by_revision[each.request.named].append(each.request.received)
    longest_span = max(max(times) - min(times) for times in by_revision.values())
    return Length(longest_span, None) if longest_span > STILL.microseconds else None

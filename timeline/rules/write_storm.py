"""A client that writes one object again and again without changing anything.

## What it sees

Within a minute, one client sent at least twenty writes about one object (or about one name) that changed nothing: the
object was as the write wanted it, or the API server refused the write because the object existed already, was gone, or
had been changed meanwhile.

## Why it matters

Each such write costs the API server, its webhooks and etcd as much as one that changes something, and a controller that
is busy with it comes to other objects late. It mostly comes from a controller that does not see what it has written.

## Proof

The first and the last of the writes. A write changed nothing if its answer repeats the revision of an earlier write, or
if it was refused with 409 Conflict, 409 AlreadyExists or 404 NotFound.

## Looks alike but is benign

- A single run over all objects, which writes each of them once without an effect.
- Retries that are fewer than twenty within a minute, such as those with a growing delay.
- Renewals of a Lease and heartbeats of Nodes: these change the object.
- Writes that a policy forbids (403) or that are not valid (422): these are another mistake.

## What to do

Look at the client's log about this object, restart the client if it goes on, and see then whether the object is as it
should be. A controller should compare the object with what it wants before it writes, and wait longer after each
refusal.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence

from timeline.core.actors import Actor, actor_of
from timeline.core.durations import Length
from timeline.core.entries import FOREVER, Level, Request
from timeline.history.lifelines import Track
from timeline.history.world.world import World
from timeline.judging.advice import about, restart, writers_of
from timeline.judging.coverage.lines import USUAL, line, need
from timeline.judging.findings import Effect, Finding, Occurrence, Part, Proof, occurrence
from timeline.judging.requests import moment_of
from timeline.judging.rulebook import rule, setting
from timeline.judging.verdicts import Verdict

WRITES = setting("write-storm", "writes", 20, "", "How many writes that change nothing are too many.")
WITHIN = setting("write-storm", "within", 60, "s", "The time within which so many writes are too many.")
_IN_VAIN = frozenset({200, 201, 404, 409})  # the answers to writes that changed nothing
_READS = frozenset({"get", "list", "watch"})


@rule(
    "write-storm",
    judges=(),
    needs=(
        need(line(verbs="conflict vain", level=Level.METADATA, sent=True)),
        need(
            line(verbs="conflict", level=Level.METADATA, sent=True),
            misses="writes that were refused because of a conflict",
        ),
        need(
            line(verbs="vain", level=Level.METADATA, sent=True),
            misses="writes that were refused otherwise, or changed nothing",
        ),
        need(line(*USUAL, verbs="update", sent=True, others=True), misses="updates that changed nothing"),
    ),
    incident="{subjects} was written again and again without effect",
    harm="{anchors} written again and again",
)
def judge(track: Track, world: World) -> Iterator[Finding]:
    by_actor: dict[Actor, list[Request]] = defaultdict(list)
    naming, unnamed = world.requests_apart(track)
    if len(naming) + len(unnamed) < WRITES.value:
        return
    since, until = _time_of(track, world.incarnations(track.name))
    first, end = (bisect_left(unnamed, each, key=_received) for each in (since, until))
    for request in sorted((*naming, *unnamed[first:end]), key=lambda each: (each.received, each.identity)):
        in_vain = request.code in _IN_VAIN and request.verb not in _READS
        if in_vain and (actor := actor_of(request)):
            by_actor[actor].append(request)
    storms = [(actor, storm) for actor, sent in by_actor.items() for storm in _storms(sent)]
    if not storms:
        return
    busiest = max(storms, key=lambda each: len(each[1]))[0]
    occurrences = [_occurrence(track, actor, storm) for actor, storm in storms]
    occurrences.sort(key=lambda each: (each.first, each.last, each.headline))
    ref = track.ref
    worst = max(occurrences, key=lambda each: (len(each.proof), each.length, -each.first))
    yield Finding(
        rule="write-storm",
        subject=ref,
        verdict=Verdict.EXACT,
        summary=worst.headline.format(subjects=f"{ref.kind} {ref.name}"),
        occurrences=tuple(occurrences),
        advice=(
            f"Look: what does the log of {busiest} say about this object? {writers_of(ref)} shows who has written it.",
            *restart(busiest),
            f"Clean: when it has stopped, see whether {about('get', ref, ' -o yaml')} is as it should be.",
            "Prevent: a controller should compare before it writes, and wait longer after each refusal.",
            "Verify: the requests of this client about this object become fewer.",
        ),
    )


def _received(request: Request) -> int:
    return request.received


def _time_of(track: Track, lives: Sequence[Track]) -> tuple[int, int]:
    """Return from when until before when (µs since 1970) a request without a UID counts as one about this incarnation:
    while it was the last that had begun. What came before all incarnations counts for the first."""
    try:
        number = lives.index(track)
    except ValueError:
        return 0, 0
    until = lives[number + 1].first.time if number + 1 < len(lives) else FOREVER
    return track.first.time if number else -FOREVER, until


def _storms(sent: Sequence[Request]) -> Iterator[Sequence[Request]]:
    """Yield the series in which every stretch of the setting's length has too many writes, in order of time."""
    count, start, end = int(WRITES.value), 0, 0
    for last in range(count - 1, len(sent)):
        first = last - count + 1
        if sent[last].received - sent[first].received > WITHIN.microseconds:
            continue
        if first >= end:
            if end:
                yield sent[start:end]
            start = first
        end = last + 1
    if end:
        yield sent[start:end]


def _occurrence(track: Track, actor: Actor, storm: Sequence[Request]) -> Occurrence:
    first, last = storm[0], storm[-1]
    refused = sum(each.refused for each in storm)
    length = Length(last.received - first.received, last.received - first.received)
    in_vain = f"{refused} were refused, the others changed nothing" if refused else "none of them changed anything"
    return occurrence(
        Proof("first write", track.ref, moment_of(first), Part.ACT),
        Proof("last write", track.ref, moment_of(last), Part.ACT),
        headline=f"{actor} wrote {{subjects}} {len(storm)} times in {length} without effect",
        plural=f"objects of kind {track.ref.kind}",
        why=f"Exact: of the {len(storm)} requests {in_vain}, as their answers show.",
        effect=(Effect.POSSIBLE, "the API server and the client were busy with writes in vain"),
    )

"""A client that watched from a revision and later went on from an older one.

## What it sees

A client watched all objects of a kind from one revision, and later, when that watch had ended, from an older revision,
although objects of the kind were changed between the two revisions. It had seen these changes, and then no longer saw
them.

## Why it matters

Controllers rely on time never running backwards. One that sees the past deletes what it believes to be left over, and
creates what it believes to be missing. It happens when a client moves to an API server whose cache lags behind, and
lists there with `resourceVersion=0`, which accepts any age.

## Proof

The two watch requests, whose addresses name the revisions, and the first change between these that the client no longer
saw. Only a token that is bound to a Pod shows that one process sent both requests; without one, the finding is
inconclusive. It is a warning if the client then created or deleted an object on the strength of a state that one of
these changes had replaced, or for an owner that was gone, else an info.

## Looks alike but is benign

- A watch that goes on from an older revision, if no object of the kind was changed in between. Where the log does not
  show the revisions of all changes, the finding says that what was changed is not known.
- Two watches at the same time: these are two parts of a program, or two programs behind one address.
- A restart that lists what is newest (`resourceVersion` left out).

## What to do

Find out which API server answered the second list, and why its cache was behind: its connection to etcd, its load.
Clients that cannot bear the past list without `resourceVersion`, or with `resourceVersionMatch=NotOlderThan` and the
last revision that they have seen.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple

from timeline.core.actors import Actor, actor_of
from timeline.core.durations import Length
from timeline.core.entries import Level, Request, revision
from timeline.history.lifelines import Key, Moment, Name, Track, name_of
from timeline.history.world.world import World
from timeline.judging.advice import kubectl, resource, restart
from timeline.judging.copies import spans
from timeline.judging.copies.past_acts import PastAct, past_act
from timeline.judging.coverage.lines import USUAL, line, need
from timeline.judging.findings import Effect, Finding, Occurrence, Part, Proof, longest, occurrence
from timeline.judging.requests import moment_of
from timeline.judging.rulebook import rule
from timeline.judging.verdicts import Verdict

_SHOWN = 20  # occurrences that a finding has at most


class _Return(NamedTuple):
    """One return to an older revision: the watch of the newest revision before it, the watch after it, and what the
    client then did on the strength of what it saw."""

    newest: Request
    older: Request
    track: Track  # the object with the first change that the client no longer saw; else one of those that it watched
    unseen: Moment | None  # that change; None if the log does not show the revisions of all changes
    changes: int  # how many changes it no longer saw, as far as that is known
    act: PastAct | None  # what it did on the strength of that


@rule(
    "view-went-back",
    judges=(),
    recordings=True,
    needs=(
        need(line(verbs="watch", level=Level.METADATA, sent=True)),
        need(line(verbs="create update status delete", level=Level.METADATA)),
        need(
            line(*USUAL, verbs="create", level=Level.METADATA, others=True), misses="creations that were not seen again"
        ),
        need(
            line(*USUAL, verbs="update", level=Level.METADATA, others=True), misses="updates that were not seen again"
        ),
        need(line(verbs="status", level=Level.METADATA), misses="writes of the status that were not seen again"),
        need(line(verbs="delete", level=Level.METADATA), misses="deletions that were not seen again"),
        need(line(verbs="create update status delete"), misses="the changes that were not seen again"),
    ),
    incident="{anchor} saw the past{times}",
    harm="{anchors} saw the past",
)
def judge(track: Track, world: World) -> Iterator[Finding]:
    everywhere, there = _scopes(*track.name[:3])
    watched = world.requests(everywhere) or world.requests(there)
    if watched and not world.live:
        yield from world.once("view-went-back", lambda: _findings(world)).get(track.key, ())


@lru_cache(1000)
def _scopes(group: str, kind: str, namespace: str) -> tuple[Name, Name]:
    """Return the names under which requests about all objects of a kind are found: in all namespaces, and in one."""
    return Name(group, kind, "", ""), Name(group, kind, namespace, "")


def _findings(world: World) -> dict[Key, list[Finding]]:
    """Return one finding for each client that went back, by the key of the object that proves it."""
    by_actor: dict[Actor, list[_Return]] = defaultdict(list)
    for scope, of_kind in groupby(world.watches(), key=lambda request: name_of(request.ref)):
        watches: dict[tuple[Actor, str], list[tuple[int, Request]]] = defaultdict(list)
        for request in of_kind:
            actor, since = actor_of(request), revision(request.since)
            if actor and since and not request.refused:
                watches[actor, request.selector].append((since, request))
        for (actor, _), requests in watches.items():
            by_actor[actor] += _returns(actor, requests, scope, world)
    found: dict[Key, list[Finding]] = defaultdict(list)
    for actor, returns in sorted(by_actor.items()):
        if returns:
            returns.sort(key=lambda each: (each.older.received, each.older.identity))
            found[returns[0].track.key].append(_finding(actor, returns, world))
    return found


def _returns(actor: Actor, requests: list[tuple[int, Request]], scope: Name, world: World) -> Iterator[_Return]:
    newest, at = requests[0][1], requests[0][0]
    for since, request in requests[1:]:
        if since >= at:
            newest, at = request, since
        elif request.received > newest.staged:
            changes = world.once(("changes", scope), lambda: _changes(scope, world))
            start, end = (bisect_right(changes, each, key=lambda change: change[0]) for each in (since, at))
            if start < end:
                _, _, track, unseen = changes[start]
                again = [(each, moment) for _, _, each, moment in changes[start:end]]
                act = past_act(actor.process, scope[:2], request.received, again, world)
                yield _Return(newest, request, track, unseen, end - start, act)
            elif one := world.once(("without revision", scope), lambda: _without_revision(scope, world)):
                yield _Return(newest, request, one, None, 0, None)
            newest, at = request, since  # from here on, it sees what this watch shows


def _changes(scope: Name, world: World) -> list[tuple[int, Key, Track, Moment]]:
    """Return the changes of a kind, in one namespace or in all, sorted by revision."""
    changes = [
        (moment.stamp.resource_version, track.key, track, moment)
        for track in world.of_kind(scope.group, scope.kind)
        if scope.namespace in ("", track.ref.namespace)
        for moment in track.moments
        if moment.stamp.resource_version is not None
    ]
    return sorted(changes, key=lambda each: each[:2])


def _without_revision(scope: Name, world: World) -> Track | None:
    """Return an object of a kind with a change whose revision the log does not show; None if there is none."""
    tracks = (each for each in world.of_kind(scope.group, scope.kind) if scope.namespace in ("", each.ref.namespace))
    unclear = (each for each in tracks if any(one.stamp.resource_version is None for one in each.moments))
    return next(unclear, None)


def _finding(actor: Actor, returns: list[_Return], world: World) -> Finding:
    occurrences = tuple(_occurrence(actor, each, world) for each in returns[:_SHOWN])
    kinds = sorted({each.older.ref.kind for each in returns})
    see = kubectl("", "get {} -A", resource(returns[0].older.ref))
    return Finding(
        rule="view-went-back",
        subject=actor.ref,
        anchor=Name("", actor.ref.kind, "", str(actor)),
        verdict=Verdict.EXACT if actor.bound else Verdict.INCONCLUSIVE,
        summary=f"{actor} watched {', '.join(kinds)} from an older revision than before",
        occurrences=occurrences,
        measured=longest(occurrences),
        count=len(returns),
        advice=(
            f"Look: what did {actor} write while it saw the past?",
            *restart(actor),
            f"Clean: compare what it created and deleted then with what was asked for: {see} shows what there is.",
            "Prevent: find out which API server answered its list, and why the cache of that server was behind.",
            "Verify: each of its watches goes on from a revision that is not older than the one before.",
        ),
    )


def _occurrence(actor: Actor, back: _Return, world: World) -> Occurrence:
    newest, older = back.newest, back.older
    lag, proof, changes = None, [], "what was changed in between is not known"
    if back.unseen:
        committed = back.unseen.entry
        lag = Length(max(0, older.received - committed.staged), older.received - committed.received)
        proof = [Proof("first change not seen again", back.track.ref, back.unseen)]
        changes = "one change unseen again" if back.changes == 1 else f"{back.changes} changes unseen again"
    sure = (
        "Exact: both requests carry the token of one Pod"
        if actor.bound
        else "Inconclusive: both requests come from one address and one program, which may be several processes"
    )
    return occurrence(
        *proof,
        Proof(f"watched from revision {newest.since}", back.track.ref, moment_of(newest)),
        Proof(f"went on from revision {older.since}", back.track.ref, moment_of(older)),
        *([Proof("acted on what it saw", back.act.track.ref, back.act.moment, Part.ACT)] if back.act else []),
        headline=f"{actor} had watched {older.ref.kind}s from revision {newest.since}, and went on from {older.since}: "
        f"{changes}",
        plural="clients",
        why=f"{sure}, and the second watch began after the first had ended.",
        effect=_effect(back),
        first=newest.received,
        last=back.act.moment.time if back.act else older.received,
        links=(spans.link(actor, back.track, older.received, world),) if back.unseen else (),
        arrow=f"{lag} back" if lag else "back",
        interval=lag,
    )


def _effect(back: _Return) -> tuple[Effect, str]:
    if back.act is None:
        return Effect.NONE, "nothing shows that it acted on what it saw"
    return Effect.NONE if back.act.refused else Effect.POSSIBLE, f"it then {back.act.words}"

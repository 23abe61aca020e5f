"""Find the times in which endpoints of a Service were ready. It does no I/O."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

from timeline.core.entries import Change, Clock
from timeline.history.lifelines import Moment, Track
from timeline.history.world.world import World


class Span(NamedTuple):
    """A time in which a condition held for a track."""

    track: Track
    since: Moment
    until: int  # drawn time, in microseconds since 1970


def spans(track: Track, end: int, holds: Callable[[Any], bool]) -> Iterator[Span]:
    """Yield the times, up to the drawn time `end`, in which the facts of a track met the condition `holds`."""
    since = None
    for moment in track.moments:
        if moment.time > end:
            break
        met = moment.change is not Change.DELETED and holds(moment.facts)
        if met and not since:
            since = moment
        elif since and not met:
            yield Span(track, since, moment.time)
            since = None
    if since:
        yield Span(track, since, end if track.until is None else min(end, track.until))


def endpoints_of(service: Track, world: World, until: int | None = None) -> list[Track]:
    """Return the EndpointSlices of a Service, or its Endpoints if the source shows no EndpointSlices; with `until`,
    those that began by this drawn time."""
    slices = [
        track
        for track in world.referrers(service.name, until)
        if track.ref.kind == "EndpointSlice"
        and not (track.owner and track.owner.kind == "Service" and track.owner.uid != service.ref.uid)
    ]
    return slices or [*world.incarnations(service.name._replace(kind="Endpoints"), until)]


def ready(pieces: list[Track], end: int) -> list[Span]:
    """Return the times, up to the drawn time `end`, in which any of the EndpointSlices had a ready endpoint, in
    order."""
    joined: list[Span] = []
    found = [span for piece in pieces for span in spans(piece, end, lambda facts: facts.ready)]
    for span in sorted(found, key=lambda span: span.since.at):
        if joined and span.since.time <= joined[-1].until:
            joined[-1] = joined[-1]._replace(until=max(joined[-1].until, span.until))
        else:
            joined.append(span)
    return joined


def ready_on_same_nodes(pieces: list[Track], end: int) -> list[Span]:
    """Return the time before the drawn time `end` in which the ready endpoints were on the same nodes as at `end`, as a
    list of one span, or of none if no endpoint was ready then."""
    latest = []
    for piece in pieces:
        facts = piece.facts_at(end)
        found = list(spans(piece, end, partial(_on_nodes, facts.placement if facts else 0)))
        latest += [span for span in found[-1:] if span.until == end]
    return [max(latest, key=lambda span: span.since.at)] if latest else []


def _on_nodes(nodes: int, facts: Any) -> bool:
    return bool(nodes) and facts.placement == nodes


def surely_unchanged(track: Track, since: int, until: int, world: World) -> bool:
    """Return whether surely no write of an object is missing between two drawn times.

    A watch is assumed to have continued after its last change.
    """
    watched = track.last.clock is Clock.OBJECT or world.seen[track.ref.group, track.ref.kind].watched
    return world.gapless(track, since, min(until, track.last.time) if watched else until)

"""Fill the tables from an analysis. It does no I/O. Times and lengths are whole microseconds."""

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from collectors.analysis import Analysis
from timeline.core.entries import FOREVER, Entry
from timeline.history.lifelines import Moment, Track, name_of, public_uid
from timeline.history.world.world import World
from timeline.judging.activity import activities
from timeline.judging.incidents.subjects import identity
from timeline.kinds import kind_of
from timeline.layout.events import drawn_text
from timeline.payloads import documents
from timeline.payloads.actors import actor_row
from timeline.payloads.incidents import making as incidents
from timeline.payloads.incidents import symptoms

Row = tuple[Any, ...]  # the values of the columns of a table, in their order
_WHOLE = 2**63 - 1
_OBJECT = 2**40 - 1  # `World.number` has the number of the object in these bits
_encode: Callable[[Any], bytes] = msgspec.json.Encoder().encode


def entry(number: int, key: int, each: Entry) -> Row:
    """Return the row of an observation. `key` is the number of its object, as `World.learn` yields it."""
    ref, client, place = each.ref, each.client, each.place
    return (
        number,
        key,
        ref.group,
        ref.kind,
        ref.namespace,
        ref.name,
        public_uid(ref),
        each.change.value,
        each.action,
        each.received,
        None if each.staged == FOREVER else each.staged,
        each.clock.value,
        each.level.value,
        *_revision(each.resource_version),
        None if each.replaces is None else str(each.replaces),
        each.writer,
        each.actor,
        each.user_agent,
        client.address if client else "",
        client.pod if client else "",
        each.identity,
        place.file if place else "",
        place.line if place else None,
        each.body.decode() if each.body else None,
    )


def tracks(world: World) -> Iterator[Row]:
    for track in world.tracks():
        ref, owner, number = track.ref, world.owner_of(track), world.number(track)
        facts = track.last.facts
        is_pod = (ref.group, ref.kind) == ("", "Pod")
        ready = next((each for each in track.moments if each.facts.ready), None) if is_pod else None
        yield (
            number,
            number & _OBJECT,
            ref.group,
            ref.kind,
            ref.namespace,
            ref.name,
            public_uid(ref),
            None if owner is None else world.number(owner),
            world.number(world.root(track)),
            track.first.time,
            track.until,
            track.created is not None,
            track.ended is not None,
            track.created.entry.writer if track.created else "",
            len(track.moments),
            kind_of(ref.group, ref.kind).phase(facts).text,
            (track.value("node") or "") if is_pod else None,
            [image for _, image in track.value("images") or ()] if is_pod else None,
            *_between(track.created, ready),
            *_between(track.created, track.ended),
        )


def moments(world: World) -> Iterator[Row]:
    for track in world.tracks():
        yield from _moments(world.number(track), track)


def _moments(number: int, track: Track) -> Iterator[Row]:
    kind = kind_of(track.ref.group, track.ref.kind)
    before: Any = None
    facts = b""
    for at, each in enumerate(track.moments, 1):
        entry, place = each.entry, each.entry.place
        earliest, latest = each.committed
        if each.facts is not before or not facts:
            facts = _encode(each.facts)
        yield (
            number,
            at,
            each.time,
            earliest,
            latest,
            *_revision(entry.resource_version),
            each.space,
            entry.change.value,
            entry.action,
            kind.phase(each.facts).text,
            drawn_text(kind, before, each.facts, entry.change.value),
            entry.writer,
            entry.actor,
            entry.user_agent,
            entry.identity,
            place.file if place else "",
            place.line if place else None,
            facts.decode(),
        )
        before = each.facts


def findings(analysis: Analysis) -> Iterator[Row]:
    world = analysis.world
    for found in analysis.findings:
        document = documents.finding(found)
        subject, other, cause, interval = found.subject, found.other, found.cause, found.interval
        track = world.track((name_of(subject), subject.uid))
        writers = (proof.moment.entry.writer for each in found.occurrences for proof in each.proof)
        yield (
            found.id,
            list(dict.fromkeys(analysis.places.get(found.id, ()))),
            identity(found.rule, found.anchor) if found.anchor else None,
            found.rule,
            found.severity,
            document["verdict"],
            document["status"],
            None if track is None else world.number(track),
            subject.group,
            subject.kind,
            subject.namespace,
            subject.name,
            public_uid(subject),
            other.kind if other else None,
            other.namespace if other else None,
            other.name if other else None,
            found.summary,
            document["why"],
            min(each.first for each in found.occurrences),
            max(each.last for each in found.occurrences),
            len(found.occurrences),
            interval.least if interval else None,
            interval.most if interval else None,
            document["effect"],
            document["effect_text"],
            cause.rule if cause else None,
            cause.sentence if cause else None,
            list(dict.fromkeys(filter(None, writers))),
        )


def incidents_of(analysis: Analysis) -> Iterator[Row]:
    for each in analysis.incidents():
        shown = incidents.payload(each)
        yield (
            each.id,
            each.gravest.rule,
            each.title,
            each.root or None,
            each.worst.severity,
            shown["status"],
            shown["state"],
            *each.gravest.anchor,
            len(each.symptoms),
            each.subjects,
            len(each.findings),
            each.occurrences,
            each.first,
            each.last,
            shown["effect"],
            each.worst.effect_text,
            each.cause or None,
            each.actors,
        )


def symptoms_of(analysis: Analysis) -> Iterator[Row]:
    for incident in analysis.incidents():
        for each in incident.symptoms:
            shown = symptoms.payload(each)
            yield (
                incident.id,
                each.id,
                each.rule,
                each.title,
                shown["severity"],
                shown["status"],
                shown["state"],
                *each.anchor,
                each.subjects,
                len(each),
                len(each.times),
                each.first,
                each.last,
                shown["effect"],
                shown["effect_text"],
                each.actors,
            )


def actors(analysis: Analysis) -> Iterator[Row]:
    for key, activity in sorted(activities(analysis.world, analysis.findings).items()):
        row = actor_row(key, activity)
        yield (
            row["id"],
            row["name"],
            row["component"],
            row["process"],
            row["bound"],
            row["account"],
            row["user_agent"],
            row["writes"],
            row["busiest"],
            row["stale"],
            row["raced"],
            row["unclear"],
            row["retries"],
            row["refused"],
            row["copies"],
            row["old"],
            row["worst_lag"],
            None,
            row["leases_total"],
            row["findings"],
            row["first"] or None,
            row["last"] or None,
        )


def _revision(revision: int | None) -> tuple[str | None, int | None]:
    if revision is None:
        return None, None
    return str(revision), revision if revision <= _WHOLE else None


def _between(one: Moment | None, other: Moment | None) -> tuple[int | None, int | None]:
    """Return the least and the most time between two changes; None if one was not observed, or nothing bounds it."""
    if one is None or other is None:
        return None, None
    (earliest, latest), (after, until) = one.committed, other.committed
    least = 0 if latest is None else max(0, after - latest)
    return least, None if until is None else max(least, until - earliest)

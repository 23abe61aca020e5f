"""Read one object: its incarnations, its owner, what it needs, and the findings that name it."""

from collections.abc import Iterable
from typing import Any

import msgspec
from django.db.models import QuerySet

from timeline.core.entries import ObjectRef, microseconds
from timeline.kinds import Reference, kind_of
from timeline.models import Finding, Source, Track
from timeline.payloads.documents import object_payload
from timeline.payloads.findings import AnchorPayload, ObjectPayload
from timeline.payloads.objects import LifePayload, RelationsPayload, TrackFindingPayload
from timeline.payloads.windows import Columns
from timeline.queries.people.acknowledgements import acknowledged
from timeline.queries.sources.extents import extent
from timeline.queries.window.view import View
from timeline.queries.window.windows import window

FEW = 50  # the most children, or objects that need it, that are listed
FINDINGS = 100  # the most findings that are listed
_SEVERITIES = ("error", "warning", "info")


def relations(source: Source, row: Track) -> RelationsPayload:
    """Return a track with its relations to others."""
    source_id, track_id = source.pk, row.id
    all_of = Track.objects.filter(source=source)
    kind = kind_of(row.group, row.kind)
    facts = [msgspec.convert(stored, kind.facts_type) for *_, stored in row.lifeline if stored is not None]
    children = all_of.filter(root=row.root, owner=track_id) if row.id else all_of.none()
    naming = all_of.filter(needs__contains=[row.lane])
    needed_by, events = naming.exclude(family="Events"), naming.filter(family="Events")
    owner = all_of.filter(id=row.owner) if row.owner else all_of.none()
    start, end = microseconds(row.life.lower), row.life.upper and microseconds(row.life.upper)
    return {
        "source": source_id,
        "track": track_id,
        "object": object_of(row),
        "short": kind.short,
        "family": row.family,
        "phase": kind.phase(facts[-1]).text if facts else "",
        "number": row.number,
        "root": row.root,
        "created": bool(row.lifeline) and row.lifeline[0][2] == "created",
        "start": start,
        "end": end,
        "url": page(source_id, track_id),
        "timeline": timeline(source, start, end, row.root),
        "incarnations": lives(all_of.filter(lane=row.lane).order_by("life", "id"), source_id),
        "owner": next(iter(lives(owner, source_id)), None),
        "children": lives(children.order_by("number")[:FEW], source_id),
        "children_total": children.count(),
        "needs": _needs(source_id, row, {need for each in facts for need in kind.references(each)}),
        "needed_by": lives(needed_by.order_by("life", "id")[:FEW], source_id),
        "needed_by_total": needed_by.count(),
        "events": lives(events.order_by("life", "id")[:FEW], source_id),
        "events_total": events.count(),
        "findings": _findings(source_id, track_id),
    }


def page_of(source_id: int, anchor: AnchorPayload) -> str:
    """Return the address of the page of the last incarnation of what an incident is about; "" if none was observed."""
    named = Track.objects.filter(source=source_id, **anchor).order_by("-life", "-id").values_list("id", flat=True)
    return page(source_id, last) if (last := named.first()) is not None else ""


def page(source_id: int, track_id: int) -> str:
    return f"/sources/{source_id}/objects/{track_id}/"


def timeline(source: Source, start: int, end: int | None, root: int) -> str:
    """Return the address of the timeline of a root owner, for a range of time and a little on both sides."""
    first, last = extent(source)
    end = last if end is None else end
    room = max((end - start) // 8, 500_000)
    span = {"start": max(start - room, first - room), "end": min(end + room, last + room)}
    return f"/sources/{source.pk}/{View(focus=root).query(**span)}"


def lives(rows: QuerySet[Track] | Iterable[Track], source_id: int, role: str = "") -> list[LifePayload]:
    if isinstance(rows, QuerySet):
        rows = rows.defer("lifeline")
    return [life(row, source_id, role) for row in rows]


def life(row: Track, source_id: int, role: str = "") -> LifePayload:
    return {
        "track": row.id,
        "object": object_of(row),
        "short": kind_of(row.group, row.kind).short,
        "family": row.family,
        "role": role,
        "start": microseconds(row.life.lower),
        "end": row.life.upper and microseconds(row.life.upper),
        "url": page(source_id, row.id),
    }


def object_of(row: Track) -> ObjectPayload:
    """Return the object of a track."""
    return object_payload(ObjectRef(row.group, row.version, row.kind, row.namespace, row.name, row.uid))


def _needs(source_id: int, row: Track, references: set[Reference]) -> list[LifePayload]:
    """Return the objects to which a track refers: of each name, the last incarnation that began before the track ended.

    Names without an observed object are included.
    """
    found = []
    for group, kind, name, role, own in sorted(references):
        namespace = row.namespace if own is None else own
        named = Track.objects.filter(source=source_id, group=group, kind=kind, namespace=namespace, name=name)
        there = list(named.defer("lifeline").order_by("life"))
        before = [each for each in there if row.life.upper is None or each.life.lower <= row.life.upper]
        if there:
            found.append(life((before or there[:1])[-1], source_id, role))
            continue
        known = kind_of(group, kind)
        found.append(
            {
                "track": None,
                "object": object_payload(ObjectRef(group, "", kind, namespace, name)),
                "short": known.short,
                "family": known.family,
                "role": role,
                "start": None,
                "end": None,
                "url": "",
            }
        )
    return found


def _findings(source_id: int, track_id: int) -> list[TrackFindingPayload]:
    """Return the findings that name a track, errors first."""
    rows = list(Finding.objects.filter(source=source_id, tracks__contains=[track_id]).order_by("first")[:FINDINGS])
    notes = acknowledged(source_id, [row.identity for row in rows])
    found: list[TrackFindingPayload] = [
        {
            "id": row.identity,
            "rule": row.rule,
            "severity": row.document["severity"],
            "summary": row.document["summary"],
            "relation": _relation(row, track_id),
            "start": microseconds(row.first),
            "url": f"/sources/{source_id}/findings/{row.identity}/",
            "acknowledged": notes.get(row.identity),
        }
        for row in rows
    ]
    return sorted(found, key=lambda each: (_SEVERITIES.index(each["severity"]), each["start"]))


def _relation(row: Finding, track_id: int) -> Any:
    if row.subject == track_id:
        return "about it"
    proofs = {proof["track"] for each in row.occurrences for proof in each["proof"]}
    return "names it" if track_id in proofs else "affects it"


def life_columns(shown: RelationsPayload) -> tuple[Columns, int, int]:
    """Return the drawing of a track and of other incarnations of its name around it, and the range of time of the
    drawing, in microseconds since 1970."""
    source = Source.objects.get(pk=shown["source"])
    first, last = extent(source)
    start, end = shown["start"], last if shown["end"] is None else shown["end"]
    room = max((end - start) // 12, 20_000)
    start, end = max(start - room, first - room), min(end + room, last + room)
    view = View(pins=(lane_key(shown["object"]),))
    return window(source.pk, max(0, start), end, limit=0, view=view), start, end


def lane_key(ref: ObjectPayload) -> str:
    """Return the key of the lane of an object, which is that of `LanePayload`."""
    return f"{ref['kind']}{'.' + ref['group'] if ref['group'] else ''}/{ref['namespace']}/{ref['name']}"

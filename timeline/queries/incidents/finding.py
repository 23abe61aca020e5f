"""Read one finding with everything that its page shows."""

from typing import Any

from timeline.models import Finding, Source, Track
from timeline.payloads.findings import FindingPayload, ObjectPayload
from timeline.payloads.incidents.ranges import bounds
from timeline.payloads.objects import FindingPagePayload, OccurrencePayload
from timeline.payloads.windows import Columns
from timeline.queries.objects.lives import lane_key, life
from timeline.queries.people.acknowledgements import acknowledged
from timeline.queries.window.view import View
from timeline.queries.window.windows import window

_LANES = 6  # the most lanes that are drawn


def finding(source_id: int, identity: str) -> FindingPagePayload:
    """Return the finding with this identity. Raises Source.DoesNotExist and Finding.DoesNotExist."""
    source = Source.objects.get(pk=source_id, ready=True)
    row = Finding.objects.get(source=source, identity=identity)
    document: FindingPayload = row.document
    occurrences = [_occurrence(source, each) for each in row.occurrences]
    named = Track.objects.filter(source=source, id__in=row.tracks).defer("lifeline").order_by("life")
    return {
        **document,
        "source": source_id,
        "url": f"/sources/{source_id}/findings/{identity}/",
        "timeline": occurrences[0]["timeline"],
        "occurrences": occurrences,
        "objects": [life(each, source_id, _role(each, row, document)) for each in named],
        "acknowledged": acknowledged(source_id, [identity]).get(identity),
    }


def _occurrence(source: Source, each: dict[str, Any]) -> OccurrencePayload:
    return {
        "key": each["group"],
        "start": each["first"],
        "end": each["last"],
        "effect": each["effect"],
        "effect_text": each["effect_text"],
        "why": each["why"],
        "proof": each["proof"],
        "timeline": f"/sources/{source.pk}/{View(finding=each['group']).query()}",
    }


def _role(track: Track, row: Finding, document: FindingPayload) -> str:
    own = (track.kind, track.namespace, track.name)
    if track.id == row.subject or own == _own(document["subject"]):
        return "subject"
    if document["other"] and own == _own(document["other"]):
        return "other"
    return "affected" if any(own == _own(each) for each in document["affects"]) else "proof"


def _own(ref: ObjectPayload) -> tuple[str, str, str]:
    return ref["kind"], ref["namespace"], ref["name"]


def columns(source_id: int, shown: FindingPagePayload, at: OccurrencePayload) -> tuple[Columns, int, int]:
    """Return the drawing of one occurrence of a finding, and its range of time in microseconds since 1970.

    It has the lanes of the proof, and those of some of the other objects that the finding names, in the order in which
    they began.
    """
    start, *_, end = bounds(at["start"], at["end"], at["proof"])
    room = max((end - start) * 2 // 5, 20_000)
    start, end = start - room, end + room
    order = {each["track"]: index for index, each in enumerate(at["proof"])}
    roles = ("subject", "other", "proof", "affected")
    objects = sorted(shown["objects"], key=lambda each: (order.get(each["track"], 99), roles.index(each["role"])))
    keys = list(dict.fromkeys(lane_key(each["object"]) for each in objects))[:_LANES]
    pins = [key for key in dict.fromkeys(lane_key(each["object"]) for each in shown["objects"]) if key in keys]
    view = View(pins=tuple(pins), finding=at["key"])
    return window(source_id, max(0, start), end, limit=0, view=view), start, end

"""Read one finding with everything that its page shows."""

from typing import Any

from timeline.core.actors import KIND as ACTOR
from timeline.layout import lanes
from timeline.models import Finding, Source, Track
from timeline.payloads.findings import FindingPayload, IncidentRowPayload, ObjectPayload
from timeline.payloads.incidents.ranges import bounds
from timeline.payloads.incidents.symptoms import Time
from timeline.payloads.objects import FindingPagePayload, OccurrencePayload
from timeline.payloads.windows import Columns
from timeline.queries.incidents.occurrences import worst_keys
from timeline.queries.objects.lives import lane_key, life
from timeline.queries.people.acknowledgements import acknowledged
from timeline.queries.window.view import View
from timeline.queries.window.windows import window

_LANES = 6  # the most lanes that are drawn of a finding
_REACHED = 8  # the most lanes that are drawn of an incident
_WIDER = 10  # how many times the range of an occurrence is drawn at most, so that the occurrence is still seen


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
        "focus": row.root,
        "occurrences": occurrences,
        "objects": [life(each, source_id, _role(each, row, document)) for each in named],
        "acknowledged": acknowledged(source_id, [identity]).get(identity),
    }


def shown_of(source_id: int, incident: IncidentRowPayload) -> tuple[FindingPagePayload, OccurrencePayload]:
    """Return the gravest finding of an incident, and the occurrence with which the incident is shown. Raises
    Source.DoesNotExist and Finding.DoesNotExist."""
    worst = finding(source_id, incident["worst"])
    key = worst_keys(source_id, [incident["id"]]).get(incident["id"])
    return worst, next((each for each in worst["occurrences"] if each["key"] == key), gravest(worst))


def gravest(found: FindingPagePayload) -> OccurrencePayload:
    """Return the occurrence of a finding with the most harm; of several the longest, and of those the earliest."""

    def weight(each: OccurrencePayload) -> tuple[int, int, int]:
        return Time(each["key"], each["start"], each["end"], False, each["effect"]).weight

    return max(found["occurrences"], key=weight)


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
    start, end = _around(at)
    keys = _lanes(shown, at)
    pins = [key for key in dict.fromkeys(lane_key(each["object"]) for each in shown["objects"]) if key in keys]
    view = View(pins=tuple(pins), finding=at["key"])
    return window(source_id, max(0, start), end, limit=0, view=view), start, end


def of_incident(
    source_id: int, incident: IncidentRowPayload, worst: FindingPagePayload, at: OccurrencePayload
) -> tuple[Columns, int, int, int]:
    """Return the drawing of an incident, with one occurrence of its gravest finding: its columns, its range of time in
    microseconds since 1970, and how many further lanes the incident reached.

    The lane that the incident begins with comes first, then those of the occurrence, of what its symptoms are about,
    and others that it reached. The range is that of the occurrence if this is a small part of that of the incident.
    """
    start, end = _around(at)
    begun, over = min(start, incident["ranges"]["time"][0]), max(end, incident["ranges"]["time"][1])
    if over - begun <= _WIDER * (end - start):
        start, end = begun, over
    reached = window(source_id, max(0, start), end, limit=_REACHED, view=View(incident=incident["id"]))
    keys = [each["key"] for each in reached["lanes"]]
    anchors = (each["anchor"] for each in incident["symptoms"])
    about = [
        lanes.lane_key(each["group"], each["kind"], each["namespace"], each["name"])
        for each in anchors
        if each["kind"] != ACTOR
    ]
    pins = tuple(dict.fromkeys([*keys[:1], *_lanes(worst, at), *about, *keys]))[:_REACHED]
    columns = window(source_id, max(0, start), end, limit=0, view=View(pins=pins, finding=at["key"]))
    return columns, start, end, max(0, reached["lanes_total"] - len(columns["lanes"]))


def _around(at: OccurrencePayload) -> tuple[int, int]:
    """Return the range of time in which an occurrence is drawn."""
    start, *_, end = bounds(at["start"], at["end"], at["proof"])
    room = max((end - start) * 2 // 5, 20_000)
    return start - room, end + room


def _lanes(shown: FindingPagePayload, at: OccurrencePayload) -> list[str]:
    """Return the keys of the lanes that are drawn of an occurrence, those of its proof first."""
    order = {each["track"]: index for index, each in enumerate(at["proof"])}
    roles = ("subject", "other", "proof", "affected")
    objects = sorted(shown["objects"], key=lambda each: (order.get(each["track"], 99), roles.index(each["role"])))
    return list(dict.fromkeys(lane_key(each["object"]) for each in objects))[:_LANES]

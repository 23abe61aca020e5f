"""Read the last Warning Events about an object and what it owns.

Whether an Event is a warning is known only from its body. Events about an object are found by their names: Kubernetes
names an Event after the object, with a dot and a number behind it.
"""

import re
from collections.abc import Collection
from datetime import timedelta

import msgspec
from django.db import connection

from timeline.core.entries import ObjectRef
from timeline.history.lifelines import ANONYMOUS
from timeline.kinds import Number, shortened, time_of
from timeline.models import Track
from timeline.payloads.documents import object_payload, timestamp
from timeline.payloads.objects import WarningPayload, WarningsPayload
from timeline.queries.objects.attribution import key_of
from timeline.queries.objects.lives import page
from timeline.queries.objects.owned import owned_by
from timeline.storage.entries import chunks

_READ = 200  # Events whose bodies are read, the last ones
_OBJECTS = 2000  # objects whose Events are sought, the last ones that began
_EARLIER = timedelta(seconds=2)  # Events and objects have creation times in whole seconds, of several clocks
_LATER = timedelta(hours=1)  # after the object is gone, in which Events about it are sought
_CHUNKS = 48  # that are read for that
_SHOWN = 5
_CLUSTER_SCOPE = "default"  # the namespace of Events about objects without one
_number = re.compile(r"\d+")
_Name = tuple[str, str, str]  # kind, namespace and name


class _Involved(msgspec.Struct):
    apiVersion: str | None = None
    kind: str | None = None
    namespace: str | None = None
    name: str | None = None
    uid: str | None = None


class _Series(msgspec.Struct):
    count: Number | None = None
    lastObservedTime: str | None = None


class _Source(msgspec.Struct):
    component: str | None = None


class _Event(msgspec.Struct):
    """The fields of an Event that are read, in the core API (v1) or in the group events.k8s.io."""

    type: str | None = None
    reason: str | None = None
    message: str | None = None
    note: str | None = None
    involvedObject: _Involved | None = None
    regarding: _Involved | None = None
    source: _Source | None = None
    deprecatedSource: _Source | None = None
    reportingComponent: str | None = None
    reportingController: str | None = None
    count: Number | None = None
    deprecatedCount: Number | None = None
    series: _Series | None = None
    lastTimestamp: str | None = None
    deprecatedLastTimestamp: str | None = None
    eventTime: str | None = None
    firstTimestamp: str | None = None

    @property
    def about(self) -> _Involved:
        return self.involvedObject or self.regarding or _Involved()

    @property
    def text(self) -> str:
        return self.message or self.note or ""

    @property
    def likeness(self) -> str:
        """Return the message without what differs between objects: their names, and numbers."""
        return _number.sub("#", self.text.replace(self.about.name or "\0", "*").replace(self.about.uid or "\0", "*"))

    @property
    def time(self) -> int:
        """Return when it happened last, in microseconds since 1970; 0 if it does not say."""
        series = self.series.lastObservedTime if self.series else None
        times = (series, self.lastTimestamp, self.deprecatedLastTimestamp, self.eventTime, self.firstTimestamp)
        return next((time for each in times if (time := time_of(each))), 0)

    @property
    def times(self) -> int:
        return (self.series and self.series.count) or self.count or self.deprecatedCount or 1

    @property
    def reporter(self) -> str:
        source = self.source or self.deprecatedSource or _Source()
        return source.component or self.reportingComponent or self.reportingController or ""


_event = msgspec.json.Decoder(_Event)


def warning_events(row: Track) -> WarningsPayload:
    """Return the last Warning Events about the object of a track and about what it owns, in this incarnation."""
    own = Track.objects.filter(source=row.source_id, id__in=owned_by(row, [row.id])).exclude(family="Events")
    objects = own.order_by("-life", "-id").values_list("kind", "namespace", "name", "uid")[:_OBJECTS]
    incarnations: dict[_Name, set[str]] = {}
    for kind, namespace, name, uid in objects:
        incarnations.setdefault((kind, namespace, name), set()).add(uid)
    found, total = _named_after(row, incarnations)
    read = _read(row.source_id, found)
    about = [(track, event) for track, event in read if event.type == "Warning" and _is_about(event, incarnations)]
    groups: dict[tuple[str, str, str], list[tuple[int, _Event]]] = {}
    for track, event in sorted(about, key=lambda each: -each[1].time):
        groups.setdefault((event.reason or "", event.about.kind or "", event.likeness), []).append((track, event))
    return {
        "warnings": [_together(row.source_id, group) for group in list(groups.values())[:_SHOWN]],
        "events": total,
        "read": len(read),
    }


def _together(source_id: int, group: list[tuple[int, _Event]]) -> WarningPayload:
    """Return what these Events say alike; the last one is the first of them."""
    track, last = group[0]
    about = last.about
    ref = ObjectRef(
        (about.apiVersion or "").rpartition("/")[0],
        "",
        about.kind or "",
        about.namespace or "",
        about.name or "",
        about.uid or "",
    )
    return {
        "reason": last.reason or "",
        "message": shortened(last.text),
        "object": object_payload(ref),
        "objects": len({event.about.name for _, event in group}),
        "count": sum(event.times for _, event in group),
        "time": timestamp(last.time) if last.time else None,
        "reporter": last.reporter,
        "url": page(source_id, track),
    }


def _is_about(event: _Event, incarnations: dict[_Name, set[str]]) -> bool:
    """Return whether an Event is about one of these objects, which are the UIDs of incarnations by name."""
    about = event.about
    uids = incarnations.get((about.kind or "", about.namespace or "", about.name or ""), set())
    return bool(uids) and (not about.uid or about.uid in uids or any(uid.startswith(ANONYMOUS) for uid in uids))


def _named_after(row: Track, objects: Collection[_Name]) -> tuple[list[int], int]:
    """Return the last Events that are named after these objects, which a track owns, and how many there are."""
    namespaces = {namespace or _CLUSTER_SCOPE for _, namespace, _ in objects}
    since, until = row.life.lower - _EARLIER, row.life.upper and row.life.upper + _LATER
    query = """
        SELECT id, count(*) OVER () FROM timeline_track
        WHERE source_id = %s AND family = 'Events' AND kind = 'Event' AND span && tstzrange(%s, %s)
        AND namespace = ANY(%s)
        AND substring(name FROM '^(.*)[.][^.]*$') = ANY(%s) ORDER BY life DESC, id DESC LIMIT %s"""
    with connection.cursor() as cursor:
        cursor.execute(
            query, [row.source_id, since, until, sorted(namespaces), sorted({name for *_, name in objects}), _READ]
        )
        rows = cursor.fetchall()
    return [track for track, _ in rows], rows[0][1] if rows else 0


def _read(source_id: int, tracks: Collection[int]) -> list[tuple[int, _Event]]:
    """Return these Events as far as their bodies are stored, each as its last body shows it."""
    by_key = {key_of(track): track for track in tracks}
    bodies: dict[int, tuple[int, bytes]] = {}
    for _, key, entry in chunks.newest(source_id, set(by_key), most=_CHUNKS):
        revision = entry.resource_version or 0
        if entry.body and (key not in bodies or revision > bodies[key][0]):
            bodies[key] = revision, entry.body
    found = []
    for key, (_, body) in bodies.items():
        try:
            found.append((by_key[key], _event.decode(body)))
        except msgspec.ValidationError:
            continue
    return found

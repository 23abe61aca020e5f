"""Read Events."""

import re
from collections.abc import Iterable
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from timeline.core.entries import Facts, revision
from timeline.kinds import Kind, Reference, Shape, seconds

KEPT = frozenset(
    {"LeaderElection", "PVCError", "FailedMount", "FailedScheduling", "Failed", "FailedCreatePodSandBox",
     "NetworkNotReady"}
)  # fmt: skip
"""The reasons of the Events whose message rules read. Of all other Events, often a third of a log, only the metadata is
kept, and what the Event says of the knowledge of its writer."""
_LONGEST = 1024  # characters that the texts of an `Acted` have at most; names and UIDs are much shorter
_DAY = 86_400_000_000  # µs by which the clock of a client may differ from the clock of the API server
_RECORDED = re.compile(r"[0-9a-f]{16}")  # nanoseconds since 1970, which client-go appends to the name of an Event
_TELL_CHILD = ("SuccessfulCreate", "SuccessfulDelete")
_CHILD = re.compile(r"(?:[Cc]reated?|[Dd]eleted?) [A-Za-z]+:? ([a-z0-9][-.a-z0-9]*)")


class Acted(NamedTuple):
    """The copy of an object that the writer of an Event held when it recorded the Event.

    Client libraries take the fields from the copy that the writer passes to them, so `revision` is that of the copy.
    """

    group: str
    version: str
    kind: str
    namespace: str
    name: str
    uid: str
    revision: str  # as text, since revisions may exceed 64 bits
    recorded: int  # µs since 1970, by the clock of the writer; whole seconds if the name of the Event has no time
    reason: str = ""
    child: str = ""  # the name of the object that the writer says it created or deleted


class _Involved(msgspec.Struct, gc=False):
    apiVersion: str | None = None
    kind: str | None = None
    namespace: str | None = None
    name: str | None = None
    uid: str | None = None
    resourceVersion: str | None = None


class _Source(msgspec.Struct, gc=False):
    component: str = ""


class EventShape(Shape):
    """An Event with the field names of core/v1 and of events.k8s.io/v1. Fields stay raw until the reason is known."""

    reason: str | None = None
    involvedObject: msgspec.Raw = msgspec.Raw()
    regarding: msgspec.Raw = msgspec.Raw()
    message: msgspec.Raw = msgspec.Raw()
    note: msgspec.Raw = msgspec.Raw()
    source: msgspec.Raw = msgspec.Raw()
    deprecatedSource: msgspec.Raw = msgspec.Raw()
    eventTime: msgspec.Raw = msgspec.Raw()
    firstTimestamp: msgspec.Raw = msgspec.Raw()
    deprecatedFirstTimestamp: msgspec.Raw = msgspec.Raw()
    reportingComponent: str | None = None
    reportingController: str | None = None


class EventFacts(Facts, frozen=True, omit_defaults=True, gc=False):
    """What is kept of an Event. If its reason is not one of KEPT, all but the metadata and `acted` is empty."""

    reason: str = ""
    message: str = ""
    component: str = ""  # which component wrote the Event
    involved: Reference | None = None
    acted: Acted | None = None


_involved = msgspec.json.Decoder(_Involved | None)
_source = msgspec.json.Decoder(_Source | None)
_text = msgspec.json.Decoder(str | None)


def _facts(event: EventShape) -> EventFacts:
    if event.reason not in KEPT:
        return EventFacts(*event.metadata.common, acted=_acted(event))
    source = _source.decode(_either(event.source, event.deprecatedSource)) or _Source()
    about = _involved.decode(_either(event.involvedObject, event.regarding)) or _Involved()
    group = (about.apiVersion or "").rpartition("/")[0]
    return EventFacts(
        *event.metadata.common,
        reason=event.reason,
        message=_text.decode(_either(event.message, event.note)) or "",
        component=source.component or event.reportingComponent or event.reportingController or "",
        involved=(
            Reference(group, about.kind or "", about.name, "involved", about.namespace or "") if about.name else None
        ),
        acted=_acted(event),
    )


def _acted(event: EventShape) -> Acted | None:
    """Return what an Event says of its writer's copy; None if it names no revision, or not in the usual form."""
    try:
        about = _involved.decode(_either(event.involvedObject, event.regarding))
        if about is None or not (about.name and about.kind) or revision(about.resourceVersion) is None:
            return None
        recorded = _recorded(event)
        text = (_text.decode(_either(event.message, event.note)) or "") if event.reason in _TELL_CHILD else ""
    except ValueError:
        return None
    group, _, version = (about.apiVersion or "").rpartition("/")
    named = _CHILD.search(text[:_LONGEST]) if text else None
    acted = Acted(
        group,
        version,
        about.kind,
        about.namespace or "",
        about.name,
        about.uid or "",
        about.resourceVersion or "",
        recorded,
        event.reason or "",
        named[1] if named else "",
    )
    longest = len(acted.name) + len(acted.uid) + len(acted.namespace) + len(acted.kind) + len(group) + len(acted.reason)
    return acted if recorded and longest <= _LONGEST else None


def _recorded(event: EventShape) -> int:
    """Return when the writer recorded an Event, by its own clock, in µs since 1970; 0 if the Event does not say it.

    The API server may receive the Event half a minute later.
    """
    created = seconds(event.metadata.creationTimestamp) if event.metadata.creationTimestamp else 0
    suffix = (event.metadata.name or "").rpartition(".")[2]
    if _RECORDED.fullmatch(suffix) and abs((recorded := int(suffix, 16) // 1000) - created) < _DAY:
        return recorded
    for field in (event.eventTime, event.firstTimestamp, event.deprecatedFirstTimestamp):
        if field and (text := _text.decode(field)):
            return seconds(text)
    return 0


def _either(core: msgspec.Raw, other: msgspec.Raw) -> bytes:
    """Return the field that is set, as JSON."""
    return bytes(core) or bytes(other) or b"null"


def _references(event: EventFacts) -> Iterable[Reference]:
    return (event.involved,) if event.involved else ()


KIND = Kind(
    "",
    "Event",
    "ev",
    "Events",
    EventShape,
    EventFacts,
    _facts,
    references=_references,
    subtitle=lambda event: event.reason,
    drawn=lambda event: replace(event, acted=None) if event.acted else event,
    subresources=(),
)

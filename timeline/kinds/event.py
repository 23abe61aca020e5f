"""This module reads Events."""

from collections.abc import Iterable

import msgspec

from timeline.core.entries import Facts
from timeline.kinds import Kind, Reference, Shape

KEPT = frozenset({"LeaderElection", "PVCError", "FailedMount", "FailedScheduling", "Failed"})
"""The reasons of the Events that rules read. Of all other Events, often a third of a log, only the metadata is kept."""


class _Involved(msgspec.Struct, gc=False):
    apiVersion: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""


class _Source(msgspec.Struct, gc=False):
    component: str = ""


class EventShape(Shape):
    """This is an Event with the field names of core/v1 and of events.k8s.io/v1. Fields stay raw until the reason is
    known."""

    reason: str | None = None
    involvedObject: msgspec.Raw = msgspec.field(default_factory=msgspec.Raw)
    regarding: msgspec.Raw = msgspec.field(default_factory=msgspec.Raw)
    message: msgspec.Raw = msgspec.field(default_factory=msgspec.Raw)
    note: msgspec.Raw = msgspec.field(default_factory=msgspec.Raw)
    source: msgspec.Raw = msgspec.field(default_factory=msgspec.Raw)
    deprecatedSource: msgspec.Raw = msgspec.field(default_factory=msgspec.Raw)
    reportingComponent: str | None = None
    reportingController: str | None = None


class EventFacts(Facts, frozen=True, omit_defaults=True, gc=False):
    """These facts are kept of an Event. If its reason is not one of KEPT, all but the metadata is empty."""

    reason: str = ""
    message: str = ""
    component: str = ""  # which component wrote the Event
    involved: Reference | None = None


_involved = msgspec.json.Decoder(_Involved | None)
_source = msgspec.json.Decoder(_Source | None)
_text = msgspec.json.Decoder(str | None)


def _facts(event: EventShape) -> EventFacts:
    if event.reason not in KEPT:
        return EventFacts(*event.metadata.common)
    source = _source.decode(_either(event.source, event.deprecatedSource)) or _Source()
    about = _involved.decode(_either(event.involvedObject, event.regarding)) or _Involved()
    group = about.apiVersion.rpartition("/")[0]
    return EventFacts(
        *event.metadata.common,
        reason=event.reason,
        message=_text.decode(_either(event.message, event.note)) or "",
        component=source.component or event.reportingComponent or event.reportingController or "",
        involved=Reference(group, about.kind, about.name, "involved", about.namespace) if about.name else None,
    )


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
)

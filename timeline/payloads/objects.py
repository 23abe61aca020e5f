"""This module declares payloads of objects, findings, coverage and rules. Whole numbers of time are microseconds."""

from typing import Any, Literal

from typing_extensions import TypedDict  # Pydantic takes none of typing before Python 3.12

from timeline.judging.findings import Severity
from timeline.payloads.findings import (
    AcknowledgementPayload,
    FindingPayload,
    ObjectPayload,
    SkippedPayload,
    SourceDocumentPayload,
)


class LifePayload(TypedDict):
    """One life of an object, or a name of which no life was observed."""

    track: int | None
    object: ObjectPayload
    short: str  # "pod"
    family: str
    role: str  # what it is to the one that is asked for: "subdomain", "config", …; "" where that is plain
    start: int | None
    end: int | None  # None while it lives
    url: str  # of its page; "" where none was seen


class TrackFindingPayload(TypedDict):
    id: str
    rule: str
    severity: Severity
    summary: str
    relation: Literal["about it", "names it", "affects it"]
    start: int
    url: str
    acknowledged: AcknowledgementPayload | None


class TrackPayload(TypedDict):
    """One life of an object, and its relations to others."""

    source: int
    track: int
    object: ObjectPayload
    short: str
    family: str
    phase: str  # the last one that was seen
    number: int  # creation order within the root owner's group
    root: int  # WindowPayload's `focus` parameter
    created: bool  # its creation was seen
    start: int
    end: int | None
    url: str
    timeline: str  # the timeline around its life
    incarnations: list[LifePayload]  # all lives of its name, in the order in which they began
    owner: LifePayload | None
    children: list[LifePayload]  # the first ones
    children_total: int
    needs: list[LifePayload]
    needed_by: list[LifePayload]  # the first ones
    needed_by_total: int
    events: list[LifePayload]  # the first Events about it that a rule reads
    events_total: int
    findings: list[TrackFindingPayload]


class ChangePayload(TypedDict):
    """One observed change of one object."""

    sequence: int  # in the order of reading
    uid: str | None  # as the observation names it; an audit log of level Metadata names none
    time: str  # drawn: ISO 8601 UTC
    earliest: str
    latest: str | None  # where a clock bounds it
    clock: Literal["audit", "object"]  # the API server's around the commit; whole seconds in the object itself
    resource_version: str | None
    change: str
    action: str
    actor: str | None
    user_agent: str | None
    controller: str | None  # the program's short name, where one of the two tells it
    audit_id: str | None
    file: str | None
    line: int | None
    body: dict[str, Any] | None  # the redacted object, where it was observed and asked for


Attribution = Literal["uid", "time", "possible"]


class RevisionPayload(ChangePayload):
    """One change of the object that was asked for.

    `attribution` says how it is known to be of this object: "uid" by the UID, or because no observation of the object
    has any; "time" because no other object bore the name then; "possible" where another one of that name may be meant.
    """

    attribution: Attribution


class RevisionsPayload(TypedDict):
    revisions: list[RevisionPayload]  # in commit order
    next: str | None
    total: int


class EntryPayload(ChangePayload):
    track: int | None  # the life on whose bar the timeline draws it; null where that is not kept any more
    object: ObjectPayload  # as the observation names it


class EntriesPayload(TypedDict):
    entries: list[EntryPayload]  # in the order of reading
    next: str | None


class OccurrencePayload(TypedDict):
    key: str  # FindingGroupPayload.key
    start: int
    end: int
    effect: str
    effect_text: str
    why: str
    proof: list[dict[str, Any]]  # ProofPayload, with `track` and `at`
    timeline: str


class FindingPagePayload(FindingPayload):
    """A finding with the details that the findings document leaves out."""

    source: int
    url: str
    timeline: str
    occurrences: list[OccurrencePayload]
    objects: list[LifePayload]  # all that it names
    acknowledged: AcknowledgementPayload | None


class RedactedPayload(TypedDict):
    """The number of redacted credentials, by how they were recognised."""

    name: int  # the name of the field, variable or option
    form: int  # their own form
    copy: int  # copies of whole objects
    pattern: int  # the operator's own patterns
    object: int  # observations of which the object was not kept at all


class SourceCoveragePayload(SourceDocumentPayload):
    """What was observed in a recording, and so what can be judged in it."""

    source: int
    name: str
    entries: int
    first: str | None
    last: str | None
    skipped: list[SkippedPayload]  # the first ones
    mostly_skipped: dict[str, list[int]]  # by file, where it is most: lines that were skipped, and all lines
    skipped_total: int
    redacted: RedactedPayload | None  # None of what was taken in before it was counted


class SettingPayload(TypedDict):
    variable: str
    value: float
    default: float
    unit: str
    meaning: str


class CataloguePayload(TypedDict):
    """A rule's page."""

    rule: str
    title: str
    needs: list[str]
    any_of: list[str]
    sections: list[tuple[str, str]]  # heading, text
    settings: list[SettingPayload]
    url: str

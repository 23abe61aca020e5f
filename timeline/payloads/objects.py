"""Declare the payloads of the pages of objects, findings, coverage and rules.

Times are ISO 8601 where they are text, and microseconds since 1970, UTC, where they are integers.
"""

from typing import Any, Literal

from typing_extensions import TypedDict  # Pydantic does not accept that of typing before Python 3.12

from timeline.judging.findings import Severity
from timeline.payloads.findings import (
    AcknowledgementPayload,
    FindingPayload,
    IncidentRowPayload,
    ObjectPayload,
    SkippedPayload,
    SourceDocumentPayload,
)
from timeline.payloads.windows import Within


class LifePayload(TypedDict):
    """This is one incarnation of an object, or a name of which no object was observed."""

    track: int | None  # None if no object was observed
    object: ObjectPayload
    short: str  # "pod"
    family: str
    role: str  # the role in which the other object refers to it: "subdomain", "config", …; "" without a role
    start: int | None
    end: int | None  # None while it exists
    url: str  # the address of its page; "" if no object was observed


class TrackFindingPayload(TypedDict):
    id: str
    rule: str
    severity: Severity
    summary: str
    relation: Literal["about it", "names it", "affects it"]
    start: int
    url: str
    acknowledged: AcknowledgementPayload | None


class ConditionPayload(TypedDict):
    """This is a condition of an object, or the state that its status names."""

    type: str
    status: str  # "True", "False" or "Unknown"; "" of a state
    reason: str
    message: str
    since: str | None  # its lastTransitionTime
    telling: bool  # whether it is one of those that say how an object of its kind is


class PhasePayload(TypedDict):
    """This is the last observed phase of an object, and the change that began it."""

    text: str
    time: str  # the drawn time of that change
    earliest: str  # the earliest time at which it can have been committed
    latest: str | None  # the latest such time; null if no clock bounds it
    observed: bool  # whether the beginning was observed; otherwise the phase was found, and began at any time before


class WriterPayload(TypedDict):
    """This is the last change of an object that was observed, and who made it."""

    actor: str | None  # null where neither an audit log nor the object's managedFields say it, as the next two
    user_agent: str | None
    controller: str | None
    change: str
    action: str
    resource_version: str | None
    time: str
    earliest: str
    latest: str | None


class ContainerPayload(TypedDict):
    """This is how containers of one name ended or why they wait, alike in several Pods."""

    container: str
    exit_code: int | None  # null if they wait
    signal: int  # 0 for none
    reason: str
    message: str  # of the last of them
    stopped: bool  # whether no container of these Pods was seen to fail before the Pod was asked to end
    pods: int  # incarnations of Pods
    names: list[str]  # the first of the names of these Pods
    names_total: int
    time: str | None  # when the last of them ended, by the clock of its node
    url: str  # the page of that Pod


class PodsPayload(TypedDict):
    """This counts the Pods that an object owns, or, for a Pod, the Pod alone.

    A Pod that was deleted and created again counts once for each incarnation.
    """

    total: int
    counted: int  # how many of these the other numbers are about: the last ones that began
    phases: list[tuple[str, int]]  # the last observed phases, the most frequent first; "deleted" of those that are gone
    failed: int  # Pods with a container that failed
    restarts: int
    restarted: int  # Pods with a container that was started again
    troubled: int  # Pods that failed, were started again, or are not ready
    read: int  # how many of these `containers` is about, the worst ones
    containers: list[ContainerPayload]  # the worst first


class WarningPayload(TypedDict):
    """This is what Events of type Warning said alike, but for names and numbers, about objects of one kind."""

    reason: str
    message: str
    object: ObjectPayload  # of the last of these Events, as are message, time, reporter and url
    objects: int  # how many objects these Events are about
    count: int  # how often it happened, as the Events count it
    time: str | None
    reporter: str
    url: str  # the page of the Event


class WarningsPayload(TypedDict):
    """These are the last Warning Events about an object and what it owns."""

    warnings: list[WarningPayload]  # the last one first
    events: int  # how many Events, also normal ones, are about these objects by their names
    read: int  # how many of these were read, the last ones


class StatusPayload(TypedDict):
    """This is what the recording says of how an object is. Nothing is in it that was not observed."""

    phase: PhasePayload | None  # null if its kind has no phases, or no observation shows one
    conditions: list[ConditionPayload]  # of the last observed body, the most telling first
    numbers: list[tuple[str, int]]  # of the same body, such as ("ready", 2)
    observed: str | None  # the time of the change that this body shows; null if no body was observed
    written: WriterPayload | None  # null if no change was observed, but only the object as it stood
    pods: PodsPayload | None  # null if it owns no Pods and is none
    warnings: WarningsPayload


Relation = Literal["about it", "about what it owns", "names it", "names what it owns"]


class ObjectIncidentPayload(IncidentRowPayload):
    """This is an incident that names an object or what it owns."""

    relation: Relation


class ObjectIncidentsPayload(TypedDict):
    """These are the incidents that name an object, in any of its incarnations, or what it owns."""

    incidents: list[ObjectIncidentPayload]  # the gravest first, of a cluster those that go on first; 10 at most
    total: int
    symptoms: int  # of all of these
    findings: int  # of all of these
    ongoing: int
    harmless: int  # further ones that do no harm
    silenced: int  # further ones that a silence or the baseline takes out of the lists


class RelationsPayload(TypedDict):
    """One incarnation of an object, and its relations to others."""

    source: int
    track: int
    object: ObjectPayload
    short: str
    family: str
    phase: str  # its last observed phase
    number: int  # creation number within the root owner's group
    root: int  # the window parameter `focus` that brings its group to the top
    created: bool  # whether its creation was observed
    start: int
    end: int | None
    url: str
    timeline: str  # the address of the timeline from its beginning to its end
    incarnations: list[LifePayload]  # all incarnations of its name, in the order in which they began
    owner: LifePayload | None
    children: list[LifePayload]  # the first of them
    children_total: int
    needs: list[LifePayload]
    needed_by: list[LifePayload]  # the first of them
    needed_by_total: int
    events: list[LifePayload]  # the first of the Events about it that rules read
    events_total: int
    findings: list[TrackFindingPayload]


class TrackPayload(RelationsPayload):
    """This is one incarnation of an object: what is wrong with it and what it owns, how it is, and its relations."""

    incidents: ObjectIncidentsPayload
    status: StatusPayload


class ChangePayload(TypedDict):
    """One observed change of one object."""

    sequence: int  # its number within the source, in the order of reading
    uid: str | None  # null if the observation does not show it, as in an audit log of level Metadata
    time: str  # ISO 8601 UTC; the drawn time
    earliest: str  # the earliest time at which it can have been committed
    latest: str | None  # the latest such time; null if no clock bounds it
    clock: Literal["audit", "object"]  # "audit" times are around the commit; "object" times are whole seconds
    resource_version: str | None
    change: str
    action: str
    actor: str | None
    user_agent: str | None
    controller: str | None  # the short name of the program, if actor or user agent show it
    audit_id: str | None
    file: str | None
    line: int | None
    body: dict[str, Any] | None  # the redacted object, if it was observed and requested


Attribution = Literal["uid", "time", "possible"]


class RevisionPayload(ChangePayload):
    """One change of the requested object.

    `attribution` says how it is known to be a change of this object: "uid" by its UID, or because no observation of the
    object has one; "time" because no other object had the name at that time; "possible" if it may be a change of
    another object of the same name.
    """

    attribution: Attribution
    writers: list["PossibleWritePayload"]  # if it is not known who wrote it: the writes in a log that may have made it


class PossibleWritePayload(TypedDict):
    """This is one write that an audit log shows without its content."""

    controller: str | None  # as in `ChangePayload`
    actor: str | None
    user_agent: str | None
    earliest: str
    latest: str | None
    audit_id: str | None
    file: str | None
    line: int | None


class DifferencePayload(TypedDict):
    """What one change made of an object. Its size is limited."""

    whole: bool  # whether `lines` are the object, because it was seen for the first time; else they are the difference
    lines: list[tuple[Literal["+", "-", " ", "@"], str]]  # the first of them, each cut to a length; "@" is a path
    lines_total: int
    too_large: bool  # whether there are no lines because making them would have taken too long
    notes: list[str]  # sentences about how sure the difference is
    nothing: str  # why there are no lines


class ListedRevisionPayload(RevisionPayload):
    """This is one change in the list of an object's changes."""

    difference: DifferencePayload | None  # null unless it was asked for
    url: str  # the change on the page of its object


class ShownChangePayload(RevisionPayload, DifferencePayload):
    """This is one change of one object as a timeline shows it beside its lanes. Its size is limited."""

    track: int
    object: ObjectPayload
    lane: str  # LanePayload.key
    short: str  # "pod"
    family: str
    at: int  # the drawn time
    within: Within
    number: int  # its place among all changes of the object, from 1
    total: int
    earlier: int | None  # the sequence number of the change before it
    later: int | None
    unknown_writer: str  # a sentence that says why it is not known who wrote it; "" if it is known
    url: str  # the change on the page of its object
    revision_url: str  # the page of the object at this change; "" if it was not observed
    texts: list[str]  # of the states that were compared: where to download each as JSON, the earlier one first


class RevisionsPayload(TypedDict):
    revisions: list[ListedRevisionPayload]  # in commit order
    next: str | None
    total: int


class EntryPayload(ChangePayload):
    track: int | None  # the track on whose bar the timeline draws it; null if that is no longer kept
    object: ObjectPayload  # as the observation shows it


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
    """This is a finding with details that the findings document omits."""

    source: int
    url: str
    timeline: str
    focus: int  # the window parameter `focus` that brings the lanes of its subject to the top
    occurrences: list[OccurrencePayload]
    objects: list[LifePayload]  # all objects that the finding names
    acknowledged: AcknowledgementPayload | None


class RedactedPayload(TypedDict):
    """These are the numbers of redacted credentials, by how they were recognised."""

    name: int  # by the name of the field, variable or option
    form: int  # by their own form
    copy: int  # as a copy of a whole object
    pattern: int  # by the operator's own patterns
    time: int  # as texts that would have taken too long to search
    object: int  # the number of observations whose object was not stored at all


class SourceCoveragePayload(SourceDocumentPayload):
    """This says what was observed in a recording, and what rules can therefore judge in it."""

    source: int
    name: str
    entries: int
    first: str | None
    last: str | None
    skipped: list[SkippedPayload]  # the first of them
    mostly_skipped: dict[str, list[int]]  # [skipped lines, all lines] by file, of files that were mostly skipped
    skipped_total: int
    redacted: RedactedPayload | None  # None if an older version of Causeline, which did not count them, read it


class SettingPayload(TypedDict):
    variable: str
    value: float
    default: float
    unit: str
    meaning: str


class CataloguePayload(TypedDict):
    """This is the page of a rule in the catalogue."""

    rule: str
    title: str
    needs: list[str]
    any_of: list[str]
    lines: list[str]  # each thing that it needs, as a sentence, and what it misses without it
    sections: list[tuple[str, str]]  # heading, text
    settings: list[SettingPayload]
    url: str

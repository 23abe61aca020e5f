"""Declare the payloads of findings, of their list, and of the findings document.

Times are ISO 8601 where they are text, and microseconds since 1970, UTC, where they are integers.
"""

from typing import (
    Literal,
    NotRequired,  # Pydantic does not accept that of typing before Python 3.12
)

from typing_extensions import TypedDict

from timeline.judging.coverage.judgeable import Answer
from timeline.judging.findings import Severity

VerdictName = Literal["exact", "bounded", "inconclusive"]
IncidentState = Literal["ongoing", "over"]
FindingOrder = Literal["newest", "time", "gravest"]  # latest first; earliest first; errors first


class ObjectPayload(TypedDict):
    group: str  # "" for core
    version: str
    kind: str
    namespace: str  # "" for cluster-scoped objects
    name: str
    uid: str  # "" if no observation has it


class ProofPayload(TypedDict):
    role: str  # the part that the event has in the proof: "Service deleted"
    resource_version: str | None
    time: str  # ISO 8601 UTC; the time at which it is drawn
    earliest: str | None  # the earliest time at which it can have been committed
    latest: str | None  # the latest such time; None if no clock bounds it
    actor: str | None
    user_agent: str | None
    audit_id: str | None
    file: str | None
    line: int | None


class CauseProofPayload(ProofPayload):
    """This is a step of the chain that led to a violation."""

    object: ObjectPayload  # which changed


class CausePayload(TypedDict):
    """This is what is behind a violation, as far as it is proven."""

    rule: str  # which reports causes of this kind
    sentence: str  # "job-controller created Pod a when Job train was Complete. It acted on revision 384 of …"
    proof: list[CauseProofPayload]  # in commit order


class FirstFindingPayload(TypedDict):
    """One violation, as in the first version of the findings document."""

    id: str
    rule: str
    severity: Severity
    verdict: VerdictName
    status: Literal["suspected", "confirmed", "withdrawn"]
    status_reason: str  # why it is not confirmed; "" if it is
    subject: ObjectPayload
    other: ObjectPayload | None
    effect: Literal["none", "possible", "observed"]
    effect_text: str
    affects: list[ObjectPayload]
    first_time: str
    last_time: str
    delay_seconds: float | None  # the delay as it is drawn: some value within the bounds, not a measurement
    delay_bounds: list[float] | None  # [least, most] seconds within which the delay is known to be
    count: int
    summary: str
    why: str  # one or two sentences that explain the verdict
    proof: list[ProofPayload]
    advice: list[str]


class FindingPayload(FirstFindingPayload):
    """This is one violation, as in the findings document."""

    cause: NotRequired[CausePayload]  # only where one is proven


class SkippedPayload(TypedDict):
    file: str
    line: int  # 0 if what was skipped is not one line
    reason: str


class CoveragePayload(TypedDict):
    """This says how completely one kind was observed."""

    group: str  # "" for core
    resource: str  # "pods"
    level: Literal["RequestResponse", "Request", "Metadata", "watch", "list"]
    complete: bool  # whether its changes were observed and none is known to be missing
    from_list: bool  # whether a list shows which objects existed at the beginning
    holes: int  # the number of writes that are missing, as other writes prove


class RulePayload(TypedDict):
    """This says what one rule can judge in the source."""

    rule: str
    verdict: Literal["exact", "bounded", "inconclusive", "not"]  # the best one possible; "not" if it cannot judge
    # Whether it can judge the source, a part of it, or nothing. It follows from the rest, so it is not stored.
    answer: NotRequired[Answer]
    why: str
    remedy: str


class LinkPayload(TypedDict):
    """This says how far links of one sort, which join what one cause did to one incident, can be proven."""

    link: str  # "shared-write"
    title: str  # "The same write"
    joins: str  # what they join: "all that waited for it"
    verdict: Literal["exact", "bounded", "not"]  # the best one possible; "not" if none can be proven
    answer: NotRequired[Answer]  # as in RulePayload
    why: str
    remedy: str


class SourcePayload(TypedDict):
    name: str
    entries: int
    skipped: list[SkippedPayload]
    coverage: list[CoveragePayload]
    rules: list[RulePayload]
    first: str | None
    last: str | None


class ThirdSourcePayload(SourcePayload):
    """The source as the third version of the findings document has it."""

    links: list[LinkPayload]  # what can be joined to one cause


class SourceDocumentPayload(TypedDict):
    """The source as a whole. The findings document contains parts of this."""

    coverage: list[CoveragePayload]
    rules: list[RulePayload]
    links: NotRequired[list[LinkPayload]]  # what can be joined to one cause; not in sources that were stored before
    changes: list[int]  # the number of observed changes of each kind, in the order of `coverage`
    # Of each kind, in the order of `coverage`: the only namespaces that were watched, none if all of them were.
    namespaces: NotRequired[list[list[str]]]
    clocks: list[str]  # a sentence for each file whose times were corrected
    offsets: NotRequired[dict[str, int]]  # by file: by how many µs its clock is ahead, by which times were corrected


class AnchorPayload(TypedDict):
    """What an incident is about, by name: it stays the same when the object is created again."""

    group: str  # "" for core
    kind: str
    namespace: str  # "" for cluster-scoped objects
    name: str


class SymptomPayload(TypedDict):
    """All findings of one rule about one anchor. In the second version of the findings document, it is an incident."""

    id: str
    rule: str
    title: str
    severity: Severity  # the worst of its findings
    status: Literal["suspected", "confirmed"]  # confirmed if one of its findings is
    state: Literal["ongoing", "over"]  # ongoing: an occurrence had not ended when the source ended
    anchor: AnchorPayload
    subjects: int
    names: list[str]  # of the first subjects
    occurrences: int  # what happened to several subjects alike counts once
    first_time: str
    last_time: str
    effect: Literal["none", "possible", "observed"]
    effect_text: str  # of the worst finding
    cause: str  # what is behind it, and for how many of its findings; "" where nothing proves a cause
    actors: list[str]  # who wrote what went wrong, such as "kubectl (admin)", the most frequent one first
    advice: list[str]
    findings: list[str]  # their ids, the gravest first


class EpisodePayload(TypedDict):
    """One time that a cause acted: occurrences that proof connects with each other, or one alone."""

    first_time: str
    last_time: str
    findings: list[str]  # the ids of the findings that have an occurrence in it


class IncidentPayload(TypedDict):
    """What one cause did, each time it did it."""

    id: str
    title: str
    severity: Severity  # the worst of its symptoms
    status: Literal["suspected", "confirmed"]  # confirmed if one of its symptoms is
    state: Literal["ongoing", "over"]  # ongoing: a symptom had not ended when the source ended
    root: str  # what it begins with, in words; "" where nothing proves that
    first_time: str
    last_time: str
    effect: Literal["none", "possible", "observed"]
    effect_text: str  # of the worst symptom
    actors: list[str]
    advice: list[str]
    episodes: list[EpisodePayload]  # in order of time
    symptoms: list[SymptomPayload]  # the gravest first
    findings: list[str]  # the ids of all findings that have an occurrence in it


class DocumentPayload(TypedDict):
    """This is the findings document. The same recording always gives the same bytes, in whatever order it is read."""

    schema: Literal["causeline.findings/v3"]
    source: ThirdSourcePayload
    incidents: list[IncidentPayload]  # the gravest first
    findings: list[FindingPayload]  # in order of time


class SecondDocumentPayload(TypedDict):
    """The findings document of the second version, in which each symptom is an incident."""

    schema: Literal["causeline.findings/v2"]
    source: SourcePayload
    incidents: list[SymptomPayload]  # the gravest first
    findings: list[FindingPayload]  # in order of time


class FirstDocumentPayload(TypedDict):
    """The findings document of the first version, for programs that do not know incidents."""

    schema: Literal["causeline.findings/v1"]
    source: SourcePayload
    findings: list[FirstFindingPayload]


class AcknowledgementPayload(TypedDict):
    by: str
    at: str  # ISO 8601 UTC
    note: str


class SilencePayload(TypedDict):
    """A silence; empty matchers match all. Times are ISO 8601 UTC."""

    id: int
    cluster: int | None  # every source of this cluster
    source: int | None  # this recording; with neither, all sources
    rule: str
    namespace: str
    owner: str  # the name of what an incident is about; * stands for any characters, ? for one
    actor: str
    reason: str
    by: str
    created: str
    expires: str


class SilencedPayload(TypedDict):
    """What takes an incident out of the lists."""

    by: str
    reason: str
    until: str | None  # ISO 8601 UTC; null for the baseline, which holds until the incident gets worse
    silence: int | None  # SilencePayload.id


class RangesPayload(TypedDict):
    """In which range of time a timeline shows a finding on each of its axes: the first and the last µs since 1970."""

    time: tuple[int, int]
    order: tuple[int, int]  # of the order of changes, where only these take room


class ListedPayload(TypedDict):
    """What rows of lists have of incidents and of symptoms alike."""

    id: str  # of a symptom: of the incident that it is by itself
    rule: str
    title: str
    severity: Severity
    status: Literal["suspected", "confirmed"]
    state: IncidentState
    anchor: AnchorPayload
    subjects: int
    names: list[str]  # of the first subjects
    findings: int
    occurrences: int
    start: int
    end: int
    effect: Literal["none", "possible", "observed"]
    effect_text: str
    actors: list[str]
    worst: str  # the id of the gravest finding


class SymptomRowPayload(ListedPayload):
    """What one cause did that one rule found about one anchor, in a row of the list of incidents."""

    silenced: bool  # a silence takes it out: it counts in no severity and no title


class IncidentRowPayload(ListedPayload):
    """A row of the list of incidents. Its rule and its anchor are those of its gravest symptom. It is ongoing if an
    occurrence had not ended when the source ended; of a cluster that is watched also if the last one ended less than
    five minutes ago."""

    name: str  # by which people call it: the first characters of its id, which addresses accept, too
    source: int
    rules: list[str]  # of all of its symptoms
    verdict: VerdictName  # of the gravest finding
    anchored_in: list[str]  # the namespaces of the anchors of all of its symptoms
    times: list[int]  # when the latest occurrences began, 256 at most
    ranges: RangesPayload  # of what is near the first occurrence of its gravest symptom, if others are far apart
    root: str  # what it begins with, in words; "" where nothing proves that
    symptoms: list[SymptomRowPayload]  # the gravest first, 20 at most
    symptoms_total: int
    cause: str  # what is behind it, and for how many of its findings; "" where nothing proves a cause
    caused: str  # the id of the finding that this cause is of; "" without a cause
    advice: list[str]
    roots: list[int]  # WindowPayload's `focus` parameters that bring its subjects to the top
    acknowledged: AcknowledgementPayload | None
    silenced: SilencedPayload | None
    url: str


class IncidentChoices(TypedDict):
    """What the fields of the filter of a list of incidents can be set to, at most 200 of each."""

    rules: list[str]
    namespaces: list[str]
    actors: list[str]
    nobody: bool  # whether the proofs of some incidents name nobody


class IncidentsPayload(TypedDict):
    """A page of incidents."""

    incidents: list[IncidentRowPayload]
    order: FindingOrder
    next: str | None  # the cursor of the next page
    total: int  # incidents that match and are listed
    symptoms: int  # of all of these
    findings: int  # of all of these
    harmless: int  # further ones that match, but do no harm, where these are not asked for
    silenced: int  # further ones that match, but are silenced, where these are not asked for
    acknowledged: int  # further ones that match, but are acknowledged, where these are not asked for
    acknowledged_symptoms: int  # of all of these
    acknowledged_findings: int  # of all of these


class FindingGroupPayload(TypedDict):
    """This is a row of the list of findings: one occurrence, together with all subjects that it concerned alike."""

    key: str
    summary: str  # "Service ring was away for ≈ 50 ms under 3 running Pods"
    severity: Severity
    verdict: VerdictName
    status: Literal["suspected", "confirmed", "withdrawn"]
    rule: str
    namespace: str
    effect: Literal["none", "possible", "observed"]
    effect_text: str  # "ring-steady-0, -1, -2 ran meanwhile; no failure seen in the minute after"
    cause: str  # what is behind it, and for how many of its findings; "" where nothing proves a cause
    why: str
    proof: list[ProofPayload]
    advice: list[str]
    start: int
    end: int
    ranges: RangesPayload
    focus: int  # the window parameter `focus` that brings the lanes of its first subject to the top
    url: str  # the page of its first finding; "" in a report
    acknowledged: AcknowledgementPayload | None  # None unless all of its findings are acknowledged
    incidents: list[str]  # the incidents that it belongs to, which is one unless its subjects have several causes
    symptoms: list[str]  # the ids of the symptoms of these that it belongs to
    findings: list[FindingPayload]


class FindingsPayload(TypedDict):
    """This is one page of the list of findings."""

    findings: list[FindingGroupPayload]
    order: FindingOrder
    next: str | None  # the cursor of the next page; None on the last page
    total: int  # how many rows match the filter

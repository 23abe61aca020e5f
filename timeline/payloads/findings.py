"""This module declares findings, their list, and the findings document. Times in columns are in µs, UTC."""

from typing import Literal

from typing_extensions import TypedDict  # Pydantic takes none of typing before Python 3.12

from timeline.judging.findings import Severity

FindingOrder = Literal["newest", "time", "gravest"]  # what happened last first; as it began; errors first


class ObjectPayload(TypedDict):
    group: str  # "" for core
    version: str
    kind: str
    namespace: str  # "" for cluster-scoped objects
    name: str
    uid: str  # "" where no observation has it


class ProofPayload(TypedDict):
    role: str  # "Service deleted"
    resource_version: str | None
    time: str  # ISO 8601 UTC, with the precision of its clock
    earliest: str | None  # the interval in which it was surely committed, where the clock gives one
    latest: str | None
    actor: str | None
    user_agent: str | None
    audit_id: str | None
    file: str | None
    line: int | None


class FindingPayload(TypedDict):
    """One violation, as in the findings document `causeline.findings/v1`."""

    id: str
    rule: str
    severity: Severity
    verdict: Literal["exact", "bounded", "inconclusive"]
    status: Literal["suspected", "confirmed", "withdrawn"]
    status_reason: str  # why it is not confirmed; "" where it is
    subject: ObjectPayload
    other: ObjectPayload | None
    effect: Literal["none", "possible", "observed"]
    effect_text: str
    affects: list[ObjectPayload]
    first_time: str
    last_time: str
    delay_seconds: float | None  # as drawn: one place within the bounds, which alone say what is known
    delay_bounds: list[float] | None  # [least, most] seconds, where only an interval is known
    count: int
    summary: str
    why: str  # why the verdict is that sure, in a sentence or two
    proof: list[ProofPayload]
    advice: list[str]


class SkippedPayload(TypedDict):
    file: str
    line: int  # 0 where the loss is not of one line
    reason: str


class CoveragePayload(TypedDict):
    """What was observed of one kind."""

    group: str  # "" for core
    resource: str  # "pods"
    level: Literal["RequestResponse", "Request", "Metadata", "watch", "list"]
    complete: bool  # its changes were followed, and none is known to be missing
    from_list: bool
    holes: int  # writes that others prove to be missing


class RulePayload(TypedDict):
    """What one rule can say about the source."""

    rule: str
    verdict: Literal["exact", "bounded", "inconclusive", "not"]  # at best
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


class SourceDocumentPayload(TypedDict):
    """The parts of the document that describe the source as a whole, and what follows from them."""

    coverage: list[CoveragePayload]
    rules: list[RulePayload]
    changes: list[int]  # how many were seen of each kind, in the order of `coverage`
    clocks: list[str]  # what was corrected in the times of whole files, in sentences


class DocumentPayload(TypedDict):
    """The findings document; byte for byte the same for the same recording, in whatever order it was read."""

    schema: Literal["causeline.findings/v1"]
    source: SourcePayload
    findings: list[FindingPayload]


class AcknowledgementPayload(TypedDict):
    by: str
    at: str  # ISO 8601 UTC
    note: str


class FindingGroupPayload(TypedDict):
    """One occurrence, for all subjects to which it happened alike: a row of the list of findings."""

    key: str
    summary: str  # "Service ring was away for ≈ 50 ms under 3 running Pods"
    severity: Severity
    verdict: Literal["exact", "bounded", "inconclusive"]
    status: Literal["suspected", "confirmed", "withdrawn"]
    rule: str
    namespace: str
    effect: Literal["none", "possible", "observed"]
    effect_text: str  # "ring-steady-0, -1, -2 ran meanwhile; no failure seen in the minute after"
    why: str
    proof: list[ProofPayload]
    advice: list[str]
    start: int
    end: int
    focus: int  # WindowPayload's `focus` parameter that brings the lanes of its first subject to the top
    url: str  # the page of its first finding; "" in a report
    acknowledged: AcknowledgementPayload | None  # where all of its findings are
    findings: list[FindingPayload]


class FindingsPayload(TypedDict):
    """A page of findings."""

    findings: list[FindingGroupPayload]
    order: FindingOrder
    next: str | None  # the cursor of the next page
    total: int  # that match

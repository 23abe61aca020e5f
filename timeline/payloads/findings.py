"""The shapes of everything that leaves Causeline as JSON. Times in columns are whole microseconds since 1970, UTC."""

from typing import Literal

from typing_extensions import TypedDict  # Pydantic takes none of typing before Python 3.12

from timeline.judging.findings import Severity

FindingOrder = Literal["newest", "time", "gravest"]  # what happened last first; as it began; errors first
Within = tuple[int, int | None]  # µs before and after a drawn time: the commit lies there; null: nothing bounds it
UploadState = Literal["receiving", "waiting", "importing", "done", "failed", "cancelled"]


class ObjectPayload(TypedDict):
    group: str  # "" for core
    version: str
    kind: str
    namespace: str  # "" for cluster-scoped objects
    name: str
    uid: str  # "" where the recording never told it


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
    """What was seen of one kind."""

    group: str  # "" for core
    resource: str  # "pods"
    level: Literal["RequestResponse", "Request", "Metadata", "watch", "list"]
    complete: bool  # its changes were followed, and none is known to be missing
    from_list: bool
    holes: int  # writes that others prove to be missing


class RulePayload(TypedDict):
    """What one rule can say of the source."""

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


class ToldPayload(TypedDict):
    """What of a source's own part follows from all that was seen."""

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
    """One occurrence, for all whom it befell alike: one row of the list, which opens."""

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


class GroupPayload(TypedDict):
    """A heading over lanes: a root owner, a kind or a namespace."""

    key: str
    short: str  # "vcj"; "" where the grouping is not by owner
    label: str  # "ring"
    namespace: str
    lanes: int  # all lanes of the group that match the filter, shown or not
    track: int | None  # the root owner's track, where there is one
    first: int  # index in WindowPayload.lanes before which it stands
    closed: bool  # its lanes are left out; it counts as one lane of `offset` and `lanes_total`


class LanePayload(TypedDict):
    """One name of one kind in one namespace; its incarnations are bars one after the other."""

    key: str  # "Pod/vol-restart/ring-weak-0", with ".group" behind the kind for custom resources
    group: str  # GroupPayload.key
    number: int  # creation number, in the group, of the first incarnation in the window
    short: str  # "pod"
    family: str  # colour: Jobs, Services, Pods, … as `timeline.kinds` gives them
    kind: str
    namespace: str
    name: str
    subtitle: str  # "Pod · node-003 · 2 incarnations shown"
    track: int  # the last life shown; 0 for a strip
    members: int  # 1; more: a strip, one lane for so many of one owner and kind
    opened: bool  # a strip whose members stand behind it
    strip: str  # the key of the strip it belongs to, or ""
    pinned: bool


class Bars(TypedDict):
    """Phases, column-wise. `lane` is an index into WindowPayload.lanes."""

    lane: list[int]
    start: list[int]
    end: list[int]
    text: list[str]  # "Running"
    tone: list[str]  # strong | pale | muted | ended (hatched): how far along, one colour family a lane
    open_start: list[bool]  # the life began before anything was observed: draw as unknown
    open_end: list[bool]  # still alive at the end of what was observed: fade
    start_within: list[Within | None]  # None where the source was stored before this was told
    end_within: list[Within | None]
    track: list[int]


class Births(TypedDict):
    lane: list[int]
    time: list[int]
    number: list[int]
    within: list[Within | None]
    track: list[int]


class Marks(TypedDict):
    lane: list[int]
    time: list[int]
    mark: list[
        str
    ]  # scheduled | started | restarted | ready | finished | deleting | deleted | finalizer | status | taken | released
    text: list[str]  # "scheduled to node-003"
    resource_version: list[str | None]
    within: list[Within | None]
    track: list[int]


class Holes(TypedDict):
    """A name without an object between two incarnations, that a finding is about."""

    lane: list[int]
    start: list[int]  # at the soonest
    begun: list[int]  # surely
    over: list[int]  # until then surely
    end: list[int]  # at the latest
    text: list[str]  # "none · ≈ 50 ms"
    finding: list[str]  # FindingGroupPayload.key


class Shades(TypedDict):
    """The part of a subject's bar in which it was exposed to the violation."""

    lane: list[int]
    start: list[int]
    end: list[int]
    finding: list[str]


class Arrows(TypedDict):
    """From the too-early event to the too-late one; an end outside the lanes shown is -1."""

    from_lane: list[int]
    from_time: list[int]  # before to_time
    from_within: list[Within]  # as in Bars
    to_lane: list[int]
    to_time: list[int]
    to_within: list[Within]
    text: list[str]  # "Service 31 ms late"
    finding: list[str]  # FindingGroupPayload.key


class Strips(TypedDict):
    """The cells of strips: how many of its objects there were at most, slice by slice."""

    lane: list[int]
    start: list[int]
    end: list[int]
    count: list[int]


class Gaps(TypedDict):
    """When kinds were not observed; what lanes of them show there was not seen."""

    kind: list[str]  # as the keys of lanes begin: "Pod", "Job.batch"
    start: list[int]
    end: list[int]
    text: list[str]  # why, a sentence


class Columns(TypedDict):
    """What is drawn of a window."""

    lanes: list[LanePayload]
    bars: Bars
    strips: Strips
    births: Births
    marks: Marks
    holes: Holes
    shades: Shades
    arrows: Arrows
    merged: int  # marks and bars that were merged into neighbours to stay under the limit


class WindowPayload(Columns):
    source: int
    sequence: int  # of the last commit that is in it, where the source is live
    gaps: Gaps
    start: int  # what bars and marks cover: the asked range padded by its own width on both sides
    end: int
    first: int  # what the whole source covers
    last: int
    offset: int  # index of the first lane behind the pinned ones among all that match
    lanes_total: int  # that match, counted to 2000
    lanes_more: bool  # there are more than that
    pins: int  # lanes that are pinned; they come first
    groups: list[GroupPayload]
    findings_in_view: int  # that match the filter, from start to end as asked for


class TailPayload(TypedDict):
    """What commits changed of one life: its bars from a moment on are these; its marks are further ones."""

    track: int
    lane: str  # LanePayload.key
    family: str
    number: int  # as in Births
    since: int | None  # the moment; null where its bars stay as they are
    born: int | None  # its creation, where it lies there
    # start, end, text, tone, start_within, end_within as in Bars; see `queries.deltas`
    bars: list[tuple[int | None, int | None, str, str, Within | None, Within | None]]
    marks: list[
        tuple[int, str, str, str | None, Within | None]
    ]  # time, mark, text, resource version, within: see Marks


class DeltaPayload(TypedDict):
    """What the commits since another changed: enough to move the edge of a window that shows that one."""

    type: Literal["delta"]
    sequence: int  # of the last of them
    at: int  # when that was committed, by the database's clock
    behind: int  # how long after the cluster's answer arrived this is told, microseconds
    first: int  # what the source covers
    last: int
    tracks: list[TailPayload]
    findings: list[FindingGroupPayload]
    gone: list[str]  # keys of findings that hold no more


class HealthPayload(TypedDict):
    """How it stands with the collection of a source."""

    type: Literal["health"]
    sequence: int
    state: Literal["waiting", "connecting", "live", "failing", "paused", "ended"]
    error: str  # why it fails, or has ended
    listing: list[str]  # resources whose first list is not complete yet
    entries: int
    gaps: int
    silent: int | None  # since the last commit, microseconds
    last: int | None  # what the source covered then


class OverviewPayload(TypedDict):
    """The minimap: counts of entries in equal slices of the source, ticks for findings."""

    first: int
    last: int
    counts: list[int]
    ticks: list[int]
    severities: list[Severity]
    families: list[tuple[str, int]]  # family, number of lanes
    namespaces: list[tuple[str, int]]
    rules: list[tuple[str, int]]  # rule, number of rows in the list of findings
    severity_counts: list[tuple[Severity, int]]
    noise: int  # lanes that are folded away until asked for


class FoundObjectPayload(TypedDict):
    """An object that a search found."""

    track: int
    root: int  # WindowPayload's `focus` parameter
    key: str  # LanePayload.key
    short: str
    family: str
    kind: str
    namespace: str
    name: str
    start: int
    end: int | None  # None while it lives
    url: str


class SearchPayload(TypedDict):
    objects: list[FoundObjectPayload]
    findings: list[FindingGroupPayload]


class UploadPayload(TypedDict):
    id: int
    source: int | None
    owner: int | None  # the number of who sends it; null where there are no accounts
    name: str
    state: UploadState
    seen: int  # last sign of life of who works on it, microseconds since 1970
    files: int
    folder: bool  # they were chosen as one
    bytes_total: int
    bytes_read: int  # that have arrived, and then that were imported
    entries: int
    skipped: int
    skipped_examples: list[str]  # "audit.jsonl.zst line 17: not JSON (…)"
    findings: int
    error: str
    url: str  # of the timeline, once there is one


class UploadFilePayload(TypedDict):
    name: str
    size: int  # bytes
    received: int  # of them; what comes next begins there
    refused: str  # why it is left out, else empty


class ReceivingPayload(UploadPayload):
    """An upload with what is still to come of it."""

    parts: list[UploadFilePayload]


class UploadsPayload(TypedDict):
    uploads: list[UploadPayload]


class PiecePayload(TypedDict):
    received: int  # bytes of the file


class RecordingPayload(TypedDict):
    id: int
    name: str
    created: int  # microseconds since 1970, as all times
    entries: int
    skipped: int
    first: int | None  # what it covers
    last: int | None
    errors: int  # findings, as its list groups them
    warnings: int
    infos: int
    url: str  # of its timeline


class RecordingsPayload(TypedDict):
    sources: list[RecordingPayload]
    next: int | None  # the cursor that continues; null at the end

"""This module declares the payloads of a timeline: windows, the overview, and the search. Times are microseconds since
1970, UTC."""

from typing_extensions import TypedDict  # Pydantic does not accept that of typing before Python 3.12

from timeline.judging.findings import Severity
from timeline.payloads.findings import FindingGroupPayload

Within = tuple[int, int | None]  # µs before and after a drawn time, between which the commit was; null: unbounded


class GroupPayload(TypedDict):
    """A heading over lanes: a root owner, a kind or a namespace."""

    key: str
    short: str  # "vcj"; "" unless lanes are grouped by owner
    label: str  # "ring"
    namespace: str
    lanes: int  # all lanes of the group that match the filter, shown or not
    track: int | None  # the root owner's track, if there is one
    first: int  # index in WindowPayload.lanes of the lane that follows it
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
    members: int  # 1 for a lane; more for a strip, which stands for so many lanes of one owner and kind
    opened: bool  # a strip whose members follow it
    strip: str  # the key of the strip it belongs to, or ""
    pinned: bool


class Bars(TypedDict):
    """These are phases in columns. `lane` is an index into WindowPayload.lanes."""

    lane: list[int]
    start: list[int]
    end: list[int]
    text: list[str]  # "Running"
    tone: list[str]  # strong | pale | muted | ended (hatched): how far the phase is; a lane has one colour
    open_start: list[bool]  # the life began before anything was observed, which is drawn as unknown
    open_end: list[bool]  # still alive at the end of what was observed, which is drawn fading
    start_within: list[Within | None]  # None if an older version stored the source
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
    """These are the intervals without an object between two incarnations of a name that a finding is about."""

    lane: list[int]
    start: list[int]  # the earliest possible beginning
    begun: list[int]  # the latest possible beginning
    over: list[int]  # the earliest possible end
    end: list[int]  # the latest possible end
    text: list[str]  # "none · ≈ 50 ms"
    finding: list[str]  # FindingGroupPayload.key


class Shades(TypedDict):
    """These are the parts of subjects' bars in which they were exposed to a violation."""

    lane: list[int]
    start: list[int]
    end: list[int]
    finding: list[str]


class Arrows(TypedDict):
    """These are arrows from the event that came too early to the one that came too late; -1 is a lane not shown."""

    from_lane: list[int]
    from_time: list[int]  # before to_time
    from_within: list[Within]  # as in Bars
    to_lane: list[int]
    to_time: list[int]
    to_within: list[Within]
    text: list[str]  # "Service 31 ms late"
    finding: list[str]  # FindingGroupPayload.key


class Strips(TypedDict):
    """These are the cells of strips: the greatest number of objects that existed in each slice of time."""

    lane: list[int]
    start: list[int]
    end: list[int]
    count: list[int]


class Gaps(TypedDict):
    """These are the intervals in which kinds were not observed."""

    kind: list[str]  # as at the beginning of the keys of lanes: "Pod", "Job.batch"
    start: list[int]
    end: list[int]
    text: list[str]  # a sentence that says why


class Columns(TypedDict):
    """These are the columns that are drawn for a window."""

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
    sequence: int  # the last commit in it, for a live source
    gaps: Gaps
    start: int  # from here to `end` there are bars and marks: the asked range, and its width on both sides
    end: int
    first: int  # from here to `last` the source has observations
    last: int
    offset: int  # index, among all lanes that match, of the first lane after the pinned ones
    lanes_total: int  # lanes that match; counting stops at 2000
    lanes_more: bool  # whether there are more
    pins: int  # lanes that are pinned; they come first
    groups: list[GroupPayload]
    findings_in_view: int  # findings in the asked range that match the filter


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
    noise: int  # lanes that are hidden until they are asked for


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

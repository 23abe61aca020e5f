"""The shapes of a timeline: windows, the overview, and the search. Times are microseconds since 1970, UTC."""

from typing_extensions import TypedDict  # Pydantic takes none of typing before Python 3.12

from timeline.judging.findings import Severity
from timeline.payloads.findings import FindingGroupPayload

Within = tuple[int, int | None]  # µs before and after a drawn time: the commit lies there; null: nothing bounds it


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
    start_within: list[Within | None]  # None where an older version stored the source
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

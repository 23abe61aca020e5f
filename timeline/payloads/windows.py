"""Declare the payloads of a timeline: windows, the overview, and the search. Times are microseconds since 1970, UTC."""

from typing_extensions import TypedDict  # Pydantic does not accept that of typing before Python 3.12

from timeline.judging.findings import Severity
from timeline.payloads.findings import FindingGroupPayload
from timeline.payloads.logs import LogLinePayload
from timeline.payloads.views import ViewPayload

Within = tuple[int, int | None]  # µs before and after a drawn time, between which the commit was; null: unbounded


class FoldedPayload(TypedDict):
    """This says how many lanes are folded, or were before a reader unfolded them."""

    quiet: int  # lanes without a change in view
    furniture: int  # furniture that has changed in view, such as the ConfigMap kube-root-ca.crt


class GroupPayload(TypedDict):
    """This is a heading above lanes: a root owner, a kind, a namespace or an actor."""

    key: str
    short: str  # "vcj"; "" unless lanes are grouped by owner
    label: str  # "ring"
    namespace: str
    lanes: int  # all lanes of the group that match the filter, shown or not
    folded: FoldedPayload
    track: int | None  # the root owner's track, if there is one
    first: int  # index in WindowPayload.lanes of the lane that follows it
    closed: bool  # whether its lanes are hidden; it then counts as one lane in `offset` and `lanes_total`


class LanePayload(TypedDict):
    """This is one name of one kind in one namespace. Its incarnations are drawn as bars one after the other."""

    key: str  # "Pod/vol-restart/ring-weak-0"; after the kind comes ".group" if that is not the core group
    group: str  # GroupPayload.key
    number: int  # creation number, in the group, of the first incarnation in the window
    short: str  # "pod"
    family: str  # the family of `timeline.kinds` that decides the colour: Jobs, Services, Pods, …
    kind: str
    namespace: str
    name: str
    subtitle: str  # "Pod · node-003 · 2 incarnations shown"
    track: int  # the last track shown; 0 for a strip
    members: int  # 1 for a lane; for a strip, the number of lanes of one owner and kind that it stands for
    opened: bool  # whether this is a strip whose lanes follow it
    strip: str  # the key of the strip it belongs to, or ""
    pinned: bool
    creator: str  # who created its first object; "" if that was not observed
    furniture: bool  # whether every namespace, or every node, has such an object
    quiet: bool  # whether it is drawn without colour: furniture or without a change in view, and no finding names it


class Bars(TypedDict):
    """These are the bars, one for each phase, as columns. `lane` is an index into WindowPayload.lanes."""

    lane: list[int]
    start: list[int]
    end: list[int]
    text: list[str]  # "Running"
    tone: list[str]  # strong | pale | muted | ended (hatched): the shade of the lane's colour that shows the phase
    open_start: list[bool]  # whether the object existed before it was first observed, which is drawn as unknown
    open_end: list[bool]  # whether the object still existed at the end of the source, which is drawn fading
    start_within: list[Within | None]  # None if an older version stored the source
    end_within: list[Within | None]
    actor: list[int]  # who made the change that began the phase: index in WindowPayload.actors
    track: list[int]


class Births(TypedDict):
    lane: list[int]
    time: list[int]
    number: list[int]
    resource_version: list[str | None]  # null at the moving edge of a live source
    within: list[Within | None]
    actor: list[int]  # as in Bars
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
    actor: list[int]  # as in Bars; -1 if several actors made the changes that were merged into one mark
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
    """These are arrows from the event that came too early to the one that came too late. The lane is -1 if it is not
    shown."""

    from_lane: list[int]
    from_time: list[int]  # before to_time
    from_within: list[Within]  # as in Bars
    to_lane: list[int]
    to_time: list[int]
    to_within: list[Within]
    text: list[str]  # "Service 31 ms late"
    finding: list[str]  # FindingGroupPayload.key


class Dots(TypedDict):
    """These are the moments at which violations begin: one for each row of the list of findings, on the lane of the
    first event that proves it, or else on that of its subject."""

    lane: list[int]
    time: list[int]
    severity: list[Severity]
    finding: list[str]  # FindingGroupPayload.key


class Strips(TypedDict):
    """These are the cells of strips: the greatest number of objects that existed in each slice of time."""

    lane: list[int]
    start: list[int]
    end: list[int]
    count: list[int]


class Gaps(TypedDict):
    """These are the intervals in which kinds were not observed, or of which retention has deleted the changes."""

    kind: list[str]  # the part of the keys of lanes before the first "/": "Pod", "Job.batch"; "" for all kinds
    start: list[int]
    end: list[int]
    text: list[str]  # a sentence that says why


class LaneViewPayload(ViewPayload):
    """This is a view with the lane below which it is drawn."""

    lane: int  # index in WindowPayload.lanes
    others: int  # on the first view of a lane: how many further ones it has; else 0
    key: str  # the value of the window parameter `open` that shows these


class Columns(TypedDict):
    """The columns that are drawn for a window."""

    lanes: list[LanePayload]
    bars: Bars
    strips: Strips
    births: Births
    marks: Marks
    holes: Holes
    shades: Shades
    arrows: Arrows
    dots: Dots
    views: list[LaneViewPayload]  # of the lanes whose objects somebody acted on by old copies in this time
    actors: list[str]  # who made what is drawn: accounts, or else programs; "" where nothing says who it was
    merged: int  # marks and bars that were merged into neighbours to stay under the limit


class ScopePayload(TypedDict):
    """This is the name of the root owner to which lanes and incidents are limited."""

    kind: str
    namespace: str
    name: str


class WindowPayload(Columns):
    source: int
    sequence: int  # the number of the last batch that it shows of a live source
    gaps: Gaps
    start: int  # the beginning of what is drawn: the requested range, and its width on both sides
    end: int
    first: int  # the beginning of what the source covers
    last: int
    offset: int  # index, among all lanes that match, of the first lane after the pinned ones
    lanes_total: int  # lanes that match; counting stops at 2000
    lanes_more: bool  # whether more lanes match than were counted
    pins: int  # how many lanes are pinned; these come first
    groups: list[GroupPayload]
    folded: FoldedPayload | None  # of all groups, where the list of lanes ends; else null. At most 2000 are counted
    scope: ScopePayload | None  # the root owner to which lanes and incidents are limited


class OverviewPayload(TypedDict):
    """These are the contents of the minimap and the filters: numbers of changes in equal slices of time, a tick for
    each finding, and the numbers of lanes and findings by what they can be filtered."""

    first: int
    last: int
    counts: list[int]
    ticks: list[int]
    severities: list[Severity]
    families: list[tuple[str, int]]  # family, number of lanes
    namespaces: list[tuple[str, int]]
    rules: list[tuple[str, int]]  # rule, number of rows in the list of findings
    severity_counts: list[tuple[Severity, int]]
    actors: list[tuple[str, int]]  # who made most changes, with the number of changes; "" where nothing says who
    noise: int  # the number of lanes, such as those of Events, that are hidden at first
    freed: list[tuple[int, int]]  # from when until when retention has deleted the changes


class FoundObjectPayload(TypedDict):
    """This is an object that a search found."""

    track: int
    root: int  # the window parameter `focus` that brings its group to the top
    key: str  # LanePayload.key
    short: str
    family: str
    kind: str
    namespace: str
    name: str
    why: str  # how it was found, if not by its names: "on node-3"
    start: int
    end: int | None  # None while it exists
    range: tuple[int, int]  # of time, in which a timeline shows it
    url: str


class FoundActorPayload(TypedDict):
    """This is an account or a program that a search found."""

    name: str
    changes: int  # how many changes it made in the source


class SearchPayload(TypedDict):
    """These are the hits of a search in the whole source, at most twenty of each sort."""

    objects: list[FoundObjectPayload]
    findings: list[FindingGroupPayload]
    actors: list[FoundActorPayload]
    lines: list[LogLinePayload]  # of the logs of programs, the first in time
    more: bool  # whether more objects match
    # The parameters of addresses that the terms of the search mean (`timeline.queries.syntax`), with its other words as
    # `name`; null without terms. With terms there are no hits.
    filter: dict[str, str] | None
    wrong: str  # a sentence that says which term means nothing; "" if all do

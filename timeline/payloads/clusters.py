"""Declare the payloads of connected clusters. Times are whole microseconds since 1970, UTC."""

from typing import Literal

from typing_extensions import TypedDict  # Pydantic does not accept that of typing before Python 3.12

ClusterState = Literal["waiting", "connecting", "live", "failing", "paused"]
SourceState = Literal["waiting", "connecting", "live", "failing", "paused", "ended"]
StreamState = Literal["waiting", "listing", "watching", "failing", "forbidden", "missing"]


class StreamPayload(TypedDict):
    """This is the state of the watch of one resource."""

    group: str
    kind: str
    resource: str
    namespace: str  # "" if it shows all namespaces, or objects without one
    state: StreamState
    error: str  # the message of its last failure, which may be over
    error_at: int | None
    listed_at: int | None
    watermark: str | None  # the revision up to which the watch is complete
    watermark_at: int | None
    entries: int
    gaps: int


class GapPayload(TypedDict):
    """This is a gap: a time in which a kind was not observed."""

    group: str
    kind: str
    since: int
    until: int
    since_revision: str | None
    revision: str | None
    reason: str


class EpochPayload(TypedDict):
    """This is another source of the same cluster, from before or after its revisions went back."""

    source: int
    name: str
    url: str


class SourceHealthPayload(TypedDict):
    """This is the health of a source that a cluster feeds."""

    source: int
    name: str
    cluster: int | None  # None once the cluster is disconnected
    state: SourceState
    ended: str  # why the source has ended; "" while it has not
    previous: EpochPayload | None
    next: EpochPayload | None
    holder: str  # the worker that watches the cluster now
    error: str
    error_at: int | None
    entries: int
    rate: float  # changes a second, over the last half minute
    lag: float | None  # the longest time in seconds that a change of the last half minute waited here
    silent: float | None  # seconds since anything arrived from the cluster; bookmarks come about once a minute
    reached: int | None  # the time up to which all streams are complete
    streams: list[StreamPayload]
    gaps: list[GapPayload]  # the newest gaps
    gaps_total: int
    outages: int  # the number of separate intervals in which any kind was not observed


class CollectorPayload(TypedDict):
    """This is how the collector of a cluster is."""

    holder: str  # the name of the active collector; "" if none is active
    version: str
    epoch: int
    last: int | None  # when its last batch was stored
    buffered: int  # bytes that wait on its disk
    behind: float  # the seconds that the oldest of these has waited
    waiting: int  # batches that wait for the worker
    aside: int  # batches that were put aside lately, because they could not be processed
    problem: str  # a sentence about the last of these
    problem_at: int | None


class ClusterPayload(TypedDict):
    """This is a connected cluster, without its credentials."""

    id: int
    name: str
    how: Literal["stored", "path", "in-cluster", "collector"]
    server: str
    context: str
    path: str  # the path of the kubeconfig, if `how` is "path"
    include: list[str]
    exclude: list[str]
    namespaces: list[str]  # the only ones that are watched; none if all of them are
    keep_days: int | None
    keep_bytes: int | None
    keep_incident_days: int | None  # for how many days what is near incidents is kept
    keep_incident_minutes: int | None  # how long before and after an incident that is
    write_events: bool  # whether Events about incidents may be written into it
    created: int
    state: ClusterState
    holder: str
    error: str
    error_at: int | None
    source: int | None  # the source that it feeds now
    url: str  # the address of the timeline of that source
    health: SourceHealthPayload | None
    collector: CollectorPayload | None  # None if no collector ever watched it


class ClustersPayload(TypedDict):
    clusters: list[ClusterPayload]

"""This module declares the payloads of connected clusters. Times are whole microseconds since 1970, UTC."""

from typing import Literal

from typing_extensions import TypedDict  # Pydantic takes none of typing before Python 3.12

ClusterState = Literal["waiting", "connecting", "live", "failing", "paused"]
SourceState = Literal["waiting", "connecting", "live", "failing", "paused", "ended"]
StreamState = Literal["waiting", "listing", "watching", "failing", "forbidden", "missing"]


class StreamPayload(TypedDict):
    """The watch of one resource."""

    group: str
    kind: str
    resource: str
    state: StreamState
    error: str  # of its last failure, which may be over
    error_at: int | None
    listed_at: int | None
    watermark: str | None  # the revision up to which it is complete
    watermark_at: int | None
    entries: int
    gaps: int


class GapPayload(TypedDict):
    """A gap: a kind was not observed between two times."""

    group: str
    kind: str
    since: int
    until: int
    since_revision: str | None
    revision: str | None
    reason: str


class EpochPayload(TypedDict):
    """The source of the same cluster before or after its revisions went back."""

    source: int
    name: str
    url: str


class SourceHealthPayload(TypedDict):
    """The health of a source that a cluster feeds."""

    source: int
    name: str
    cluster: int | None  # None once it is disconnected
    state: SourceState
    ended: str  # why nothing more comes
    previous: EpochPayload | None
    next: EpochPayload | None
    holder: str  # the worker that watches it now
    error: str
    error_at: int | None
    entries: int
    rate: float  # changes a second, over the last half minute
    lag: float | None  # seconds that a change waited here, the longest one of the last half minute
    silent: float | None  # seconds since anything was heard of the cluster; bookmarks come about once a minute
    reached: int | None  # all streams are complete up to here
    streams: list[StreamPayload]
    gaps: list[GapPayload]  # the newest ones
    gaps_total: int
    outages: int  # intervals in which something was not observed, whatever it was


class ClusterPayload(TypedDict):
    """A connected cluster, without its credentials."""

    id: int
    name: str
    how: Literal["stored", "path", "in-cluster"]
    server: str
    context: str
    path: str  # of the kubeconfig, where that is only referred to
    include: list[str]
    exclude: list[str]
    keep_days: int | None
    keep_bytes: int | None
    created: int
    state: ClusterState
    holder: str
    error: str
    error_at: int | None
    source: int | None  # the one that it feeds now
    url: str  # of that one's timeline
    health: SourceHealthPayload | None


class ClustersPayload(TypedDict):
    clusters: list[ClusterPayload]

"""Declare the rows of the page of actors. Times are microseconds since 1970, UTC."""

from typing import Literal

from typing_extensions import TypedDict  # Pydantic does not accept that of typing before Python 3.12

from timeline.core.durations import Length
from timeline.judging.activity import Activity, Key, identity

LEASES = 5  # the most Leases of an actor that are named

ActorOrder = Literal["writes", "busiest", "conflicts", "retries", "refused", "lag", "leases", "findings", "name"]


class HeldLeasePayload(TypedDict):
    namespace: str
    name: str
    now: bool  # whether it holds the Lease at the end of what the source shows


class ActorRowPayload(TypedDict):
    """This is what one part of one process did."""

    id: str
    name: str  # "job-controller in Pod kcm-a"
    component: str
    pod: str  # "" if its token is not bound to a Pod
    process: str  # the UID of its Pod, else its address and program
    bound: bool  # whether the process is surely one; otherwise several may share its address and program
    user_agent: str
    account: str  # who made its changes, as the timeline and its filter `actor` name them
    writes: int
    busiest: int  # writes in its busiest minute
    stale: int  # updates that were refused because the copy had been replaced before
    raced: int  # those that were refused because of a write at the same time
    unclear: int  # those that may be either
    retries: int  # writes again of an object, within a minute after a refused one
    refused: int  # other refused writes
    copies: int  # acts that are known to rest on a certain copy
    old: int  # those of them whose copy had been replaced
    median_lag: int | None  # µs, at least, of those; null without any
    worst_lag: int | None
    median_lag_text: str  # "0.98 s"; "" without any
    worst_lag_text: str
    leases: list[HeldLeasePayload]  # the first of those that it held
    leases_total: int
    findings: int  # findings that its writes prove
    first: int  # its first write; 0 without any
    last: int


class ActorsPayload(TypedDict):
    actors: list[ActorRowPayload]
    total: int  # how many match
    all: int  # how many the source has
    more: bool  # whether it had more; only those with most writes are kept
    offset: int


def actor_row(key: Key, activity: Activity) -> ActorRowPayload:
    actor, median_lag, worst_lag = activity.actor, activity.median_lag, activity.worst_lag
    held = sorted(activity.leases.items(), key=lambda each: (not each[1], each[0]))
    return {
        "id": identity(key),
        "name": str(actor),
        "component": actor.component,
        "pod": actor.pod,
        "process": actor.process,
        "bound": actor.bound,
        "user_agent": actor.user_agent,
        "account": activity.account,
        "writes": activity.writes,
        "busiest": activity.busiest,
        "stale": activity.stale,
        "raced": activity.raced,
        "unclear": activity.unclear,
        "retries": activity.retries,
        "refused": activity.refused,
        "copies": activity.copies,
        "old": len(activity.lags),
        "median_lag": median_lag,
        "worst_lag": worst_lag,
        "median_lag_text": _length(median_lag),
        "worst_lag_text": _length(worst_lag),
        "leases": [{"namespace": name.namespace, "name": name.name, "now": now} for name, now in held[:LEASES]],
        "leases_total": len(held),
        "findings": len(activity.findings),
        "first": activity.first,
        "last": activity.last,
    }


def _length(lag: int | None) -> str:
    return "" if lag is None else str(Length(lag, None)).removeprefix("at least ")

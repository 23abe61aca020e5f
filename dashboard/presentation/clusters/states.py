"""Describe connected clusters in words, for pages and the terminal."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dashboard.presentation import wording
from timeline.core.durations import duration
from timeline.payloads.clusters import (
    ClusterPayload,
    ClusterState,
    GapPayload,
    SourceHealthPayload,
    SourceState,
    StreamPayload,
    StreamState,
)
from timeline.payloads.documents import timestamp

WORDS: dict[SourceState, str] = {
    "waiting": "waiting for a worker",
    "connecting": "connecting",
    "live": "live",
    "failing": "failing",
    "paused": "paused",
    "ended": "ended",
}
_STREAMS: dict[StreamState, tuple[str, str]] = {  # its word, and the state of a cluster whose sign it has
    "waiting": ("waiting", "waiting"),
    "listing": ("listing", "connecting"),
    "watching": ("watching", "live"),
    "failing": ("failing", "failing"),
    "forbidden": ("not allowed", "failing"),
    "missing": ("not served", "paused"),
}
_HOWS = {
    "stored": "a stored kubeconfig",
    "path": "the kubeconfig",
    "in-cluster": "the workers' ServiceAccount",
    "collector": "a collector inside it",
}
_UNSEEN = {"forbidden", "missing"}
_WITH_ERROR = {"failing", "watching", *_UNSEEN}  # in these states the error of a watch is not an old one


class StreamLine(NamedTuple):
    """A row about the watch of one resource."""

    name: str
    state: str  # the state of a cluster whose sign is drawn
    word: str
    watermark: str
    reached: str  # "07:55:31"
    reached_at: str  # the same as ISO 8601
    entries: str
    gaps: str
    error: str


class Missed(NamedTuple):
    """The changes of one kind that an outage missed."""

    kind: str
    since: str
    until: str
    revisions: str


class Outage(NamedTuple):
    """An interval in which one kind or several were not observed."""

    since: str  # "2026-11-21 07:55:31"
    until: str
    length: str
    kinds: str  # "pods", "14 kinds"
    reasons: list[str]
    missed: list[Missed]


@dataclass(frozen=True)
class Card:
    """A row about a connected cluster."""

    id: int
    name: str
    state: ClusterState
    word: str
    server: str
    how: str
    source: int | None
    lag: str  # "80 ms"; "" where nothing is known
    last_event: str  # "2 s ago"
    rate: str  # "12.5"
    entries: str
    gaps: int
    summary: str  # "24 kinds, 1 not allowed"
    holder: str
    notes: list[str]  # sentences about what the cluster waits for, and its last error
    error: str
    streams: list[StreamLine]

    @property
    def vitals(self) -> list[str]:
        """Return lag, rate and counts as parts of a line of text."""
        parts = [f"lag {self.lag}", f"last event {self.last_event}"] if self.lag else []
        if self.source is not None:
            parts += [f"{self.rate} changes/s", self.summary, f"{self.entries} changes"]
        if self.gaps:
            parts.append(wording.plural(f"{self.gaps} gap", self.gaps))
        return parts


def card(cluster: ClusterPayload) -> Card:
    health = cluster["health"]
    return Card(
        id=cluster["id"],
        name=cluster["name"],
        state=cluster["state"],
        word=WORDS[cluster["state"]],
        server=cluster["server"],
        how=_HOWS[cluster["how"]],
        source=cluster["source"],
        lag=lag(health) if health else "",
        last_event=last_event(health["silent"]) if health else "",
        rate=rate(health) if health else "",
        entries=wording.count(health["entries"]) if health else "",
        gaps=health["outages"] if health else 0,
        summary=summary(health["streams"]) if health else "",
        holder=cluster["holder"],
        notes=notes(cluster),
        error=cluster["error"],
        streams=[stream(each, cluster["error"]) for each in health["streams"]] if health else [],
    )


def collector(cluster: ClusterPayload) -> list[str]:
    """Return sentences about the collector of a cluster, for its page."""
    row = cluster["collector"]
    if row is None:
        return ["No collector has reported yet."]
    found = [f"{row['holder']} is active, with Causeline {row['version']}." if row["holder"] else "None is active now."]
    if row["last"]:
        found.append(f"Its last batch was stored at {wording.second_of(row['last'])} UTC.")
    if row["buffered"]:
        size = f"{row['buffered'] / 1e6:,.1f} MB"
        found.append(f"{size} wait on its disk, the oldest for {duration(round(row['behind'] * 1e6))}.")
    if row["waiting"]:
        found.append(f"Batches that wait here for the worker: {row['waiting']}.")
    if row["problem"]:
        at = f" ({wording.second_of(row['problem_at'])} UTC)" if row["problem_at"] else ""
        found.append(f"Last problem{at}: {row['problem']}")
    return found


def collector_commands(cluster: ClusterPayload) -> str:
    """Return shell commands that make a token for a collector and give it to the cluster as a Secret."""
    name = shlex.quote(cluster["name"])
    return (
        "umask 077\n"
        f"causeline tokens create 'collector {cluster['id']}' --scope collect --cluster {name} --days 365 > token\n"
        "kubectl create namespace causeline\n"
        "kubectl create secret generic causeline-collector -n causeline --from-file=token\n"
        "rm token"
    )


def notes(cluster: ClusterPayload) -> list[str]:
    """Return sentences about what the cluster waits for and about its last error."""
    found = []
    if not cluster["holder"] and cluster["state"] == "waiting":
        found.append("No worker watches this cluster yet. A running worker starts within seconds.")
    if cluster["error"]:
        at = f" ({wording.second_of(cluster['error_at'])} UTC)" if cluster["error_at"] else ""
        found.append(f"Last error{at}: {cluster['error']}")
    return found


def lag(health: SourceHealthPayload) -> str:
    """Return how long a change takes from the API server to Causeline; "" if no changes arrive."""
    if health["lag"] is None or health["state"] not in ("live", "connecting"):
        return ""
    return duration(max(1000, int(health["lag"] * 1e6)))


def last_event(seconds: float | None) -> str:
    """Return how long ago the last event arrived; "" if none ever did."""
    if seconds is None:
        return ""
    return f"{seconds:.0f} s ago" if seconds < 120 else f"{duration(int(seconds) * 1_000_000)} ago"


def rate(health: SourceHealthPayload) -> str:
    return f"{health['rate']:,.0f}" if health["rate"] >= 10 else f"{health['rate']:.1f}".removesuffix(".0")


def summary(streams: Sequence[StreamPayload]) -> str:
    """Return how many kinds are watched, and how many are waiting, failing or forbidden."""
    counts: dict[StreamState, int] = {}
    for each in streams:
        counts[each["state"]] = counts.get(each["state"], 0) + 1
    watched = len({(each["group"], each["resource"]) for each in streams if each["state"] not in _UNSEEN})
    namespaces = len({each["namespace"] for each in streams} - {""})
    where = f" in {namespaces} {wording.plural('namespace', namespaces)}" if namespaces else ""
    parts = [f"{watched} {wording.plural('kind', watched)}{where}"]
    parts += [
        f"{counts[state]} {_STREAMS[state][0]}"
        for state in ("waiting", "listing", "failing", "forbidden")
        if state in counts
    ]
    return ", ".join(parts)


def stream(row: StreamPayload, known: str = "") -> StreamLine:
    """Return the row of a watch. `known` is an error that is shown already, and is not repeated."""
    word, state = _STREAMS[row["state"]]
    name = f"{row['resource']}.{row['group']}" if row["group"] else row["resource"]
    return StreamLine(
        name=f"{name} in {row['namespace']}" if row["namespace"] else name,
        state=state,
        word=word,
        watermark=row["watermark"] or "",
        reached=wording.clock_of(row["watermark_at"])[11:19] if row["watermark_at"] else "",
        reached_at=timestamp(row["watermark_at"]) if row["watermark_at"] else "",
        entries=wording.some(row["entries"]),  # readers of some namespaces see no number
        gaps=wording.some(row["gaps"]),
        error=row["error"] if row["state"] in _WITH_ERROR and row["error"] != known else "",
    )


def outages(gaps: Sequence[GapPayload]) -> list[Outage]:
    """Join gaps that overlap, and return the newest first."""
    together: list[list[GapPayload]] = []
    begun = 0
    for each in sorted(gaps, key=lambda gap: (-gap["until"], gap["kind"])):
        if together and each["until"] >= begun:
            together[-1].append(each)
            begun = min(begun, each["since"])
        else:
            together.append([each])
            begun = each["since"]
    return [_outage(each) for each in together]


def _outage(gaps: list[GapPayload]) -> Outage:
    since, until = min(each["since"] for each in gaps), max(each["until"] for each in gaps)
    reasons = dict.fromkeys(each["reason"].removeprefix(f"{each['kind']}: ") for each in gaps)
    return Outage(
        since=wording.second_of(since),
        until=wording.second_of(until),
        length=duration(until - since),
        kinds=gaps[0]["kind"] if len(gaps) == 1 else f"{len({(each['group'], each['kind']) for each in gaps})} kinds",
        reasons=[each[:1].upper() + each[1:] for each in reasons],
        missed=[_missed(each) for each in sorted(gaps, key=lambda gap: (gap["group"], gap["kind"]))],
    )


def _missed(row: GapPayload) -> Missed:
    known = row["since_revision"] or row["revision"]
    return Missed(
        kind=f"{row['kind']}.{row['group']}" if row["group"] else row["kind"],
        since=wording.second_of(row["since"]),
        until=wording.second_of(row["until"]),
        revisions=f"revisions {row['since_revision'] or '?'} – {row['revision'] or '?'}" if known else "",
    )

"""What pages and the terminal tell of connected clusters, in words; nothing is left to do."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from collectors.addresses import is_loopback
from collectors.watch.access import Checked
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

WORDS: dict[SourceState, str] = {
    "waiting": "waiting for a worker",
    "connecting": "connecting",
    "live": "live",
    "failing": "failing",
    "paused": "paused",
    "ended": "ended",
}
_STREAMS: dict[StreamState, tuple[str, str]] = {  # what is said of it, and as which state of a cluster it is drawn
    "waiting": ("waiting", "waiting"),
    "listing": ("listing", "connecting"),
    "watching": ("watching", "live"),
    "failing": ("failing", "failing"),
    "forbidden": ("not allowed", "failing"),
    "missing": ("not served", "paused"),
}
_HOWS = {"stored": "a stored kubeconfig", "path": "a kubeconfig by its path", "in-cluster": "its ServiceAccount"}
_UNSEEN = {"forbidden", "missing"}
_TOLD = {"failing", "watching", *_UNSEEN}  # what is said of a watch that goes on is no old failure


class StreamLine(NamedTuple):
    """The watch of one resource, as a row."""

    name: str
    state: str  # a state of a cluster, for the sign
    word: str
    watermark: str
    reached: str  # "07:55:31"
    entries: str
    gaps: str
    error: str


class Missed(NamedTuple):
    """What one kind missed in an outage."""

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
    """A connected cluster as a row."""

    id: int
    name: str
    state: ClusterState
    word: str
    server: str
    how: str
    source: int | None
    lag: str  # "80 ms"; "" where nothing is known
    heard: str  # "2 s ago"
    rate: str  # "12.5"
    entries: str
    gaps: int
    summary: str  # "24 kinds, 1 not allowed"
    holder: str
    notes: list[str]  # what there is besides, as sentences
    error: str
    streams: list[StreamLine]

    @property
    def vitals(self) -> list[str]:
        """For a line of text."""
        told = [f"lag {self.lag}", f"last event {self.heard}"] if self.lag else []
        if self.source is not None:
            told += [f"{self.rate} changes/s", self.summary, f"{self.entries} changes"]
        if self.gaps:
            told.append(wording.plural(f"{self.gaps} gap", self.gaps))
        return told


def card(told: ClusterPayload) -> Card:
    health = told["health"]
    return Card(
        id=told["id"],
        name=told["name"],
        state=told["state"],
        word=WORDS[told["state"]],
        server=told["server"],
        how=_HOWS[told["how"]],
        source=told["source"],
        lag=lag(health) if health else "",
        heard=heard(health) if health else "",
        rate=rate(health) if health else "",
        entries=wording.count(health["entries"]) if health else "",
        gaps=health["outages"] if health else 0,
        summary=summary(health["streams"]) if health else "",
        holder=told["holder"],
        notes=notes(told),
        error=told["error"],
        streams=[stream(each, told["error"]) for each in health["streams"]] if health else [],
    )


def notes(told: ClusterPayload) -> list[str]:
    """What it waits for, and what went wrong last."""
    found = []
    if not told["holder"] and told["state"] == "waiting":
        found.append("No worker holds it. One takes it up within seconds where one runs.")
    if told["error"]:
        at = f" ({wording.clock_of(told['error_at'])[:19]} UTC)" if told["error_at"] else ""
        found.append(f"Last error{at}: {told['error']}")
    return found


def lag(health: SourceHealthPayload) -> str:
    """How long a change takes from the API server to here; "" where nothing flows."""
    if health["lag"] is None or health["state"] not in ("live", "connecting"):
        return ""
    return duration(max(1000, int(health["lag"] * 1e6)))


def heard(health: SourceHealthPayload) -> str:
    """How long ago anything was heard; "" where nothing ever was."""
    seconds = health["silent"]
    if seconds is None:
        return ""
    return f"{seconds:.0f} s ago" if seconds < 120 else f"{duration(int(seconds) * 1_000_000)} ago"


def rate(health: SourceHealthPayload) -> str:
    return f"{health['rate']:,.0f}" if health["rate"] >= 10 else f"{health['rate']:.1f}".removesuffix(".0")


def summary(streams: Sequence[StreamPayload]) -> str:
    """How many kinds are watched, and how many are not as they should be."""
    counts: dict[StreamState, int] = {}
    for each in streams:
        counts[each["state"]] = counts.get(each["state"], 0) + 1
    watched = sum(count for state, count in counts.items() if state not in _UNSEEN)
    told = [f"{watched} {wording.plural('kind', watched)}"]
    told += [
        f"{counts[state]} {_STREAMS[state][0]}"
        for state in ("waiting", "listing", "failing", "forbidden")
        if state in counts
    ]
    return ", ".join(told)


def stream(row: StreamPayload, known: str = "") -> StreamLine:
    """`known` is an error that is told already."""
    word, state = _STREAMS[row["state"]]
    return StreamLine(
        name=f"{row['resource']}.{row['group']}" if row["group"] else row["resource"],
        state=state,
        word=word,
        watermark=row["watermark"] or "",
        reached=wording.clock_of(row["watermark_at"])[11:19] if row["watermark_at"] else "",
        entries=wording.count(row["entries"]),
        gaps=wording.some(row["gaps"]),
        error=row["error"] if row["state"] in _TOLD and row["error"] != known else "",
    )


def outages(gaps: Sequence[GapPayload]) -> list[Outage]:
    """Gaps that overlap are one; the newest first."""
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
        since=wording.clock_of(since)[:19],
        until=wording.clock_of(until)[:19],
        length=duration(until - since),
        kinds=gaps[0]["kind"] if len(gaps) == 1 else f"{len({(each['group'], each['kind']) for each in gaps})} kinds",
        reasons=[each[:1].upper() + each[1:] for each in reasons],
        missed=[_missed(each) for each in sorted(gaps, key=lambda gap: (gap["group"], gap["kind"]))],
    )


def _missed(row: GapPayload) -> Missed:
    told = row["since_revision"] or row["revision"]
    return Missed(
        kind=f"{row['kind']}.{row['group']}" if row["group"] else row["kind"],
        since=wording.clock_of(row["since"])[11:19],
        until=wording.clock_of(row["until"])[11:19],
        revisions=f"revisions {row['since_revision'] or '?'} – {row['revision'] or '?'}" if told else "",
    )


def findings_of(checked: Checked, reference: Mapping[str, Any]) -> list[str]:
    """What a cluster answered, a sentence each."""
    told = [f"It answers as Kubernetes {checked.version}."] if checked.version else []
    if reference.get("insecure"):
        told.append("Its certificate is not checked (insecure-skip-tls-verify): anybody in between can read along.")
    server = urlsplit(str(reference.get("server") or ""))
    if server.scheme == "http" and not is_loopback(server.hostname or ""):
        told.append("Its address begins with http://: anybody in between can read along, the credentials included.")
    if checked.problem:
        return [*told, checked.problem]
    if checked.unasked:
        return [*told, f"What may be watched cannot be asked; it will be seen once it is connected. {checked.unasked}"]
    allowed = len(checked.grants) - len(checked.refused)
    told.append(f"{allowed} of {len(checked.grants)} kinds may be watched.")
    told += [f"{refusal(each)}" for each in checked.refused]
    for each in checked.blind:
        kinds = " and ".join(each.kinds)
        told.append(f"So the rule {each.rule} {'cannot judge' if each.wholly else 'judges only in part'}: no {kinds}.")
    return told


def refusal(grant: Any) -> str:
    why = f": {grant.why}" if grant.why else ""
    return f"{grant.resource} may not be {' or '.join(_DONE[verb] for verb in grant.refused)}{why}."


_DONE = {"list": "listed", "watch": "watched"}

"""Write the texts of pages about alerts that other programs have sent. It makes no queries and no HTML."""

from collections.abc import Iterable
from typing import NamedTuple

from dashboard.presentation.wording import second_of
from timeline.core.durations import duration, round_half_up
from timeline.core.order import SECOND
from timeline.payloads.alerts import AlertPayload
from timeline.payloads.documents import timestamp

_FIRST = ("summary", "message", "description")  # the annotations that say in a sentence what an alert is about


class AlertRow(NamedTuple):
    """An alert as a list shows it."""

    alert: AlertPayload
    key: str  # its place on the page
    title: str
    about: str  # what it says in a sentence; ""
    state: str  # "firing" or "over"
    when: str  # "2026-11-21 07:52:00 UTC, for 5 min"
    iso: str
    heard: str  # "last notification 2026-11-21 07:52:00 UTC"
    where: str  # "Pod team-a/train-0 in prod"; ""
    url: str  # of the timeline
    labels: list[tuple[str, str]]
    annotations: list[tuple[str, str]]


def rows(alerts: Iterable[AlertPayload]) -> list[AlertRow]:
    return [_row(each) for each in alerts]


def _row(alert: AlertPayload) -> AlertRow:
    annotations = alert["annotations"]
    about = next((annotations[name] for name in _FIRST if annotations.get(name)), "")
    lasted = "" if alert["end"] is None else f", for {_length(alert['end'] - alert['start'])}"
    found = alert["object"]
    named = f"{found['namespace']}/{found['name']}" if found and found["namespace"] else found["name"] if found else ""
    return AlertRow(
        alert,
        f"alert-{alert['id'][:12]}",
        alert["name"] or "(no name)",
        about,
        "over" if alert["state"] == "resolved" else "firing",
        f"{_written(alert['start'])}{lasted}",
        timestamp(alert["start"]),
        f"last notification {_written(alert['seen'])}",
        f"{found['kind']} {named} in {found['source_name']}" if found else "",
        alert["timeline"],
        sorted(alert["labels"].items()),
        sorted(annotations.items()),
    )


def _length(lasted: int) -> str:
    return duration(round_half_up(lasted, SECOND)) if lasted >= SECOND else "less than 1 s"


def _written(moment: int) -> str:
    return f"{second_of(moment)} UTC"

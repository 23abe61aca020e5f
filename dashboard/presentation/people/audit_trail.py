"""Write the texts of the records on the page of the audit trail."""

from collections.abc import Iterable
from typing import NamedTuple
from urllib.parse import urlencode

from dashboard.access.trail.actions import ACTIONS
from dashboard.models import AuditRecord

_WAYS = {
    "start-up token": "with the start-up token",
    "anybody": "without signing in",
    "token": "an access token",
    "link": "through a share link",
    "view": "in an embedded timeline",
    "command": "on the command line",
}
_OUTCOMES = {"done": "", "refused": "refused", "failed": "did not succeed"}


class RecordRow(NamedTuple):
    at: str
    who: str
    who_url: str  # of the records of the same person
    way: str  # how they came in, unless with an account; or their role
    words: str
    about: str  # "prod-eu, incident 3f2a9c01d4e5b6a7"
    about_url: str  # of the records about the same source or cluster
    outcome: str  # "" if it was done
    beside: str  # address, request and details


def rows(records: Iterable[AuditRecord]) -> list[RecordRow]:
    return [_row(each) for each in records]


def _row(each: AuditRecord) -> RecordRow:
    place = {"source": each.source} if each.source is not None else {"cluster": each.cluster}
    details = [f"{key} {value}" for key, value in each.details.items()]
    request = f"request {each.request}" if each.request else ""
    status = f"answered {each.status}" if each.status is not None and each.outcome != "done" else ""
    return RecordRow(
        at=f"{each.at:%Y-%m-%d %H:%M:%S UTC}",
        who=each.who or ("somebody unknown" if each.way == "nobody" else "somebody"),
        who_url=f"?{urlencode({'who': each.who})}" if each.who else "",
        way=_WAYS.get(each.way, each.role),
        words=ACTIONS.get(each.action, each.action),
        about=", ".join(filter(None, (each.name, each.thing))),
        about_url=f"?{urlencode(place)}" if any(value is not None for value in place.values()) else "",
        outcome=_OUTCOMES.get(each.outcome, each.outcome),
        beside=" · ".join(filter(None, (each.address, status, *details, request))),
    )

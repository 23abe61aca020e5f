"""Declare the payloads of alerts that other programs have sent. Times are microseconds since 1970, UTC."""

from typing import Literal

from typing_extensions import TypedDict  # Pydantic does not accept that of typing before Python 3.12

AlertState = Literal["firing", "resolved"]


class AlertObjectPayload(TypedDict):
    """This is the object that the labels of an alert name, as it was when the alert began, or nearest to that."""

    source: int
    source_name: str
    track: int
    kind: str
    namespace: str
    name: str
    lane: str  # LanePayload.key
    url: str  # of its page


class AlertPayload(TypedDict):
    id: str  # the same for each notification of the alert, and for each receiver
    receiver: str  # the name of the access token with which it was sent
    name: str  # the label alertname; "" if it has none
    state: AlertState  # "firing" as long as no notification says that it ended
    start: int
    end: int | None  # null while it fires
    seen: int  # when the last notification of it came
    cluster: str  # that the token is limited to, or else the label; ""
    labels: dict[str, str]
    annotations: dict[str, str]
    link: str  # of the page that explains it, http or https; ""
    object: AlertObjectPayload | None
    why: str  # why it is linked to no object, in a sentence; "" if it is
    timeline: str  # the address of the timeline at the time at which the alert began; "" if no source is known


class AlertsPayload(TypedDict):
    alerts: list[AlertPayload]  # the newest first
    more: bool  # whether there are more than these


class AlertListPayload(TypedDict):
    alerts: list[AlertPayload]  # the newest first. With a filter by source, a page may have few, or none
    next: str | None  # pass it as `cursor` for the alerts before these

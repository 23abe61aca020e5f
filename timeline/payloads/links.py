"""Declare the answer to the link of an alert as JSON.

Times are ISO 8601 in UTC. Addresses are absolute.
"""

from typing import Literal

from typing_extensions import TypedDict  # Pydantic does not accept that of typing before Python 3.12

from timeline.payloads.findings import IncidentRowPayload, ObjectPayload
from timeline.payloads.objects import LifePayload


class LinkSourcePayload(TypedDict):
    """This is the cluster or the recording in which an object was found."""

    id: int
    name: str
    cluster: str | None  # the name of the connected cluster that it is of; None for a recording
    live: bool  # whether a cluster feeds it now


class LinkChoicePayload(TypedDict):
    """This is one incarnation of an object that a link may mean."""

    url: str  # of the timeline around it, where `/go` leads
    object_url: str  # of its page
    source: LinkSourcePayload
    object: ObjectPayload
    track: int
    start: str  # when it began; for an IP address, when the object got it
    end: str | None  # None while it exists, or existed when it was last observed
    relation: Literal["alive", "ended", "unseen", "began"]  # to `at`, or to now
    apart: int  # microseconds between it and that time; 0 if it existed then
    sentence: str  # relation and distance in words


class LinkMatchPayload(LinkChoicePayload):
    """This is the object that a link means."""

    incarnation: int  # 1 for the first known one of this name in the source
    incarnations: int
    incidents: list[IncidentRowPayload]  # in the range of time that the timeline shows; 10 at most, the gravest first
    incidents_total: int


class ResolvedPayload(TypedDict):
    """This is what a link means: an object, or else a choice, or why there is none."""

    link: str  # the same link for people
    match: LinkMatchPayload | None
    choices: list[LinkChoicePayload]  # if the link leaves open which object it means; 50 at most
    choices_total: int
    reason: str  # why there is no match, in sentences; "" for a match
    alike: list[LifePayload]  # objects with this or a similar name, if the object is not known
    clusters: list[str]  # similar names, if the cluster is not known

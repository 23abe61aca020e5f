"""Declare the payload of the changes in a time, listed one by one in commit order."""

from typing import Literal

from typing_extensions import TypedDict  # Pydantic does not accept that of typing before Python 3.12


class EventPayload(TypedDict):
    """This is one change of one object."""

    time: str  # ISO 8601 UTC; the drawn time
    earliest: str | None  # the earliest time at which it can have been committed; null if an older version stored it
    latest: str | None  # the latest such time; null if no clock bounds it
    resource_version: str | None
    change: Literal["created", "modified", "deleted", "observed"]  # observed: a list showed the object
    action: str  # the subresource that was written: "status", "binding", …
    text: str  # what the timeline draws of it: "Pending; scheduled to node-3"; "" if it draws nothing
    group: str  # the API group of the object; "" for core
    kind: str
    namespace: str
    name: str
    track: int
    writer: str  # the account, or else the program; "" if nothing says who made the change
    url: str  # the change on the page of its object; "" without a server


class EventsPayload(TypedDict):
    """This is one page of the changes in a time, in commit order: by drawn time, which never shows a later revision
    before an earlier one, and then by revision."""

    events: list[EventPayload]
    next: str | None  # the cursor of the next page
    total: int  # all events in the time, on this page or not
    undrawn: int  # further changes, which the timeline does not draw; 0 if these are listed, too
    objects: int  # the number of objects whose changes were read
    complete: bool  # False if more objects matched than were read: ask for a namespace, a kind or a shorter time

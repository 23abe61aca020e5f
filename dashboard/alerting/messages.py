"""This module has what routes hand to destinations: messages, and the fields that a destination asks for."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from dashboard.access.outgoing import NotAllowed, Refused, Unreachable

__all__ = ["Change", "Field", "Message", "NotAllowed", "Refused", "Unreachable"]

Change = Literal["began", "worse", "over", "test"]


@dataclass(frozen=True)
class Message:
    """This is what is told of one incident. Texts are plain, redacted, and in English; times are in UTC."""

    key: str  # the same whenever the same is sent again
    change: Change
    title: str
    severity: str  # error, warning or info
    url: str  # of the incident's page
    when: str  # a sentence
    cause: str = ""  # a sentence, or "" where nothing proves a cause
    effect: str = ""  # a sentence, or ""
    source: str = ""  # the name of the cluster or recording
    namespace: str = ""
    rule: str = ""
    owner: str = ""  # Kind/name of what the incident is about
    labels: Mapping[str, str] = field(default_factory=dict)
    incident: tuple[int, str] | None = None  # Source.pk and Incident.identity
    others: int = 0  # further incidents of the group that are not in this delivery
    again: bool = False  # it was told before, and still goes on
    started: datetime | None = None
    ended: datetime | None = None


@dataclass(frozen=True)
class Field:
    """This is one value that a destination needs, and how the form asks for it."""

    name: str
    label: str
    hint: str = ""  # a sentence below the field
    secret: bool = True  # whether it is never shown again
    required: bool = True
    kind: Literal["url", "text", "password", "lines"] = "text"

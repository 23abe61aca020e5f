"""What routes hand to destinations: messages, and the fields that a destination asks for."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any, Literal

from dashboard.access.outgoing import DestinationRefused, NotAllowed, Unreachable

__all__ = [
    "Change",
    "DestinationRefused",
    "Field",
    "Known",
    "Message",
    "NotAllowed",
    "Symptom",
    "Unreachable",
    "from_json",
    "to_json",
]

Change = Literal["began", "worse", "over", "test"]
_TIMES = ("started", "ended")


@dataclass(frozen=True)
class Symptom:
    """What a message says of one symptom of its incident."""

    id: str  # Symptom.identity
    severity: str  # error, warning or info
    title: str


@dataclass(frozen=True)
class Known:
    """By what a destination that keeps incidents knows one. It stays the same until the incident is over, also if
    its gravest symptom changes, or if it becomes part of another incident."""

    url: str
    incident: tuple[int, str] | None
    rule: str
    namespace: str
    owner: str


@dataclass(frozen=True)
class Message:
    """What is sent of one incident. Texts are plain, redacted, and in English; times are in UTC."""

    key: str  # the same whenever the same is sent again
    change: Change
    title: str
    severity: str  # error, warning or info
    url: str  # of the incident's page
    when: str  # a sentence
    cause: str = ""  # a sentence, or "" where nothing proves a cause
    effect: str = ""  # a sentence, or ""
    symptoms: tuple[Symptom, ...] = ()  # the gravest ones, at most 10
    symptoms_total: int = 1
    advice: str = ""  # what to do first, such as "Stop: restart it."
    source: str = ""  # the name of the cluster or recording
    namespace: str = ""
    rule: str = ""
    owner: str = ""  # Kind/name of what the incident is about
    labels: Mapping[str, str] = field(default_factory=dict)
    incident: tuple[int, str] | None = None  # Source.pk and Incident.identity
    others: int = 0  # further incidents of the group that are not in this delivery
    was: str = ""  # the severity that was sent before, if it got worse
    again: bool = False  # it was sent before, and still goes on
    unwatched: bool = False  # `change` is "over" only because its cluster is not watched any more
    joined: str = ""  # `change` is "over" only because it is part of this incident now, which was sent, too
    known: Known | None = None  # of the message that it began, if that said something else
    started: datetime | None = None
    ended: datetime | None = None

    @property
    def listed(self) -> tuple[Symptom, ...]:
        """The gravest symptoms; none if there is only one, which the title says."""
        return self.symptoms if self.symptoms_total > 1 else ()

    @property
    def kept_as(self) -> Known:
        """By what destinations that keep incidents know this one."""
        return self.known or Known(self.url, self.incident, self.rule, self.namespace, self.owner)


def to_json(message: Message) -> dict[str, Any]:
    """Return a message as it is stored."""
    times = {name: at.isoformat() if (at := getattr(message, name)) else None for name in _TIMES}
    return asdict(message) | {"labels": dict(message.labels)} | times


def from_json(stored: Mapping[str, Any]) -> Message:
    """Return a message that was stored."""
    times = {name: datetime.fromisoformat(at) if (at := stored[name]) else None for name in _TIMES}
    symptoms = tuple(Symptom(**each) for each in stored.get("symptoms", ()))
    known = stored.get("known")
    more = {"symptoms": symptoms, "known": Known(**_with_key(known)) if known else None}
    return Message(**{**_with_key(stored), **times, **more})


def _with_key(stored: Mapping[str, Any]) -> dict[str, Any]:
    return {**stored, "incident": tuple(stored["incident"]) if stored["incident"] else None}


@dataclass(frozen=True)
class Field:
    """One value that a destination needs, and how the form asks for it."""

    name: str
    label: str
    hint: str = ""  # a sentence below the field
    secret: bool = True  # whether it is never shown again
    required: bool = True
    kind: Literal["url", "text", "password", "lines"] = "text"

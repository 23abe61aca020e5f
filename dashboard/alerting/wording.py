"""Write the texts of messages about incidents."""

import uuid
from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from django.conf import settings

from dashboard.alerting.messages import Message, Symptom, from_json
from dashboard.alerting.routing import Key, Notification
from timeline.core.durations import Length
from timeline.core.entries import moment
from timeline.judging.advice import steps
from timeline.models import Finding, Source
from timeline.payloads.findings import IncidentRowPayload
from timeline.payloads.incidents.ranges import bounds
from timeline.queries.incidents import noticed
from timeline.queries.incidents.finding import finding
from timeline.queries.sources.extents import SEVERITIES

_GONE = "Later observations have explained it, or it was deleted."
_JOINED = "It has the same cause as another incident, and goes on as a part of that."
_SYMPTOMS = 10  # of an incident, in a message
_UNWATCHED = "Its cluster is not watched any more, so it is not known whether it is over."


class Shown:
    """Read incidents once, and word messages about them."""

    def __init__(self, keys: Collection[Key], now: datetime) -> None:
        self._now = now
        self._incidents = noticed.incidents_by_key(keys) if keys else {}
        self._names = noticed.names_of({source for source, _ in keys}) if keys else {}

    def message(self, notification: Notification, before: Mapping[str, Any]) -> Message | None:
        """Return the message of one incident; if it is gone or not watched, of what was sent before, or None."""
        found = self._incidents.get(notification.key)
        if found and notification.key[0] in self._names and not (notification.unwatched and before):
            return self._of(_heard(found), notification, before)
        if not before:
            return None
        return replace(
            from_json(before),
            key=uuid.uuid4().hex,
            change=notification.change,
            when=_UNWATCHED if notification.unwatched else _GONE,
            was="",
            again=False,
            unwatched=notification.unwatched,
            ended=None if notification.unwatched else self._now,
        )

    def _of(self, incident: IncidentRowPayload, notification: Notification, before: Mapping[str, Any]) -> Message:
        goes_on = notification.again or notification.was is not None or notification.change == "over"
        name, live = self._names[notification.key[0]]
        over = notification.change == "over" or incident["state"] == "over"
        anchor = incident["anchor"]
        return Message(
            key=uuid.uuid4().hex,
            change=notification.change,
            title=incident["title"],
            severity=SEVERITIES[notification.rank],
            was="" if notification.was is None else SEVERITIES[notification.was],
            url=address() + incident["url"],
            when=f"{_when(incident, over=over)}{_lasted(incident) if over else ''}",
            cause=incident["cause"],
            effect=incident["effect_text"],
            symptoms=tuple(
                Symptom(each["id"], each["severity"], each["title"]) for each in incident["symptoms"][:_SYMPTOMS]
            ),
            symptoms_total=incident["symptoms_total"],
            advice="" if over else _first_step(incident["advice"]),
            source=name,
            namespace=anchor["namespace"],
            rule=incident["rule"],
            owner=f"{anchor['kind']}/{anchor['name']}",
            labels={"cluster" if live else "recording": name},
            incident=notification.key,
            again=notification.again,
            known=from_json(before).kept_as if goes_on and before else None,
            started=moment(incident["start"]),
            ended=moment(incident["end"]) if over else None,
        )


def joined(before: Mapping[str, Any], incident: str, now: datetime) -> Message:
    """Return the message that an incident is part of another one now. `before` is the last message sent about it."""
    sent = replace(from_json(before), key=uuid.uuid4().hex, change="over", when=_JOINED, joined=incident)
    return replace(sent, was="", again=False, ended=now)


def test(destination: str, now: datetime) -> Message:
    """Return the message that the button "Send a test message" sends."""
    return Message(
        key=uuid.uuid4().hex,
        change="test",
        title="Test message from Causeline",
        severity="info",
        url=address() + "/routes/",
        when=f"It was sent at {_second(now)} UTC.",
        cause=f"Somebody tries whether messages reach the destination {destination}. Nothing has happened.",
        source="Causeline",
        rule="test",
        started=now,
        ended=now,
    )


def address() -> str:
    """Return the address under which browsers reach Causeline, without a slash at the end."""
    if settings.ADDRESS:
        return str(settings.ADDRESS)
    if settings.CSRF_TRUSTED_ORIGINS and "*" not in settings.CSRF_TRUSTED_ORIGINS[0]:
        return str(settings.CSRF_TRUSTED_ORIGINS[0])
    host = next((each for each in settings.ALLOWED_HOSTS if "*" not in each), "localhost")
    port = f":{settings.PORT}" if settings.PORT else ""
    return f"{'https' if settings.HTTPS else 'http'}://{host}{port}"


def _heard(incident: IncidentRowPayload) -> IncidentRowPayload:
    """Return an incident without its silenced symptoms, unless all are silenced."""
    heard = [each for each in incident["symptoms"] if not each["silenced"]]
    silenced = len(incident["symptoms"]) - len(heard)
    if not heard or not silenced:
        return incident
    proven = incident["caused"] in {each["worst"] for each in heard}
    return {
        **incident,
        "symptoms": heard,
        "symptoms_total": incident["symptoms_total"] - silenced,
        "state": "ongoing" if any(each["state"] == "ongoing" for each in heard) else "over",
        "start": min(each["start"] for each in heard),
        "end": max(each["end"] for each in heard),
        "occurrences": sum(each["occurrences"] for each in heard),
        "cause": incident["cause"] if proven else "",
        "advice": _advice_of(incident["source"], heard[0]["worst"]),
    }


def _advice_of(source: int, identity: str) -> list[str]:
    try:
        return finding(source, identity)["advice"]
    except (Source.DoesNotExist, Finding.DoesNotExist):
        return []  # judged anew meanwhile


def _first_step(advice: list[str]) -> str:
    """Return how to stop what happens, or else where to look first; "" without advice."""
    by_name = {each.name: each.lines[0] for each in steps(advice)}
    return next((f"{name}: {by_name[name]}" for name in ("Stop", "Look") if name in by_name), "")


def _when(incident: IncidentRowPayload, *, over: bool) -> str:
    first, last, times = _second(moment(incident["start"])), _second(moment(incident["end"])), incident["occurrences"]
    if times == 1:
        began = f"It began at {first} UTC"
        return f"{began}, and ended at {last} UTC." if over else f"{began}."
    often = f"It happened {f'{times} times, ' if incident['symptoms_total'] == 1 else ''}from {first} to {last} UTC"
    return f"{often}, and not again since." if over else f"{often}."


def _lasted(incident: IncidentRowPayload) -> str:
    """Return how long the only occurrence of an incident lasted, as precisely as that is known; "" for several."""
    if incident["occurrences"] != 1:
        return ""
    try:
        (only,) = finding(incident["source"], incident["worst"])["occurrences"]
    except (Source.DoesNotExist, Finding.DoesNotExist, ValueError):
        return ""  # judged anew meanwhile
    start, begun, over, end = bounds(only["start"], only["end"], only["proof"])
    return f" It lasted {Length(max(0, over - begun), end - start)}." if only["end"] > only["start"] else ""


def _second(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S}"

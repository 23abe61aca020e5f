"""Send to an Alertmanager, which then groups and routes by its own rules. The API is v2.

An alert that is not sent again ends, so what goes on is sent again every few minutes, as Prometheus does.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import orjson
from django.utils import timezone

from dashboard.access import outgoing
from dashboard.alerting.messages import DestinationRefused, Field, Message

NAME = "alertmanager"
label = "Alertmanager"
KEEPS = True
REFRESH = timedelta(minutes=5)
INCIDENT = "causeline_incident"  # the label by which Causeline recognises its own alerts
_HOLDS = 6 * REFRESH  # how long an alert goes on if nothing more is sent
FIELDS = (
    Field("url", "Address", "Where its pages are, such as http://alertmanager:9093", kind="url", secret=False),
    Field("token", "Bearer token", "Only if a proxy in front of it asks for one.", kind="password", required=False),
)


def check(config: Mapping[str, str]) -> None:
    """Raise Refused if nothing may be sent to the address, or if it has a password, which would be shown."""
    if outgoing.permitted(config.get("url", "")).userinfo:
        raise DestinationRefused("Write the address without a password: it is shown. Use the token.")


def send(config: Mapping[str, str], messages: Sequence[Message], *, key: str) -> str:
    """Post the alerts. The same alerts sent twice change nothing, since their labels are their identity."""
    now = timezone.now()
    alerts = [alert for message in messages for alert in _alerts(message, now)]
    headers = {"Content-Type": "application/json", "Idempotency-Key": key}
    if token := config.get("token"):
        headers["Authorization"] = f"Bearer {token}"
    address = config["url"].rstrip("/") + "/api/v2/alerts"
    return outgoing.accepted(outgoing.post(address, orjson.dumps(alerts), headers))


def is_ours(labels: Mapping[str, str]) -> bool:
    """Return whether an alert with these labels is an incident that Causeline has sent."""
    return INCIDENT in labels


def _alerts(message: Message, now: datetime) -> Iterator[dict[str, Any]]:
    over = message.change in ("over", "test")
    yield _alert(message, message.severity, message.ended or now if over else now + _HOLDS, now)
    if message.was and message.was != message.severity:  # a label has changed, so this is another alert
        yield _alert(message, message.was, now, now)


def _alert(message: Message, severity: str, ends: datetime, now: datetime) -> dict[str, Any]:
    starts = min(message.started or now, ends)
    known = message.kept_as
    labels = {
        "alertname": known.rule,
        "severity": severity,
        "namespace": known.namespace,
        "owner": known.owner,
        INCIDENT: known.incident[1] if known.incident else "",
        **message.labels,
    }
    annotations = {
        "summary": message.title,
        "description": " ".join(filter(None, [message.when, message.effect])),
        "cause": message.cause,
        "symptoms": "; ".join(f"{each.severity}: {each.title}" for each in message.listed),
        "advice": message.advice,
    }
    return {
        "labels": {name: value for name, value in labels.items() if value},
        "annotations": {name: value for name, value in annotations.items() if value},
        "startsAt": starts.isoformat(),
        "endsAt": ends.isoformat(),
        "generatorURL": message.url,
    }

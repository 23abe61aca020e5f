"""Write annotations into Grafana: one for each incident, from its beginning to its end.

Grafana's annotations HTTP API has no idempotency keys. Each annotation has a tag of its own, by which it is found and
changed when its incident got worse or is over, or when a message is sent again.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from typing import Any
from urllib.parse import urlencode

import orjson

from dashboard.access import outgoing
from dashboard.alerting.messages import DestinationRefused, Field, Message, Unreachable

NAME = "grafana"
label = "Grafana annotations"
KEEPS = True
FIELDS = (
    Field("url", "Address of Grafana", "Such as https://grafana.example.org.", kind="url"),
    Field(
        "token",
        "Token",
        "Of a service account that may create, write and read annotations: the role Editor can.",
        kind="password",
    ),
    Field(
        "dashboard",
        "UID of a dashboard",
        "Annotations belong to this dashboard. If it is empty, any dashboard can show them by their tags.",
        secret=False,
        required=False,
    ),
)
_TOKEN = re.compile(r"[!-~]{1,4096}")
_UID = re.compile(r"[A-Za-z0-9_-]{0,40}")
_TITLE, _SENTENCES = 300, 600  # characters, so that one annotation fits into what is read of an answer
_TAG = 100  # characters; Grafana refuses tags that are longer than 500 together


def check(config: Mapping[str, str]) -> None:
    """Raise Refused if annotations could not be written with these values. Nothing is sent."""
    outgoing.permitted(_address(config, ""))
    if not _TOKEN.fullmatch(config.get("token", "").strip()):
        raise DestinationRefused("The token of a service account is missing, or has characters that no token has.")
    if not _UID.fullmatch(config.get("dashboard", "").strip()):
        raise DestinationRefused("This is not the UID of a dashboard: letters, digits, - and _, at most 40.")


def send(config: Mapping[str, str], messages: Sequence[Message], *, key: str) -> str:
    """Write an annotation for each message, or change the one that is there. Raise Refused or Unreachable."""
    check(config)
    made = changed = 0
    for message in messages:
        body = _annotation(config, message)
        if (number := _known(config, _own_tag(message))) is None:
            _asked(config, "POST", "", body)
            made += 1
        else:
            _asked(config, "PATCH", f"/{number}", body)
            changed += 1
    return ", ".join(f"{count} {what}" for count, what in ((made, "added"), (changed, "changed")) if count) or "nothing"


def _annotation(config: Mapping[str, str], message: Message) -> dict[str, Any]:
    began = message.started or datetime.now(UTC)
    ended = message.ended or began
    sentences = " ".join(filter(None, (message.when, message.effect, message.cause)))
    link = f'<a href="{escape(message.url)}">Open in Causeline</a>' if message.url else ""
    # Grafana shows the text as HTML, and names may contain anything.
    text = "\n".join(filter(None, (escape(message.title[:_TITLE]), escape(sentences[:_SENTENCES]), link)))
    about = (message.severity, message.rule, message.namespace, message.source)
    tags = ["causeline", _own_tag(message), *(each[:_TAG] for each in about if each)]
    dashboard = config.get("dashboard", "").strip()
    return {
        **({"dashboardUID": dashboard} if dashboard else {}),
        "time": _milliseconds(began),
        "timeEnd": max(_milliseconds(ended), _milliseconds(began)),
        "tags": list(dict.fromkeys(tags)),
        "text": text or "Causeline",
    }


def _own_tag(message: Message) -> str:
    """Return the tag that only the annotation of this incident has."""
    incident = message.kept_as.incident
    own = f"{incident[0]}:{incident[1]}" if incident else message.key
    return f"causeline:{own}"[:_TAG]


def _known(config: Mapping[str, str], tag: str) -> int | None:
    """Return the number of the annotation with this tag; None if there is none."""
    asked = {"tags": tag, "type": "annotation", "limit": 1}
    if dashboard := config.get("dashboard", "").strip():
        asked["dashboardUID"] = dashboard
    found = _asked(config, "GET", f"?{urlencode(asked)}")
    if not isinstance(found, list):
        raise Unreachable("It answered something else than a list of annotations. Is this the address of Grafana?")
    number = found[0].get("id") if found and isinstance(found[0], dict) else None
    return number if isinstance(number, int) else None


def _asked(config: Mapping[str, str], method: str, path: str, body: Any = None) -> Any:
    headers = {
        "Authorization": f"Bearer {config['token'].strip()}",
        "Content-Type": "application/json",
        "Accept": "application/json",
        "Accept-Encoding": "identity",
    }
    content = b"" if body is None else orjson.dumps(body)
    answer = outgoing.post(_address(config, path), content, headers, method=method)
    outgoing.accepted(answer)
    try:
        return orjson.loads(answer.text)
    except orjson.JSONDecodeError:
        raise Unreachable("It answered something else than JSON. Is this the address of Grafana?") from None


def _address(config: Mapping[str, str], path: str) -> str:
    return f"{config.get('url', '').strip().rstrip('/')}/api/annotations{path}"


def _milliseconds(time: datetime) -> int:
    return int(time.timestamp() * 1000)

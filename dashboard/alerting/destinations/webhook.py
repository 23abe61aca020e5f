"""Send CloudEvents to a web server, signed as Standard Webhooks says.

Each delivery is one event in structured JSON. https://www.standardwebhooks.com describes how to verify the signature.
"""

import base64
import binascii
import hmac
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import orjson

from dashboard.access import outgoing
from dashboard.alerting.messages import DestinationRefused, Field, Message
from dashboard.alerting.wording import address as own_address

NAME = "webhook"
label = "Webhook"
KEEPS = True
TYPE = "dev.causeline.incidents.v1"
_PREFIX = "whsec_"
_LEAST = 16  # bytes of a secret
FIELDS = (
    Field("url", "Address", "It gets a POST with a CloudEvent for each delivery.", kind="url"),
    Field(
        "secret",
        "Secret",
        "Signs each request, so that the receiver knows whom it is from: at least 16 characters, or whsec_ and base64.",
        kind="password",
    ),
)


def check(config: Mapping[str, str]) -> None:
    """Raise Refused if nothing may be sent to the address, or if the secret is too short."""
    outgoing.permitted(config.get("url", ""))
    if len(_key(config.get("secret", ""))) < _LEAST:
        raise DestinationRefused("The secret is too short. `openssl rand -hex 32` makes a good one.")


def send(config: Mapping[str, str], messages: Sequence[Message], *, key: str) -> str:
    """Post one CloudEvent; its id is the key."""
    body = orjson.dumps(event(messages, key))
    sent = str(int(time.time()))
    headers = {
        "Content-Type": "application/cloudevents+json; charset=utf-8",
        "Idempotency-Key": key,
        "webhook-id": key,
        "webhook-timestamp": sent,
        "webhook-signature": signature(config["secret"], key, sent, body),
    }
    return outgoing.accepted(outgoing.post(config["url"], body, headers))


def event(messages: Sequence[Message], key: str) -> dict[str, Any]:
    """Return the CloudEvent of a delivery. It is the same whenever it is made again."""
    incidents = [_incident(each) for each in messages]
    first = messages[0]
    subject = "/".join(filter(None, [first.source, first.namespace, first.rule]))
    return {
        "specversion": "1.0",
        "id": key,
        "source": own_address(),
        "type": TYPE,
        "subject": subject,
        "datacontenttype": "application/json",
        "data": {"incidents": incidents, "others": first.others},
    }


def _incident(message: Message) -> dict[str, Any]:
    left_out = ("incident", "others", "known")
    shown = {name: value for name, value in asdict(message).items() if name not in left_out}
    source, identity = message.incident or (None, None)
    sent_as = message.kept_as.incident
    return {
        **shown,
        "labels": dict(message.labels),
        "source_id": source,
        "incident_id": identity,
        "sent_as": sent_as[1] if sent_as else None,
    }


def signature(secret: str, key: str, sent: str, body: bytes) -> str:
    """Return the header `webhook-signature`: HMAC-SHA256 of id, timestamp (seconds since 1970) and body, in base64."""
    digest = hmac.digest(_key(secret), f"{key}.{sent}.".encode() + body, "sha256")
    return "v1," + base64.b64encode(digest).decode()


def _key(secret: str) -> bytes:
    if not secret.startswith(_PREFIX):
        return secret.encode()
    try:
        return base64.b64decode(secret.removeprefix(_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        raise DestinationRefused("What follows whsec_ in the secret is not base64.") from None

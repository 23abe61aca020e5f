"""Send one delivery with the library Apprise, as a program in a process of its own.

It reads what to send as JSON from its standard input, and prints how that went as JSON. The process is confined first,
nothing of Apprise is logged, because that could quote the address, and whoever started it ends it after some seconds.
"""

import base64
import logging
import os
import smtplib
import sys
from functools import wraps
from typing import Any

import httpx
import orjson
import requests
from apprise import Apprise, AppriseAsset, AppriseAttachment, NotifyFormat, NotifyType, PersistentStoreMode
from apprise.attachment.memory import AttachMemory
from apprise.plugins.base import NotifyBase
from apprise.plugins.email.base import NotifyEmail

from collectors.hosts import AllowedHost
from dashboard.alerting.confinement import Confinement
from dashboard.alerting.texts import PICTURE

_ASSET: dict[str, Any] = {
    "app_id": "Causeline",
    "app_desc": "Causeline",
    "app_url": "",
    "image_url_mask": "",
    "image_url_logo": "",
    "http_redirects": False,
    "async_mode": False,
    "interpret_emojis": False,
    "pgp_autogen": False,
    "pem_autogen": False,
}
_KEYS = ("dedup", "alias", "entity_id")  # what services call the key by which they gather what they get
# Opsgenie's and Jira's alerts are ended by an id that only the process knows which raised them.
NOTHING_SENT = "nothing was sent: Apprise does not tell this service that an incident is over"
_TYPES = {"error": NotifyType.FAILURE, "warning": NotifyType.WARNING, "info": NotifyType.INFO}
_FOR_GOOD = {400, 405, 406, 410, 411, 413, 414, 415, 422}  # as in outgoing.accepted
_SIGN_IN = {530, 534, 535, 538}  # of SMTP: whoever runs the server may put these right


def main() -> None:
    order = orjson.loads(sys.stdin.buffer.read())
    answer = os.fdopen(os.dup(1), "wb")
    sys.stdout = sys.stderr
    logging.disable(logging.CRITICAL)
    asset = AppriseAsset(storage_mode=PersistentStoreMode.MEMORY, allow_templates=False, **_ASSET)
    Apprise.instantiate("json://localhost", asset=asset)  # loads all services before their files are out of reach
    statuses = _watched()
    confinement = Confinement()
    confinement.begin()
    answer.write(orjson.dumps(_obeyed(order, asset, confinement, statuses)))
    answer.close()


def _obeyed(
    order: dict[str, Any], asset: AppriseAsset, confinement: Confinement, statuses: list[tuple[str, int]]
) -> dict[str, str]:
    service = _service(order, asset)
    if service is None:
        return {"refused": "Apprise does not understand this address."}
    confinement.allowed = [AllowedHost(*each) for each in order["allowed"]]
    if order["scheme"] in _names(service.protocol):  # without TLS
        confinement.allowed = [each for each in confinement.allowed if each.scheme not in {"https", "smtps"}]
    keeps = any(hasattr(service, name) for name in _KEYS)
    notices = order["each"] if keeps else order["together"]
    delivered = _counted(service)
    for notice in notices:
        delivered.clear()
        if not _sent(service, notice, order["picture"], asset):
            failure = _failure(confinement.refused, statuses)
            # Sending again would notify twice those who were notified, unless the other side knows it by its key.
            return {"sent": f"in part: {next(iter(failure.values()))}"} if delivered and not keeps else failure
    return {"sent": _line(*statuses[-1]) if statuses else NOTHING_SENT if notices else ""}


def _service(order: dict[str, Any], asset: AppriseAsset) -> NotifyBase | None:
    service = Apprise.instantiate(order["url"], asset=asset)
    if service is None or order["scheme"] not in (*_names(service.protocol), *_names(service.secure_protocol)):
        return None
    service.redirects = False
    service.verify_certificate = True
    service.socket_connect_timeout, service.socket_read_timeout = 5.0, 10.0
    if isinstance(service, NotifyEmail):
        service.inline = True
    return service


def _counted(service: NotifyBase) -> list[object]:
    """Return a list that grows by one item for each thing that the service delivers: a recipient, a channel, or a
    file."""
    delivered: list[object] = []
    mark = service.mark_delivered

    def marked(key: object, per_message: bool = False) -> None:
        delivered.append(key)
        mark(key, per_message)

    setattr(service, "mark_delivered", marked)  # noqa: B010 (mypy lets no method be assigned)
    return delivered


def _names(schemes: Any) -> tuple[str, ...]:
    return (schemes,) if isinstance(schemes, str) else tuple(schemes or ())


def _sent(service: NotifyBase, notice: dict[str, str], picture: str, asset: AppriseAsset) -> bool:
    """Send a notice. That for a service which keeps incidents of its own has the key of the one that it is about."""
    over = notice["change"] == "over"
    kind = NotifyType.SUCCESS if over else _TYPES.get(notice["severity"], NotifyType.INFO)
    if key := notice.get("incident"):
        if kind is NotifyType.INFO:
            kind = NotifyType.WARNING  # some of these services take "info" as the end of an incident
        # "map" leaves it to the service to raise or to resolve the incident, as the kind of the notice says.
        for name, value in (*((name, key) for name in _KEYS), ("action", "map")):
            if hasattr(service, name):
                setattr(service, name, value)
    form, body = _form(service, notice)
    attached = None
    if picture and service.attachment_support:
        attached = AppriseAttachment(asset=asset)
        file: Any = AttachMemory  # it has no types
        attached.add(file(base64.b64decode(picture), name=PICTURE, mimetype="image/png"))
    sender = Apprise(asset=asset)
    sender.add(service)
    return bool(sender.notify(body, notice["subject"], kind, body_format=form, attach=attached))


def _form(service: NotifyBase, notice: dict[str, str]) -> tuple[NotifyFormat, str]:
    """Return the form of text that suits a service best."""
    formats = service.notify_format if isinstance(service.notify_format, tuple) else (service.notify_format,)
    if formats[0] == NotifyFormat.HTML and service.service_name != "Telegram":  # which knows few tags
        return NotifyFormat.HTML, notice["html"]
    if formats[0] == NotifyFormat.MARKDOWN:
        return NotifyFormat.MARKDOWN, notice["markdown"]
    return NotifyFormat.TEXT, notice["text"]


def _watched() -> list[tuple[str, int]]:
    """Return a list to which every status that a server answers is added, with its protocol."""
    statuses: list[tuple[str, int]] = []
    send, reply = requests.adapters.HTTPAdapter.send, smtplib.SMTP.getreply

    @wraps(send)
    def sent(*args: Any, **more: Any) -> requests.Response:
        answer = send(*args, **more)
        statuses.append(("HTTP", answer.status_code))
        return answer

    @wraps(reply)
    def replied(self: smtplib.SMTP) -> tuple[int, bytes]:
        code, text = reply(self)
        if code != 221:  # the answer to QUIT says nothing of the message
            statuses.append(("SMTP", code))
        return code, text

    requests.adapters.HTTPAdapter.send = sent  # type: ignore[method-assign]
    smtplib.SMTP.getreply = replied  # type: ignore[method-assign]
    return statuses


def _failure(refused: list[str], statuses: list[tuple[str, int]]) -> dict[str, str]:
    if refused:
        return {"not_allowed": refused[0]}
    # A mail server says 354 before it refuses a message, and 250 when it has forgotten it.
    errors = [each for each in statuses if each[1] >= 300 and each[1] != 354]
    if not errors:
        taken = f"It answered {_line(*statuses[-1])}, but did not take the message." if statuses else ""
        return {"unreachable": taken or "It cannot be reached, or the connection broke off."}
    protocol, status = errors[-1]
    for_good = status in _FOR_GOOD if protocol == "HTTP" else status >= 500 and status not in _SIGN_IN
    return {"refused" if for_good else "unreachable": f"It answered {_line(protocol, status)}."}


def _line(protocol: str, status: int) -> str:
    return f"{status} {httpx.codes.get_reason_phrase(status)}".strip() if protocol == "HTTP" else f"SMTP {status}"


if __name__ == "__main__":
    main()

"""Send by the library Apprise, which knows Slack, Teams, PagerDuty, Opsgenie, e-mail and many more.

Apprise connects by itself, so it runs in a process of its own, which `dashboard.alerting.confinement` confines to the
hosts that an operator allows, and which ends after some seconds.
"""

import base64
import hashlib
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import unquote

import orjson
from django.conf import settings

from collectors.extras import missing
from dashboard.alerting.messages import DestinationRefused, Field, Message, NotAllowed, Unreachable
from dashboard.alerting.texts import Texts, texts
from dashboard.drawing.lettering import Letters
from dashboard.drawing.png import png
from dashboard.presentation.incident_pictures import drawing
from timeline.models import Finding, Incident, Source

NAME = "apprise"
label = "Chat, e-mail or pager (Apprise)"
KEEPS = True  # pagers do; others get nothing of what is part of another incident now
_EXTRA = ("apprise", "Sending by Apprise", "apprise")  # the package, which only the process that sends imports
FIELDS = (
    Field(
        "url",
        "Apprise address",
        "Such as slack://TokenA/TokenB/TokenC or mailtos://user:password@mail.example.org:465?to=team@example.org. "
        f"The documentation of Apprise lists all services. {missing(*_EXTRA)}".strip(),
        kind="url",
    ),
)
SECONDS = 30.0
COMMAND = (sys.executable, "-I", "-m", "dashboard.alerting.apprise_process")
_ADDRESS = re.compile(r"(?P<scheme>[a-zA-Z0-9]{2,20})://[\x21-\x7e]{1,2000}")
# These read files or keys, or undo what is set: certificates are checked, and redirects are not followed.
_NEVER = re.compile(
    r"[?&;]\s*[-+:]?(template|keyfile|subfile|pgp\w*|smime\w*|pem\w*|store|verify|redirect|retry|wait)="
)
_PASSED_ON = ("PATH", "LANG", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE")


def check(config: Mapping[str, str]) -> None:
    """Raise Refused if the address is not one that Apprise understands, or of a service that is not allowed."""
    _run({**_order(config), "together": [], "each": [], "picture": ""})


def send(config: Mapping[str, str], messages: Sequence[Message], *, key: str) -> str:
    """Send messages as one, or one by one to services that keep incidents of their own, such as PagerDuty."""
    order = _order(config)
    picture = _picture(messages)
    notice = _notice(messages[0], texts(messages, picture=bool(picture)))
    together = [] if messages[0].joined else [notice]
    each = [{**_notice(each, texts([each])), "incident": _kept_as(each)} for each in messages]
    sent = _run({**order, "together": together, "each": each, "picture": picture})
    return sent or "nothing was sent: it keeps no incidents"


def _order(config: Mapping[str, str]) -> dict[str, Any]:
    url = config.get("url", "").strip()
    found = _ADDRESS.fullmatch(url)
    if why := missing(*_EXTRA):
        raise NotAllowed(why)
    if found is None:
        raise DestinationRefused("This is not an address such as slack://TokenA/TokenB/TokenC.")
    scheme = found["scheme"].lower()
    if scheme not in settings.APPRISE_SERVICES:
        raise NotAllowed(f"{scheme} is not among the services that an operator allows with CAUSELINE_APPRISE_SERVICES.")
    if never := _NEVER.search(unquote(unquote(url)).lower()):
        raise DestinationRefused(f"The address may not have the parameter {never[1]}.")
    return {"url": url, "scheme": scheme, "allowed": [list(each) for each in settings.DESTINATION_HOSTS]}


def _notice(message: Message, written: Texts) -> dict[str, str]:
    return {**written._asdict(), "change": message.change, "severity": message.severity}


def _kept_as(message: Message) -> str:
    """Return the key under which the other side keeps an incident. It stays the same until the incident is over."""
    return f"causeline-{hashlib.sha256((message.kept_as.url or message.key).encode()).hexdigest()[:32]}"


def _picture(messages: Sequence[Message]) -> str:
    """Return the picture of the first incident, in base 64; "" if it exists no more."""
    if messages[0].incident is None:
        return ""
    letters = Letters(settings.PICTURE_FONTS)
    try:
        drawn = drawing(*messages[0].incident, "light", letters)
    except (Source.DoesNotExist, Incident.DoesNotExist, Finding.DoesNotExist):
        return ""
    return base64.b64encode(png(drawn, letters)).decode("ascii")


def _run(order: Mapping[str, Any]) -> str:
    """Return what the other side answered. The process gets no variable with a secret, and no proxy."""
    passed_on = {name: value for name in _PASSED_ON if (value := os.environ.get(name))}
    try:
        done = subprocess.run(
            COMMAND, input=orjson.dumps(order), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=SECONDS,
            env=passed_on, cwd="/", check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise Unreachable(f"It did not answer within {SECONDS:g} seconds.") from None
    try:
        answer: dict[str, str] = orjson.loads(done.stdout)
    except orjson.JSONDecodeError:
        raise Unreachable(f"Apprise failed (exit status {done.returncode}).") from None
    for name, error in (("not_allowed", NotAllowed), ("refused", DestinationRefused), ("unreachable", Unreachable)):
        if name in answer:
            raise error(answer[name])
    return answer["sent"]

"""Parse the three forms of notifications, and check each field of them."""

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from hashlib import sha256
from typing import Annotated, Literal, NamedTuple, NoReturn, get_args
from urllib.parse import urlsplit, urlunsplit

import msgspec
from msgspec import Meta, Struct

from collectors.alerts.objects import named_objects
from collectors.gate import admit_fields, admit_text
from timeline.core.entries import microseconds
from timeline.core.values import check_values

ALERTS = 20_000  # the most alerts in one notification
VALUES = 400_000  # in all of them
EARLY = 24 * 3600 * 1_000_000  # µs by which the clock of a sender may be ahead
_URL = 8192  # the most characters of a link; a longer one is left out
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")  # all but tabs and new lines

Kind = Literal["alertmanager", "grafana", "json"]
KINDS = get_args(Kind)
_Name = Annotated[str, Meta(min_length=1, max_length=256)]
_Labels = Annotated[dict[_Name, Annotated[str, Meta(max_length=4096)]], Meta(max_length=100)]
_Annotations = Annotated[dict[_Name, Annotated[str, Meta(max_length=16_384)]], Meta(max_length=100)]
_Time = Annotated[datetime, Meta(tz=True)]
_Status = Literal["firing", "resolved"]
_Fingerprint = Annotated[str, Meta(max_length=128)]


class Invalid(ValueError):
    """A notification is not of its form. The message says where, and what is expected there."""


class Notification(NamedTuple):
    """What one notification says of one alert. Times are microseconds since 1970, UTC."""

    identity: str  # what is the same in all notifications of one alert, and in no other: 32 hexadecimal digits
    fingerprint: str  # as the sender gave it; "" if it gave none
    name: str  # the label alertname
    cluster: str  # the label cluster
    namespace: str
    objects: tuple[str, ...]  # see `objects.named_objects`
    labels: dict[str, str]
    annotations: dict[str, str]
    url: str  # of the page that explains it, http or https; ""
    started: int
    ended: int | None  # None while it fires


class _Alert(Struct, gc=False):
    status: _Status
    labels: _Labels
    startsAt: _Time
    endsAt: _Time | None = None
    annotations: _Annotations = {}
    generatorURL: str = ""
    fingerprint: _Fingerprint = ""


class _Alertmanager(Struct, gc=False):
    version: Literal["4"]
    alerts: Annotated[list[_Alert], Meta(max_length=ALERTS)]


class _GrafanaAlert(_Alert, gc=False):
    panelURL: str = ""
    dashboardURL: str = ""


class _Grafana(Struct, gc=False):
    alerts: Annotated[list[_GrafanaAlert], Meta(max_length=ALERTS)]


class _Plain(Struct, gc=False, forbid_unknown_fields=True):
    name: Annotated[str, Meta(min_length=1, max_length=4096)]
    starts: _Time
    status: _Status = "firing"
    ends: _Time | None = None
    labels: _Labels = {}
    annotations: _Annotations = {}
    fingerprint: _Fingerprint = ""
    url: str = ""


_ALERTMANAGER = msgspec.json.Decoder(_Alertmanager)
_GRAFANA = msgspec.json.Decoder(_Grafana)
_PLAIN = msgspec.json.Decoder(_Plain | Annotated[list[_Plain], Meta(max_length=ALERTS)])


def parse(kind: Kind, body: bytes, now: int) -> list[Notification]:
    """Return what a notification says; `now` is the present time in microseconds since 1970. Raises Invalid."""
    try:
        check_values(body, VALUES)
    except ValueError:
        raise Invalid(f"The notification holds more than {VALUES} values. Let the sender group fewer alerts.") from None
    try:
        if kind == "json":
            given = _PLAIN.decode(body)
            alone = isinstance(given, _Plain)
            return list(
                _checked(map(_as_alert, [given] if alone else given), "$" if alone else "$[{}]", now, plain=True)
            )
        decoder: msgspec.json.Decoder[_Alertmanager | _Grafana]
        decoder = _ALERTMANAGER if kind == "alertmanager" else _GRAFANA  # type: ignore[assignment]
        return list(_checked(decoder.decode(body).alerts, "$.alerts[{}]", now, plain=False))
    except msgspec.ValidationError as error:
        raise Invalid(f"{error}.") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Invalid(f"The body is not JSON: {error}.") from None
    except RecursionError:
        raise Invalid("The body is nested too deeply.") from None


def read(pieces: Iterator[bytes], kind: Kind, now: int) -> list[Notification]:
    """Return what a notification says that comes in pieces, as `parse` does."""
    return parse(kind, b"".join(pieces), now)


def _as_alert(given: _Plain) -> _Alert:
    return _Alert(
        given.status,
        {**given.labels, "alertname": given.name},
        given.starts,
        given.ends,
        given.annotations,
        given.url,
        given.fingerprint,
    )


def _checked(alerts: Iterable[_Alert], path: str, now: int, *, plain: bool) -> Iterable[Notification]:
    starts, ends = ("starts", "ends") if plain else ("startsAt", "endsAt")
    for number, alert in enumerate(alerts):

        def refuse(name: str, why: str, where: str = path.format(number)) -> NoReturn:
            raise Invalid(f"{why} - at `{where}.{name}`.")

        started = microseconds(alert.startsAt)
        if started <= 0:
            refuse(starts, "Expected a time after 1970")
        if started > now + EARLY:
            refuse(starts, "Expected a time that is not in the future")
        ended = None
        if alert.status == "resolved":
            if alert.endsAt is None or alert.endsAt.year == 1:  # Go's zero time
                refuse(ends, "Expected the time at which the resolved alert ended")
            ended = microseconds(alert.endsAt)
            if ended < started:
                refuse(ends, f"Expected a time that is not before {starts}")
            if ended > now + EARLY:
                refuse(ends, "Expected a time that is not in the future, as the alert is resolved")
        yield _notification(alert, started, ended)


def _notification(alert: _Alert, started: int, ended: int | None) -> Notification:
    labels, annotations = _clean(alert.labels), _clean(alert.annotations)
    namespace, objects = named_objects(labels)
    fingerprint = _printable(alert.fingerprint)
    what = ["fingerprint", fingerprint] if fingerprint else ["labels", *sorted(labels.items())]
    links = [alert.generatorURL]
    if isinstance(alert, _GrafanaAlert):
        links += [alert.panelURL, alert.dashboardURL]
    return Notification(
        identity=sha256(msgspec.json.encode([what, started])).hexdigest()[:32],
        fingerprint=fingerprint,
        name=labels.get("alertname", ""),
        cluster=labels.get("cluster", ""),
        namespace=namespace,
        objects=objects,
        labels=labels,
        annotations=annotations,
        url=next(filter(None, map(_link, links)), ""),
        started=started,
        ended=ended,
    )


def _clean(texts: dict[str, str]) -> dict[str, str]:
    """Return names and values without credentials and without control characters."""
    return {_printable(name): _printable(value) for name, value in admit_fields(texts).items()}


def _printable(text: str) -> str:
    """Return the text with each control character replaced, except tabs and new lines."""
    return _CONTROL.sub("\ufffd", text.replace("\r\n", "\n"))


def _link(text: str) -> str:
    """Return a link without a user and a password in it; "" if it is none that a person may follow."""
    if not text or len(text) > _URL or _CONTROL.search(text) or any(each.isspace() for each in text):
        return ""
    try:
        parts = urlsplit(text)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            return ""
        found = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
        cleaned = admit_text(found)
        return cleaned if urlsplit(cleaned).hostname == parts.hostname else ""
    except ValueError:
        return ""

"""Receive alerts from Alertmanager, Grafana and scripts. An access token of the scope `alerts` names the receiver. An
answer of 200 is given when the alerts are committed."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore, Lock
from typing import Any

from django.http import HttpRequest
from django.utils import timezone
from ninja import Router, Schema
from ninja.errors import HttpError

from collectors import readers
from collectors.alerts import Invalid, Kind, Notification, read
from dashboard.access.roles import needs
from dashboard.access.tokens import tokens
from dashboard.alerting.destinations.alertmanager import is_ours
from dashboard.metrics.requests import ALERTS
from dashboard.models import AccessToken
from timeline.core.entries import microseconds, moment
from timeline.storage import alerts

_PIECE = 64 * 1024  # bytes
_PATIENCE = 20.0  # seconds that a notification waits for others
_turns = BoundedSemaphore(readers.AT_ONCE)
_of_token: dict[int, Lock] = {}
_locking = Lock()


class Received(Schema):
    """This is how many alerts of a notification were stored: all but incidents that Causeline itself has sent."""

    received: int


def _sends(request: HttpRequest) -> bool:
    need = needs.of_request(request)
    if need is None or (token := tokens.holder(request, need.scope)) is None:
        raise HttpError(
            401, "Send an access token of the scope alerts, which has not expired, as Authorization: Bearer."
        )
    request.__dict__["receiver"] = token
    return True


router = Router(tags=["receivers"], auth=_sends)


@router.post("/receivers/alertmanager", response=Received, url_name="receive")
@needs.to_change("anybody", action="send alerts", record="refused", scope="alerts")
def from_alertmanager(request: HttpRequest) -> dict[str, int]:
    """Receive a webhook of Alertmanager, version 4."""
    return _receive(request, "alertmanager")


@router.post("/receivers/grafana", response=Received, url_name="receive")
@needs.to_change("anybody", action="send alerts", record="refused", scope="alerts")
def from_grafana(request: HttpRequest) -> dict[str, int]:
    """Receive a webhook of Grafana's alerting."""
    return _receive(request, "grafana")


@router.post("/receivers/json", response=Received, url_name="receive")
@needs.to_change("anybody", action="send alerts", record="refused", scope="alerts")
def from_json(request: HttpRequest) -> dict[str, int]:
    """Receive one alert or a list of alerts, each with `name`, `starts` and, if it has ended, `status` "resolved" and
    `ends`; and if wanted `labels`, `annotations`, `fingerprint` and `url`."""
    return _receive(request, "json")


def _receive(request: HttpRequest, kind: Kind) -> dict[str, int]:
    now = timezone.now()
    token: AccessToken = request.__dict__["receiver"]
    with _turn(token):
        try:
            pieces = iter(lambda: request.read(_PIECE), b"")  # `body` has the limit of forms
            found = readers.call(read, pieces, kind, microseconds(now))
        except (Invalid, readers.Died) as error:
            raise HttpError(422, str(error)) from None
        found = [each for each in found if not is_ours(each.labels)]
        alerts.store(token.name, [row_of(each, token) for each in found], now)
    ALERTS.labels(kind).inc(len(found))
    return {"received": len(found)}


@contextmanager
def _turn(token: AccessToken) -> Iterator[None]:
    """Wait until nothing else of the token is read, and little of others. Raise HttpError if that takes long."""
    with _locking:
        of_token = _of_token.setdefault(token.pk, Lock())
    for lock in (of_token, _turns):
        if not lock.acquire(timeout=_PATIENCE):
            if lock is _turns:
                of_token.release()
            raise HttpError(503, "More notifications arrive than this server can keep up with. Send it again.")
    try:
        yield
    finally:
        _turns.release()
        of_token.release()


def row_of(each: Notification, token: AccessToken) -> dict[str, Any]:
    """Return what `storage.alerts` stores. What the token is limited to says more than the labels."""
    return {
        "identity": each.identity,
        "name": each.name,
        "source": token.source_id,
        "cluster": token.cluster.name if token.cluster else each.cluster,
        "namespace": each.namespace,
        "objects_named": each.objects,
        "labels": each.labels,
        "annotations": each.annotations,
        "url": each.url,
        "fingerprint": each.fingerprint,
        "started": moment(each.started).isoformat(),
        "ended": None if each.ended is None else moment(each.ended).isoformat(),
    }

"""Find the writes that were refused because a webhook could not be called, by the configuration of the webhook. It does
no I/O."""

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from timeline.core.entries import ObjectRef, Request
from timeline.history.lifelines import Moment, Name, Track
from timeline.history.refusals import webhook
from timeline.history.world.world import World
from timeline.judging.endpoints.readiness import Span, endpoints_of, ready
from timeline.kinds.admission.validating_webhook_configuration import Webhook

KINDS = ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")
_PATH = re.compile(r'"https://[^/"]+(/[^?"]*)')
_UNTRUSTED = re.compile(r"x509: certificate signed by unknown authority|unable to load root certificates")
_NOT_THERE = re.compile(r'no endpoints available for service|service "[^"]*" not found')
_UNREACHED = re.compile(
    r"connection refused|context deadline exceeded|i/o timeout|no route to host|no such host|connection reset"
)


class Failures(NamedTuple):
    """The writes that were refused because the webhooks behind one Service could not be called, in order of time."""

    service: Name
    refused: list[Request]


def failures(configuration: Track, world: World) -> Iterator[Failures]:
    """Yield the writes that the webhooks of a configuration had refused while it was there, Service by Service."""
    known = {each.name: each for moment in configuration.moments for each in webhooks_in(moment)}
    refused: dict[Name, list[Request]] = defaultdict(list)
    for name, each in known.items():
        for request in world.refused_by(webhook(name)) if each.service else ():
            if _stood(configuration, request.received) and _path(request) in ("", each.path):
                refused[Name("", "Service", each.namespace, each.service)].append(request)
    for service, requests in sorted(refused.items()):
        yield Failures(service, sorted(requests, key=lambda each: (each.received, each.identity)))


def webhooks_in(moment: Moment) -> tuple[Webhook, ...]:
    """Return the webhooks of a configuration from a moment on, as far as its bodies were logged."""
    found: tuple[Webhook, ...] = getattr(moment.facts, "webhooks", ())
    return found


def _stood(configuration: Track, time: int) -> bool:
    """Return whether a configuration existed at a time, or nothing shows that it did not."""
    born, until = configuration.created, configuration.until
    return (born is None or born.entry.received <= time) and (until is None or time <= until)


def _path(request: Request) -> str:
    """Return the path of the address that the API server called; "" if it does not say it."""
    found = _PATH.search(request.message)
    return found[1] if found else ""


def is_untrusted(request: Request) -> bool:
    """Return whether the certificate of the webhook was not signed by any authority that its caBundle has."""
    return bool(_UNTRUSTED.search(request.message))


def service_at(service: Name, time: int, world: World) -> Track | None:
    """Return the Service of a name that stood at a drawn time; None if none is known."""
    lives = [each for each in world.incarnations(service, time) if each.first.time <= time]
    return lives[-1] if lives else None


def ref_of(service: Name, track: Track | None) -> ObjectRef:
    """Return the Service of a webhook, or its name alone if no observation shows it."""
    return track.ref if track else ObjectRef("", "v1", "Service", service.namespace, service.name)


def unready(service: Track | None, refused: list[Request], world: World) -> list[Request]:
    """Return the refused writes during which a Service had no ready endpoint: the API server says it, or no endpoint
    that the source shows was ready, and no write of endpoints is missing."""
    spans = ready(endpoints_of(service, world), refused[-1].staged) if service else []
    return [each for each in refused if _NOT_THERE.search(each.message) or _surely_unready(each, service, spans, world)]


def _surely_unready(request: Request, service: Track | None, spans: list[Span], world: World) -> bool:
    if service is None or not _UNREACHED.search(request.message):
        return False
    start, end = request.received, request.staged
    was_ready = any(each.since.time <= end and start <= each.until for each in spans)
    known = world.complete("discovery.k8s.io", "EndpointSlice", service.first.time, end, service.ref.namespace)
    return known and not was_ready


def ready_after(service: Track | None, time: int, world: World) -> Span | None:
    """Return the first time after a drawn time in which a Service had a ready endpoint; None if none is known."""
    spans = ready(endpoints_of(service, world), world.last) if service else []
    return next((each for each in spans if each.since.time > time), None)

"""Find the writes that were refused because a webhook could not be called, by the configuration of the webhook. It does
no I/O."""

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from timeline.core.entries import ObjectRef, Request
from timeline.history.lifelines import Moment, Name, Track, public_uid
from timeline.history.refusals import refusers, unasked, webhook
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
    """The writes about which the webhooks behind one Service could not be called, in order of time: those that were
    refused for it, and those that the API server let through, as `failurePolicy: Ignore` says."""

    service: Name
    writes: list[Request]


def failures(configuration: Track, world: World) -> Iterator[Failures]:
    """Yield the writes about which the webhooks of a configuration could not be called while it was there, Service by
    Service."""
    known = {each.name: each for moment in configuration.moments for each in webhooks_in(moment)}
    found: dict[Name, list[Request]] = defaultdict(list)
    for name, each in known.items():
        for request in world.refused_by(webhook(name)) if each.service else ():
            if _stood(configuration, request.received) and _may_be_of(request, configuration, each):
                found[Name("", "Service", each.namespace, each.service)].append(request)
    for service, requests in sorted(found.items()):
        yield Failures(service, sorted(requests, key=lambda each: (each.received, each.identity)))


def _may_be_of(request: Request, configuration: Track, called: Webhook) -> bool:
    """Return whether the webhook that could not be called may be this one, and not another one of its name: the API
    server says at which address it called it, and of mutating ones in which configuration it is."""
    if _path(request) not in ("", called.path):
        return False
    mutating = configuration.ref.kind == "MutatingWebhookConfiguration"
    failed = [name for name, said in request.annotations if name.startswith("failed-open.") and said == called.name]
    if failed and not request.refused and mutating is not any("mutation." in name for name in failed):
        return False
    noted = [said for name, said in request.annotations if name.startswith("mutation.")]
    asked = [each for each in map(_asked, noted) if each.webhook == called.name]
    return not asked or not mutating or any(each.configuration == configuration.ref.name for each in asked)


class _Asked(msgspec.Struct):
    """What the API server notes of a mutating webhook that it has called."""

    configuration: str = ""
    webhook: str = ""


_read = msgspec.json.Decoder(_Asked)


def _asked(noted: str) -> _Asked:
    try:
        return _read.decode(noted)
    except msgspec.DecodeError:
        return _Asked()  # it was too long to be kept whole, or some other program wrote it


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


def unready(service: Track | None, writes: list[Request], world: World) -> list[Request]:
    """Return the writes during which a Service had no ready endpoint: the API server says it, or no endpoint that the
    source shows was ready, and no write of endpoints is missing."""
    spans = ready(_endpoints(service, world), writes[-1].staged) if service else []
    return [each for each in writes if _NOT_THERE.search(each.message) or _surely_unready(each, service, spans, world)]


def role(write: Request) -> str:
    """Return what became of a write about which a webhook could not be called, and which webhook it was."""
    names = ", ".join(each.name for each in (*refusers(write), *unasked(write.annotations)) if each.kind == "webhook")
    return f"write {'refused' if write.refused else 'let through unchecked'}: webhook {names}"


def _surely_unready(request: Request, service: Track | None, spans: list[Span], world: World) -> bool:
    if service is None or (request.refused and not _UNREACHED.search(request.message)):
        return False
    start, end = request.received, request.staged
    was_ready = any(each.since.time <= end and start <= each.until for each in spans)
    known = world.complete("discovery.k8s.io", "EndpointSlice", service.first.time, end, service.ref.namespace)
    return known and not was_ready


def _endpoints(service: Track, world: World) -> list[Track]:
    """Return the EndpointSlices of a Service; of one whose UID no observation shows, those of all Services of its
    name."""
    if public_uid(service.ref):
        return endpoints_of(service, world)
    return [each for each in world.referrers(service.name) if each.ref.kind == "EndpointSlice"]


def ready_after(service: Track | None, time: int, world: World) -> Span | None:
    """Return the first time after a drawn time in which a Service had a ready endpoint; None if none is known."""
    spans = ready(_endpoints(service, world), world.last) if service else []
    return next((each for each in spans if each.since.time > time), None)

"""Read ValidatingWebhookConfigurations: which Services their webhooks call, and which certificates they trust."""

from collections.abc import Iterable
from hashlib import blake2b
from typing import NamedTuple

import msgspec

from timeline.core.entries import Facts
from timeline.kinds import Kind, Mark, Reference, Shape


class Webhook(NamedTuple):
    """One webhook of a configuration. `service` is "" if it is called by its URL."""

    name: str
    namespace: str
    service: str
    path: str
    ignores: bool  # a request goes on if the webhook cannot be called
    trusts: str  # a hash of its caBundle; "" without one


class _Service(msgspec.Struct, gc=False):
    namespace: str | None = None
    name: str | None = None
    path: str | None = None


class _Client(msgspec.Struct, gc=False):
    service: _Service | None = None
    caBundle: str | None = None


class _Webhook(msgspec.Struct, gc=False):
    name: str = ""
    clientConfig: _Client | None = None
    failurePolicy: str | None = None


class ConfigurationShape(Shape):
    webhooks: tuple[_Webhook, ...] | None = None


class ConfigurationFacts(Facts, frozen=True, omit_defaults=True, gc=False):
    """What is kept of a configuration of webhooks, which calls them in the order of their names."""

    webhooks: tuple[Webhook, ...] = ()


def facts(configuration: ConfigurationShape) -> ConfigurationFacts:
    return ConfigurationFacts(
        *configuration.metadata.common, webhooks=tuple(map(_webhook, configuration.webhooks or ()))
    )


def _webhook(webhook: _Webhook) -> Webhook:
    client = webhook.clientConfig or _Client()
    service = client.service or _Service()
    trusts = blake2b(client.caBundle.encode(), digest_size=4).hexdigest() if client.caBundle else ""
    ignores = webhook.failurePolicy == "Ignore"
    called = (service.namespace or "", service.name or "", service.path or "/")
    return Webhook(webhook.name, *called, ignores, trusts)


def marks(before: ConfigurationFacts, after: ConfigurationFacts) -> Iterable[Mark]:
    trusted = {each.name: each.trusts for each in before.webhooks}
    for each in after.webhooks:
        if each.trusts != trusted.get(each.name, each.trusts):
            yield Mark("status", f"other caBundle of {each.name}")


def references(configuration: ConfigurationFacts) -> Iterable[Reference]:
    called = dict.fromkeys((each.namespace, each.service) for each in configuration.webhooks if each.service)
    return [Reference("", "Service", name, "webhook", namespace) for namespace, name in called]


KIND = Kind(
    "admissionregistration.k8s.io",
    "ValidatingWebhookConfiguration",
    "vwc",
    "Cluster",
    ConfigurationShape,
    ConfigurationFacts,
    facts,
    marks=marks,
    references=references,
    namespaced=False,
    subresources=(),
)

"""Find what refused a request, so that the refused requests of one webhook, budget or quota are found together.

The API server says it in the message of the refusal, in words that have stood for many versions. It is pure.
"""

import re
from collections.abc import Iterator

from timeline.core.entries import Annotations, Request
from timeline.history.lifelines import Name
from timeline.kinds import resource_of

_ADMISSION = "admissionregistration.k8s.io"
_WEBHOOK = re.compile(r'failed calling (?:admission )?webhook "([^"]{1,253})"')
_BUDGET = re.compile(r"disruption budget ([a-z0-9][-.a-z0-9]{0,252}) (?:needs|is still|does not)")
_QUOTA = re.compile(r'on resourcequotas "([^"]{1,253})"')
_NAMESPACE = re.compile(r'namespace \S+ because it is being terminated|serviceaccount "?[^" ]+"? not found')


def webhook(name: str) -> Name:
    """Return the name by which the refusals are found that came about because a webhook could not be called."""
    return Name(_ADMISSION, "webhook", "", name)


def refusers(request: Request) -> Iterator[Name]:
    """Yield the names of what refused a request: a webhook that could not be called, a PodDisruptionBudget, a
    ResourceQuota that was written meanwhile, a Namespace that cannot take new objects, or the
    CustomResourceDefinition or APIService of a kind that was not served. None for other refusals."""
    ref, said = request.ref, request.message
    server = Name("apiregistration.k8s.io", "APIService", "", f"{ref.version}.{ref.group}")
    if request.code == 404 and not request.reason and ref.group:
        yield Name("apiextensions.k8s.io", "CustomResourceDefinition", "", f"{resource_of(ref.kind)}.{ref.group}")
        yield server
    elif request.code == 503 and request.reason in ("", "ServiceUnavailable") and ref.group:
        yield server
    elif found := _WEBHOOK.search(said):
        yield webhook(found[1])
    elif request.action == "eviction" and (found := _BUDGET.search(said)):
        yield Name("policy", "PodDisruptionBudget", ref.namespace, found[1])
    elif request.code == 409 and (found := _QUOTA.search(said)):
        yield Name("", "ResourceQuota", ref.namespace, found[1])
    elif request.code == 403 and _NAMESPACE.search(said):
        yield Name("", "Namespace", "", ref.namespace)


def unasked(annotations: Annotations) -> Iterator[Name]:
    """Yield the names, as `webhook` returns them, of the webhooks that could not be called about a write, which the API
    server let through, as their `failurePolicy` says."""
    for name, said in annotations:
        if name.startswith("failed-open."):
            yield webhook(said)

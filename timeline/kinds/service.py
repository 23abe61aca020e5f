"""Read Services."""

from collections.abc import Iterable
from functools import lru_cache
from hashlib import blake2b
from typing import Any

import msgspec

from timeline.core.entries import Facts
from timeline.kinds import Kind, Mark, Metadata, Shape, address


class _Spec(msgspec.Struct, gc=False):
    clusterIP: str | None = None
    clusterIPs: tuple[str, ...] | None = None
    externalIPs: tuple[str, ...] | None = None
    type: str | None = None
    selector: dict[str, str] | None = None
    externalTrafficPolicy: str | None = None
    publishNotReadyAddresses: bool | None = None
    loadBalancerClass: str | None = None


class _Ingress(msgspec.Struct, gc=False):
    ip: str | None = None
    hostname: str | None = None
    ipMode: str | None = None
    ports: Any = None


class _LoadBalancer(msgspec.Struct, gc=False):
    ingress: tuple[_Ingress, ...] | None = None


class _Status(msgspec.Struct, gc=False):
    loadBalancer: _LoadBalancer | None = None


class _Annotations(msgspec.Struct, gc=False):
    ignore: str | None = msgspec.field(default=None, name="kube-vip.io/ignore")


class _Metadata(Metadata):
    annotations: _Annotations | None = None


class ServiceShape(Shape):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    spec: _Spec = msgspec.field(default_factory=_Spec)
    status: _Status = msgspec.field(default_factory=_Status)


class ServiceFacts(Facts, frozen=True, omit_defaults=True, gc=False):
    """What is kept of a Service."""

    headless: bool = False
    type: str = ""  # "" if no body of it was logged
    selects: bool = False  # it has a selector, so Kubernetes itself writes its endpoints
    local: bool = False  # externalTrafficPolicy is Local: only nodes with an endpoint announce it
    balancer_class: str = ""  # spec.loadBalancerClass; "" is the default of the cluster
    ignored: bool = False  # an annotation tells kube-vip to ignore the Service
    publishes: bool = False  # publishNotReadyAddresses: its endpoints count as ready whatever their Pods are
    selector: str = ""  # a hash of its selector; "" without one
    addresses: tuple[str, ...] = ()  # status.loadBalancer.ingress: IPs or host names
    balancer: str = ""  # a hash of all of status.loadBalancer.ingress; "" if that is empty
    fixed: tuple[str, ...] = ()  # spec.clusterIPs and spec.externalIPs

    @property
    def names_pods(self) -> bool:
        """Return whether the Service may give DNS names to Pods: it is headless, or its type is not known."""
        return self.headless or not self.type

    @property
    def waits_for_address(self) -> bool:
        return self.type == "LoadBalancer" and not self.addresses and not self.ignored and not self.deleting


def _facts(service: ServiceShape) -> ServiceFacts:
    spec, balancer = service.spec, service.status.loadBalancer
    ingress = (balancer and balancer.ingress) or ()
    annotations = service.metadata.annotations or _Annotations()
    return ServiceFacts(
        *service.metadata.common,
        headless=spec.clusterIP == "None",
        type=spec.type or "ClusterIP",
        selects=bool(spec.selector),
        publishes=bool(spec.publishNotReadyAddresses),
        selector=_hash(tuple(sorted(spec.selector.items()))) if spec.selector else "",
        local=spec.externalTrafficPolicy == "Local",
        balancer_class=spec.loadBalancerClass or "",
        ignored=annotations.ignore == "true",
        addresses=tuple(each.ip or each.hostname or "" for each in ingress),
        balancer=blake2b(msgspec.json.encode(ingress), digest_size=4).hexdigest() if ingress else "",
        fixed=_fixed((spec.clusterIP or "", *(spec.clusterIPs or ()), *(spec.externalIPs or ()))),
    )


@lru_cache(10_000)
def _hash(selector: tuple[tuple[str, str], ...]) -> str:
    return blake2b(repr(selector).encode(), digest_size=4).hexdigest()


@lru_cache(10_000)
def _fixed(every: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, map(address, every))))


def _addresses(service: ServiceFacts) -> Iterable[str]:
    return (*service.fixed, *map(address, service.addresses))


def _clues(service: ServiceFacts) -> Iterable[str]:
    return (f"address {each}" for each in (*service.fixed, *service.addresses))


def _marks(before: ServiceFacts, after: ServiceFacts) -> Iterable[Mark]:
    if before.addresses != after.addresses:
        yield Mark("status", f"address {', '.join(after.addresses)}" if after.addresses else "address taken away")
    if before.selector != after.selector and before.selector:
        yield Mark("status", "selects other Pods" if after.selector else "selects no Pods any more")


KIND = Kind(
    "",
    "Service",
    "svc",
    "Services",
    ServiceShape,
    ServiceFacts,
    _facts,
    marks=_marks,
    subtitle=lambda service: "headless" if service.headless else service.type,
    addresses=_addresses,
    clues=_clues,
)

import msgspec

from timeline.entries import Facts
from timeline.kinds import Kind, Shape


class _Spec(msgspec.Struct, gc=False):
    clusterIP: str | None = None
    type: str | None = None
    publishNotReadyAddresses: bool | None = None


class ServiceShape(Shape):
    spec: _Spec = msgspec.field(default_factory=_Spec)


class ServiceFacts(Facts, frozen=True, omit_defaults=True, gc=False):
    headless: bool = False
    type: str = ""  # unknown where no body of it was logged
    publishes_not_ready: bool = False

    @property
    def names_pods(self) -> bool:
        """Whether Pods may have names under it: it is headless, or nothing tells that it is not."""
        return self.headless or not self.type


def _facts(service: ServiceShape) -> ServiceFacts:
    return ServiceFacts(
        **service.metadata.common,
        headless=service.spec.clusterIP == "None",
        type=service.spec.type or "ClusterIP",
        publishes_not_ready=bool(service.spec.publishNotReadyAddresses),
    )


KIND = Kind(
    "",
    "Service",
    "svc",
    "Services",
    ServiceShape,
    ServiceFacts,
    _facts,
    subtitle=lambda service: "headless" if service.headless else service.type,
)

"""Read single objects in JSON that do not say their kind, as the Insights operator writes them.

The selfLink of the object says the kind, which API servers before Kubernetes 1.20 set; else the path of the file does.
"""

import re
from collections.abc import Iterator
from itertools import pairwise

import msgspec

from collectors.formats import Format
from collectors.formats.documents import Piece, entries_of
from collectors.formats.json_items import items, outline
from collectors.formats.stream import Recording, Skipped
from timeline.core.entries import Observation
from timeline.kinds import of_resource

# The folders of an Insights archive with such objects, and the files directly in `config/`.
_FOLDERS = {
    "pod": ("v1", "Pod"),
    "pods": ("v1", "Pod"),
    "node": ("v1", "Node"),
    "persistentvolumes": ("v1", "PersistentVolume"),
    "pdbs": ("policy/v1", "PodDisruptionBudget"),
    "clusterroles": ("rbac.authorization.k8s.io/v1", "ClusterRole"),
    "storageclasses": ("storage.k8s.io/v1", "StorageClass"),
    "crd": ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
    "mutatingwebhookconfigurations": ("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration"),
    "validatingwebhookconfigurations": ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"),
    "imagestreams": ("image.openshift.io/v1", "ImageStream"),
    "securitycontextconstraint": ("security.openshift.io/v1", "SecurityContextConstraints"),
}
_SINGLE = {
    "apiserver": "APIServer",
    "authentication": "Authentication",
    "featuregate": "FeatureGate",
    "image": "Image",
    "infrastructure": "Infrastructure",
    "ingress": "Ingress",
    "network": "Network",
    "oauth": "OAuth",
    "proxy": "Proxy",
    "version": "ClusterVersion",
}
_TOP = frozenset({"config", "conditional", "cluster-scoped-resources"})
_LINK = re.compile(
    r"/apis?/(?:([a-z0-9.-]+\.[a-z0-9.-]+|apps|batch|policy|autoscaling)/)?(v\w+)/(?:namespaces/[^/]+/)?(\w+)/[^/]+"
)
_LINK_LENGTH = 1024  # characters at most: a group, a namespace and a name have 253 each
_UNKNOWN = "is not a recording that can be used: it is an object without its kind, and the path does not say the kind"


class _Metadata(msgspec.Struct, gc=False):
    selfLink: str = ""


class _Object(msgspec.Struct, gc=False):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)


_object = msgspec.json.Decoder(_Object)


def sniff(head: bytes) -> bool:
    """Return whether a head is one object with metadata of the API server and without a kind."""
    places = outline(head)
    stored = {("metadata", field) for field in ("name", "uid", "resourceVersion", "creationTimestamp")}
    # Fields that the head cuts off may come later: those of an object whose kind stands last are in no such archive.
    return stored <= places.keys() and places.keys().isdisjoint({("kind",), ("apiVersion",), ("involvedObject",)})


def read(recording: Recording, bodies: bool) -> Iterator[Observation | Skipped]:
    """Yield the entries of the objects, and what was skipped."""
    return entries_of(_pieces(recording), recording.name, bodies)


def _pieces(recording: Recording) -> Iterator[Piece | Skipped]:
    for item in items(recording, ()):
        if isinstance(item, Skipped):
            yield item
        elif known := _kind(item.data, recording.name):
            yield Piece(item.line, item.data, True, *known)
        else:
            yield Skipped(recording.name, 0, _UNKNOWN)


def _kind(data: bytes, path: str) -> tuple[str, str] | None:
    """Return the apiVersion and the kind of an object; None if neither it nor its path says them."""
    try:
        link = _LINK.fullmatch(_object.decode(data).metadata.selfLink[:_LINK_LENGTH])
    except (ValueError, RecursionError):
        link = None
    if link and (kind := of_resource(link[1] or "", link[3])):
        return f"{link[1]}/{link[2]}" if link[1] else link[2], kind.kind
    return _by_path(path.split("/"))


def _by_path(parts: list[str]) -> tuple[str, str] | None:
    """Return the apiVersion and the kind that the path of a file in an Insights archive says; None if it says none."""
    start = next((place for place, part in enumerate(parts) if part in _TOP), len(parts))
    *folders, file = parts[start:] or [""]
    for before, folder in pairwise(folders):
        if before != "namespaces" and folder in _FOLDERS:
            return _FOLDERS[folder]
    single = _SINGLE.get(file.partition(".")[0]) if folders == ["config"] else None
    return ("config.openshift.io/v1", single) if single else None


FORMAT = Format("Kubernetes object without its kind", sniff, read)

"""This module reads single objects in JSON that do not say their kind, as the Insights operator writes them.

The selfLink of the object says the kind, which API servers before Kubernetes 1.20 set; else the path of the file does.
"""

import re
from collections.abc import Iterator

import msgspec

from collectors.formats import Format
from collectors.formats.documents import Piece, entries_of
from collectors.formats.json_items import items, outline
from collectors.formats.stream import Recording, Skipped
from collectors.normalise.interning import Interner
from timeline.core.entries import Observation

# The folders in which an Insights archive has such objects, as far as the kinds are ones that are read.
_FOLDERS = {
    "pod": ("v1", "Pod"),
    "pods": ("v1", "Pod"),
    "node": ("v1", "Node"),
    "persistentvolumes": ("v1", "PersistentVolume"),
    "pdbs": ("policy/v1", "PodDisruptionBudget"),
    "clusterroles": ("rbac.authorization.k8s.io/v1", "ClusterRole"),
    "crd": ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
    "mutatingwebhookconfigurations": ("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration"),
    "validatingwebhookconfigurations": ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"),
}
_FOLDER = re.compile(
    r"(?:.*/)?(?:config|conditional|cluster-scoped-resources)/(?:[\w.-]+/)??(?:namespaces/[\w.-]+/)?([a-z]+)"
    r"(?:/[\w.-]+){1,2}\.json(?:\.\w+)*"
)
_LINK = re.compile(
    r"/apis?/(?:([a-z0-9.-]+\.[a-z0-9.-]+|apps|batch|policy|autoscaling)/)?(v\w+)/(?:namespaces/[^/]+/)?(\w+)/[^/]+"
)
_UNKNOWN = "the object does not say its kind, and the path of the file does not say it either"


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
            yield Skipped(recording.name, item.line, _UNKNOWN)


def _kind(data: bytes, path: str) -> tuple[str, str] | None:
    """Return the apiVersion and the kind of an object; None if neither it nor its path says them."""
    try:
        link = _LINK.fullmatch(_object.decode(data).metadata.selfLink)
    except (ValueError, RecursionError):
        link = None
    if link and (kind := Interner().kind(link[1] or "", link[3])):
        return f"{link[1]}/{link[2]}" if link[1] else link[2], kind.kind
    folder = _FOLDER.fullmatch(path)
    return _FOLDERS.get(folder[1]) if folder else None


FORMAT = Format("Kubernetes object without its kind", sniff, read)

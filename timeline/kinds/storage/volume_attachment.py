"""Read VolumeAttachments: which volume is attached to which node."""

from collections.abc import Iterable

import msgspec

from timeline.core.entries import Facts
from timeline.kinds import Kind, Mark, Phase, Reference, Shape


class _Source(msgspec.Struct, gc=False):
    persistentVolumeName: str | None = None


class _Spec(msgspec.Struct, gc=False):
    attacher: str | None = None
    nodeName: str | None = None
    source: _Source | None = None


class _Status(msgspec.Struct, gc=False):
    attached: bool | None = None


class VolumeAttachmentShape(Shape):
    spec: _Spec = msgspec.field(default_factory=_Spec)
    status: _Status = msgspec.field(default_factory=_Status)


class VolumeAttachmentFacts(Facts, frozen=True, omit_defaults=True, gc=False):
    """What is kept of a VolumeAttachment."""

    attacher: str = ""  # the storage driver
    node: str = ""
    volume: str = ""  # the name of the PersistentVolume; "" if it is none
    attached: bool = False


def _facts(attachment: VolumeAttachmentShape) -> VolumeAttachmentFacts:
    spec = attachment.spec
    return VolumeAttachmentFacts(
        *attachment.metadata.common,
        attacher=spec.attacher or "",
        node=spec.nodeName or "",
        volume=(spec.source and spec.source.persistentVolumeName) or "",
        attached=bool(attachment.status.attached),
    )


def _phase(attachment: VolumeAttachmentFacts) -> Phase:
    if attachment.deleting:
        return Phase("Detaching" if attachment.attached else "Terminating", "ended")
    return Phase("Attached", "strong") if attachment.attached else Phase("Attaching", "pale")


def _marks(before: VolumeAttachmentFacts, after: VolumeAttachmentFacts) -> Iterable[Mark]:
    if before.attached != after.attached:
        yield Mark("status", "attached" if after.attached else "detached")


def _references(attachment: VolumeAttachmentFacts) -> Iterable[Reference]:
    if attachment.volume:
        yield Reference("", "PersistentVolume", attachment.volume, "volume", "")
    if attachment.node:
        yield Reference("", "Node", attachment.node, "node", "")


KIND = Kind(
    "storage.k8s.io",
    "VolumeAttachment",
    "va",
    "Claims",
    VolumeAttachmentShape,
    VolumeAttachmentFacts,
    _facts,
    _phase,
    _marks,
    _references,
    subtitle=lambda attachment: attachment.node,
    namespaced=False,
)

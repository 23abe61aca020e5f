"""This pure package turns what was observed, in whatever form, into entries. This module has what all forms share."""

from typing import Any

import msgspec

from timeline.core.entries import Change, Owner, revision
from timeline.kinds import Kind, Metadata

NOT_OBJECTS = {"Status", "PartialObjectMetadata", "Table"}
_shapes: dict[type, msgspec.json.Decoder[Any]] = {}


def decoder(kind: Kind) -> msgspec.json.Decoder[Any]:
    if kind.shape not in _shapes:
        _shapes[kind.shape] = msgspec.json.Decoder(kind.shape)
    return _shapes[kind.shape]


def outcome(change: Change, metadata: Metadata, held_creations: bool = False) -> tuple[Change, int | None]:
    """What the change did to the object, and the change's own revision."""
    own_version = revision(metadata.resourceVersion)
    if metadata.deletionTimestamp is None:
        return change, own_version
    held_creations = held_creations or bool(metadata.finalizers) or bool(metadata.deletionGracePeriodSeconds)
    if change is Change.DELETED and held_creations:
        return Change.MODIFIED, own_version  # the deletion was asked for; the object stays for now
    if change is Change.MODIFIED and not held_creations:
        return Change.DELETED, None  # the last finalizer went: the answer repeats the old revision
    return change, own_version


def owner(metadata: Metadata) -> Owner | None:
    references = metadata.ownerReferences or ()
    chosen = next((each for each in references if each.controller), references[0] if len(references) == 1 else None)
    if chosen is None:
        return None
    group, _, version = chosen.apiVersion.rpartition("/")
    return Owner(group, version, chosen.kind, chosen.name, chosen.uid)


def is_present(body: msgspec.Raw) -> bool:
    return len(body) > 4 or body not in _ABSENT


_ABSENT = (msgspec.Raw(b""), msgspec.Raw(b"null"))

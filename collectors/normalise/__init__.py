"""Turn what was observed, in any form, into entries. This module has what all forms share. The package does no I/O."""

from typing import Any

import msgspec

from timeline.core.bounds import check_names
from timeline.core.entries import Change, Owner, revision
from timeline.kinds import Kind, Metadata

NOT_OBJECTS = {"Status", "PartialObjectMetadata", "Table"}
_shapes: dict[type, msgspec.json.Decoder[Any]] = {}


def decoder(kind: Kind) -> msgspec.json.Decoder[Any]:
    """Return the cached JSON decoder for the struct of this kind."""
    if kind.shape not in _shapes:
        _shapes[kind.shape] = msgspec.json.Decoder(kind.shape)
    return _shapes[kind.shape]


def outcome(change: Change, metadata: Metadata, held_creations: bool = False) -> tuple[Change, int | None]:
    """Return what the change did to the object, and the resourceVersion that the change itself gave it.

    A delete of an object that finalizers or a grace period still hold is a modification; the update that removes the
    last finalizer is the deletion. Its resourceVersion is None, since the response repeats the one before.
    """
    own_version = revision(metadata.resourceVersion)
    if metadata.deletionTimestamp is None:
        return change, own_version
    held_creations = held_creations or bool(metadata.finalizers) or bool(metadata.deletionGracePeriodSeconds)
    if change is Change.DELETED and held_creations:
        return Change.MODIFIED, own_version  # the deletion was requested; the object still exists
    if change is Change.MODIFIED and not held_creations:
        return Change.DELETED, None  # the last finalizer was removed; the response repeats the old resourceVersion
    return change, own_version


def owner(metadata: Metadata) -> Owner | None:
    """Return the controller among the owner references, else the only reference; None if neither exists. Raise
    ValueError as `check_names` does."""
    references = metadata.ownerReferences or ()
    chosen = next((each for each in references if each.controller), references[0] if len(references) == 1 else None)
    if chosen is None:
        return None
    group, _, version = chosen.apiVersion.rpartition("/")
    check_names(group, version, chosen.kind, chosen.name, chosen.uid)
    return Owner(group, version, chosen.kind, chosen.name, chosen.uid)


def is_present(body: msgspec.Raw) -> bool:
    """Return whether a field is in the JSON and is not null."""
    return len(body) > 4 or body not in _ABSENT


_ABSENT = (msgspec.Raw(b""), msgspec.Raw(b"null"))

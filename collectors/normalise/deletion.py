"""Decide from an audit event whether a deletion removed an object or only asked for its removal. It does no I/O."""

from typing import Any

import msgspec

from timeline.kinds import Kind, Metadata


class _NamespaceSpec(msgspec.Struct, gc=False):
    finalizers: tuple[str, ...] | None = None


class _Namespace(msgspec.Struct, gc=False):
    spec: _NamespaceSpec | None = None


class DeletedList(msgspec.Struct, gc=False):
    """The response to a deletecollection: a list of the deleted objects."""

    kind: str = ""
    items: tuple[msgspec.Raw, ...] | None = None


class DeleteOptions(msgspec.Struct, gc=False):
    """The fields of DeleteOptions (meta/v1) that decide whether an object is deleted at once."""

    gracePeriodSeconds: int | None = None
    propagationPolicy: str | None = None
    orphanDependents: bool | None = None


_namespace = msgspec.json.Decoder(_Namespace)
deleted_list = msgspec.json.Decoder(DeletedList)
delete_options = msgspec.json.Decoder(DeleteOptions)


def outlives_delete(kind: Kind, metadata: Metadata, facts: Any, options: DeleteOptions) -> bool:
    """Return whether an object still exists after the request to delete it.

    Finalizers, foreground or orphan propagation, and the grace period of a Pod on a node keep it.
    """
    if metadata.finalizers or options.orphanDependents or options.propagationPolicy in ("Foreground", "Orphan"):
        return True
    if kind.kind != "Pod" or options.gracePeriodSeconds == 0:
        return False
    return facts is None or bool(facts.node and facts.phase not in ("Succeeded", "Failed"))


def has_namespace_finalizers(namespace: bytes) -> bool:
    """Return whether a Namespace in JSON has finalizers in its spec; it still exists until it is empty."""
    spec = _namespace.decode(namespace).spec
    return bool(spec and spec.finalizers)

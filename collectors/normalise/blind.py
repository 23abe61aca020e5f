"""Find the lists that a write replaced as a whole without naming a revision. What others had added to such a list
meanwhile is lost, and the API server cannot notice it. It does no I/O."""

from typing import Any

import msgspec

from collectors.normalise import is_present
from collectors.normalise.audit_event import AuditEvent
from collectors.normalise.requests import named_revision

_HINTS = (b"finalizers", b"ownerReferences", b"taints", b"ingress")
_PATHS = {  # by the path of a list in an object: the fact that has it
    "/metadata/finalizers": "finalizers",
    "/metadata/ownerReferences": "owners",
    "/spec/taints": "taints",
    "/status/loadBalancer/ingress": "addresses",
}
_OF_OBJECT = ("apiVersion", "kind")


class _Operation(msgspec.Struct, gc=False):
    op: str = ""
    path: str = ""


_operations = msgspec.json.Decoder(list[_Operation])
_anything = msgspec.json.Decoder(dict[str, Any])


def blind(event: AuditEvent) -> tuple[str, ...]:
    """Return the facts whose lists a write replaced as a whole, although it named no revision; () for most writes.

    Server-side apply merges lists, and a JSON patch may test what it replaces: these are left out. A strategic merge
    patch may merge a list, too; then nothing of it is lost.
    """
    ref = event.objectRef
    if (ref and ref.resourceVersion) or event.verb not in ("update", "patch") or not is_present(event.requestObject):
        return ()
    body = bytes(event.requestObject)
    if not any(hint in body for hint in _HINTS) or named_revision(event) is not None:
        return ()
    try:
        found = _patched(body) if body.startswith(b"[") else _sent(event, _anything.decode(body))
    except msgspec.DecodeError:
        return ()
    return tuple(fact for path, fact in _PATHS.items() if path in found)


def _patched(body: bytes) -> set[str]:
    """Return the paths that a JSON patch replaces without a test."""
    operations = _operations.decode(body)
    if any(each.op == "test" for each in operations):
        return set()
    return {each.path for each in operations if each.op in ("add", "replace", "remove")}


def _sent(event: AuditEvent, body: dict[str, Any]) -> set[str]:
    """Return the paths of the lists in the body of an update, or of a patch that is not a server-side apply."""
    if event.verb == "patch" and "fieldManager=" in event.requestURI and all(key in body for key in _OF_OBJECT):
        return set()
    return {path for path in _PATHS if _has(body, path)}


def _has(body: Any, path: str) -> bool:
    """Return whether an object has a list, or null in its place, at a path."""
    *maps, name = path.strip("/").split("/")
    for key in maps:
        body = body.get(key) if isinstance(body, dict) else None
    return isinstance(body, dict) and name in body and isinstance(body[name], list | None)

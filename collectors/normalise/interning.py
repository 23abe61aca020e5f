"""Keep one copy of values that many events of one log repeat, such as names and references. It does no I/O."""

from collectors.normalise import owner
from collectors.normalise.audit_event import AuditEvent, ObjectReference, client_of
from timeline.core.bounds import check_names
from timeline.core.entries import Client, ObjectRef, Owner
from timeline.kinds import Metadata


class _Texts(dict[str, str]):
    """One copy of each of many texts."""

    def __missing__(self, text: str) -> str:
        if len(self) >= _TEXTS:
            self.clear()
        self[text] = text
        return text


class Interner:
    """Keep one copy of each object reference, owner, client and text of one log, and the kinds the log names. Begin
    anew when there are too many, since the objects of a long log come and go."""

    def __init__(self) -> None:
        self.text = _Texts().__getitem__  # it returns the first copy of an equal text
        self._refs: dict[str, ObjectRef] = {}
        self._owners: dict[str, Owner | None] = {}
        self._clients: dict[tuple[bytes, bytes], Client] = {}
        self.kind_names: dict[tuple[str, str], str] = {}  # (group, resource) -> kind, as the log names it

    def ref(self, ref: ObjectReference, kind: str, metadata: Metadata) -> ObjectRef:
        """Return the reference to the object of an event. Raise ValueError as `check_names` does."""
        uid, name = metadata.uid or ref.uid, ref.name or metadata.name or ""
        # API servers log the name of a Namespace as its namespace, too.
        namespace = "" if kind == "Namespace" and not ref.apiGroup else ref.namespace
        known = self._refs.get(key := uid or f"{kind}.{ref.apiGroup}/{namespace}/{name}")
        if (
            known is None
            or known.name != name
            or known.kind != kind
            or known.namespace != namespace
            or known.version != ref.apiVersion
            or known.group != ref.apiGroup
        ):
            check_names(ref.apiGroup, ref.apiVersion, kind, namespace, name, uid)
            text = self.text
            known = ObjectRef(
                text(ref.apiGroup),
                text(ref.apiVersion),
                kind,
                text(namespace),
                name,
                uid,
            )
            if kind != "Event":  # most Events occur only once
                if len(self._refs) >= _REFS:
                    self._refs.clear()
                self._refs[key] = known
        return known

    def owner(self, metadata: Metadata) -> Owner | None:
        """Return the owner in this metadata as `normalise.owner` does."""
        references = metadata.ownerReferences
        if not references:
            return None
        uid = references[0].uid
        if len(references) > 1 or not uid:
            return owner(metadata)
        known = self._owners.get(uid)
        if known is None:
            if len(self._owners) >= _REFS:
                self._owners.clear()
            known = self._owners[uid] = owner(metadata)
        return known

    def client(self, event: AuditEvent) -> Client:
        """Return the client of an event as `client_of` does."""
        key = bytes(event.sourceIPs), bytes(event.user.extra)
        if key not in self._clients:
            if len(self._clients) == _CLIENTS:
                self._clients.clear()
            self._clients[key] = client_of(event)
        return self._clients[key]


_REFS = 50_000  # how many references to objects are kept, about 15 MB
_TEXTS = 50_000  # how many texts are kept
_CLIENTS = 10_000  # how many clients are kept; each new token of a Pod looks like another one

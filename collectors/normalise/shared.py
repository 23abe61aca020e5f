"""Pure: what many events of one log tell alike, kept once."""

from collectors.normalise import KINDS, owner
from collectors.normalise.audit_event import ObjectReference
from timeline.entries import ObjectRef, Owner
from timeline.kinds import Kind, Metadata, kind_of


class Shared:
    """Objects, their owners and kinds, and texts; for one log."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self.text = self._texts.setdefault  # to be called with a text, twice
        self._refs: dict[str, ObjectRef] = {}
        self._owners: dict[str, Owner | None] = {}
        self._kinds: dict[tuple[str, str], Kind] = {}
        self.named: dict[tuple[str, str], str] = {}  # the kinds of resources that are not built in, as the log tells

    def ref(self, ref: ObjectReference, kind: str, metadata: Metadata) -> ObjectRef:
        uid, name = metadata.uid or ref.uid, ref.name or metadata.name or ""
        known = self._refs.get(key := uid or f"{kind}.{ref.apiGroup}/{ref.namespace}/{name}")
        if (
            known is None
            or known.name != name
            or known.kind != kind
            or known.namespace != ref.namespace
            or known.version != ref.apiVersion
            or known.group != ref.apiGroup
        ):
            if "\0" in f"{ref.apiGroup}{ref.apiVersion}{kind}{ref.namespace}{name}{uid}":
                raise ValueError("a NUL character stands in the object's name")
            text = self.text
            known = ObjectRef(
                text(ref.apiGroup, ref.apiGroup),
                text(ref.apiVersion, ref.apiVersion),
                kind,
                text(ref.namespace, ref.namespace),
                name,
                uid,
            )
            if kind != "Event":  # most are told of but once
                self._refs[key] = known
        return known

    def owner(self, metadata: Metadata) -> Owner | None:
        references = metadata.ownerReferences
        if not references:
            return None
        uid = references[0].uid
        if len(references) > 1 or not uid:
            return owner(metadata)
        known = self._owners.get(uid)
        if known is None:
            known = self._owners[uid] = owner(metadata)
        return known

    def kind(self, group: str, resource: str) -> Kind | None:
        """The kind of a resource that is built in."""
        found = self._kinds.get((group, resource))
        if found is None and (name := KINDS.get((group, resource))):
            found = self._kinds[group, resource] = kind_of(group, name)
        return found

"""Say which part of a source is asked for, and which changes have to be read for it. It does no I/O."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from timeline.core.entries import ObjectRef
from timeline.history.lifelines import Name

_OBJECT = re.compile(r"([a-z0-9][a-z0-9-]{0,62})/([A-Za-z0-9]{1,63})/([^/\s]{1,253})")
_NAMESPACE = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")


class Asked(NamedTuple):
    """An object that is asked for, together with everything that it owns."""

    namespace: str
    kind: str
    name: str


class Part:
    """All objects of some namespaces, and some objects with what they own.

    What is about the cluster is read for every part: objects without a namespace, Leases, and Events about objects
    without a namespace, which are in the namespace `default`.
    """

    def __init__(self, namespaces: Iterable[str] = (), objects: Iterable[Asked] = ()) -> None:
        self.namespaces = frozenset(namespaces)
        self.objects = frozenset(objects)
        self.read = self.namespaces.union(each.namespace for each in self.objects)

    def __str__(self) -> str:
        named = [f"namespace={each}" for each in sorted(self.namespaces)]
        return " ".join([*named, *(f"object={'/'.join(each)}" for each in sorted(self.objects))])

    def reads(self, named: ObjectRef | Name) -> bool:
        """Return whether the changes of an object are read."""
        namespace, kind = named.namespace, named.kind
        if not namespace:
            return kind != "Namespace" or named.group != "" or named.name in self.read
        return namespace in self.read or kind == "Lease" or (kind == "Event" and namespace == "default")

    def reads_resource(self, namespace: str, resource: str) -> bool:
        """Return the same for an object in a namespace, by the name of its resource."""
        if namespace in self.read or resource == "leases":
            return True
        return resource == "events" and namespace == "default"


def part_of(texts: Iterable[str]) -> Part:
    """Return the part that texts such as `namespace=shop` and `object=shop/Job/report` ask for together.

    Raise ValueError, which says what to write, for any other text.
    """
    namespaces, objects = set[str](), set[Asked]()
    for text in texts:
        what, _, value = text.partition("=")
        if what == "namespace" and _NAMESPACE.fullmatch(value):
            namespaces.add(value)
        elif what == "object" and (found := _OBJECT.fullmatch(value)):
            objects.add(Asked(*found.groups()))
        else:
            raise ValueError(
                f"--only {text[:300]!r} names no part of a recording. Write namespace=NAME, such as namespace=shop, or "
                "object=NAMESPACE/KIND/NAME, such as object=shop/Job/report."
            )
    return Part(namespaces, objects)

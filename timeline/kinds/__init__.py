"""Describe each Kubernetes kind: what is kept of an object, the phases its bar shows, and its references.

There is one file for each kind, and all of it is pure. The code of a kind sees only the one object that it reads; the
relations between objects are the task of `timeline.history`.
"""

import importlib
import ipaddress
import pkgutil
from collections.abc import Callable, Iterable
from functools import cache, lru_cache
from typing import Any, NamedTuple

import msgspec

from timeline.core import times
from timeline.core.entries import Facts
from timeline.core.order import At
from timeline.kinds._status import (
    Condition,
    Container,
    Ending,
    Number,
    Status,
    Telling,
    shortened,
    status_of,
    time_of,
)

__all__ = [
    "NOISE",
    "Condition",
    "Container",
    "Ending",
    "Kind",
    "Mark",
    "Metadata",
    "Number",
    "OwnerReference",
    "Phase",
    "Reference",
    "Shape",
    "Status",
    "Telling",
    "address",
    "group_of",
    "kind_of",
    "of_resource",
    "qualified",
    "registry",
    "resource_of",
    "seconds",
    "shortened",
    "status_of",
    "time_of",
]


@lru_cache(10_000)
def seconds(text: str) -> int:
    """Return the time of a field of an object (RFC 3339, whole seconds) in microseconds since 1970, UTC; 0 for the
    zero time of Go, which stands for a time that is not set.

    Raises ValueError if the text is not such a time.
    """
    try:
        return 0 if text == _UNSET else times.instant(text)
    except times.NoTime as error:
        raise ValueError(f"a field is not as Kubernetes writes it: {error}") from None


@lru_cache(10_000)
def address(text: str | None) -> str:
    """Return an IP address in its canonical form, without a zone; "" for any other text."""
    try:
        return str(ipaddress.ip_address((text or "").partition("%")[0]))
    except ValueError:
        return ""


_UNSET = "0001-01-01T00:00:00Z"


def resource_of(kind: str) -> str:
    """Return the resource of a kind, formed as Kubernetes does it: "endpointslices" for "EndpointSlice".

    A log without bodies does not name the kinds of custom resources; then the kind is the resource itself.
    """
    name = kind.lower()
    if name == "endpoints" or (kind == name and name.endswith("s")):
        return name
    if name.endswith(("s", "x", "z", "ch", "sh")):
        return f"{name}es"
    return f"{name[:-1]}ies" if name.endswith("y") and name[-2:-1] not in "aeiou" else f"{name}s"


class OwnerReference(msgspec.Struct, gc=False):
    apiVersion: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None


class Metadata(msgspec.Struct, gc=False):
    name: str | None = None
    namespace: str | None = None
    uid: str | None = None
    resourceVersion: str | None = None
    generation: int | None = None
    creationTimestamp: str | None = None
    deletionTimestamp: str | None = None
    deletionGracePeriodSeconds: int | None = None
    finalizers: tuple[str, ...] | None = None
    ownerReferences: tuple[OwnerReference, ...] | None = None

    @property
    def common(self) -> tuple[int, bool, int, tuple[str, ...], int, bool, tuple[str, ...]]:
        """Return the facts of every kind, in the order of `Facts`. Raises ValueError if a field is not a valid time."""
        created = seconds(self.creationTimestamp) if self.creationTimestamp else 0
        finalizers, generation, owners = self.finalizers or (), self.generation or 0, self._other_owners
        if self.deletionTimestamp is None:
            return created, False, 0, finalizers, generation, False, owners
        ends = seconds(self.deletionTimestamp)  # the end of the grace period
        asked = min(ends, max(0, ends - (self.deletionGracePeriodSeconds or 0) * 1_000_000))
        return created, True, asked, finalizers, generation, not self.deletionGracePeriodSeconds, owners

    @property
    def _other_owners(self) -> tuple[str, ...]:
        """Return the owners besides the controller, or besides the only one."""
        owners = self.ownerReferences
        if not owners or len(owners) == 1:
            return ()
        controller = next((each for each in owners if each.controller), None)
        return tuple(f"{each.kind}/{each.name}" for each in owners if each is not controller)

    @property
    def stated(self) -> dict[str, Any]:
        """Return the facts of `common` by name, without those that are not set. Raises ValueError if a field is not a
        valid time."""
        named = zip(Facts.__struct_fields__, self.common, strict=True)
        return {name: value for name, value in named if value}


class Shape(msgspec.Struct, gc=False):
    """The part of an object that is decoded.

    Kinds extend it by the fields, labels and annotations that they need. The decoder skips everything else.
    """

    kind: str = ""
    apiVersion: str = ""
    metadata: Metadata = msgspec.field(default_factory=Metadata)


class Phase(NamedTuple):
    """The phase of an object for as long as its facts do not change: one stretch of its bar."""

    text: str  # the label on the bar
    tone: str  # strong, pale, muted or ended: the shade of the family's colour


class Mark(NamedTuple):
    """A symbol on a bar, at a change."""

    mark: str  # which symbol: scheduled, started, ready, finished, deleting, finalizer, status, …
    text: str


class Reference(NamedTuple):
    """One reference of an object to another object."""

    group: str
    kind: str
    name: str
    role: str  # "subdomain", "claim", "config", …: the object needs the other; "lock", "involved": it only names it
    namespace: str | None = None  # "" for cluster scope, None for the object's own namespace


def _facts(shape: Any) -> Facts:
    return Facts(*shape.metadata.common)


def _phase(facts: Any) -> Phase:
    return Phase("Terminating", "ended") if facts.deleting else Phase("Live", "strong")


def _marks(before: Any, after: Any) -> Iterable[Mark]:
    return ()


def _references(facts: Any) -> Iterable[Reference]:
    return ()


def _spells(track: Any) -> Iterable[tuple[str, At, At | None]]:
    return ()


def _again(before: Any, after: Any, apart: int) -> Any:
    return after if before == after else None


def _subtitle(facts: Any) -> str:
    return ""


def _drawn(facts: Any) -> Any:
    return facts


def _addresses(facts: Any) -> Iterable[str]:
    return ()


def _clues(facts: Any) -> Iterable[str]:
    return ()


class Kind(NamedTuple):
    """How one kind is read, drawn and related to others. `facts` takes the Shape of the kind; the other functions take
    its Facts, except for `spells`, which takes a Track of `timeline.history`."""

    group: str  # "" for core
    kind: str
    short: str  # the name on a lane, which is kubectl's short name if it has one
    family: str  # the group of kinds that share a colour and a filter
    shape: type[Shape] = Shape
    facts_type: type[Facts] = Facts
    facts: Callable[[Any], Facts] = _facts
    phase: Callable[[Any], Phase] = _phase
    marks: Callable[[Any, Any], Iterable[Mark]] = _marks
    references: Callable[[Any], Iterable[Reference]] = _references
    subtitle: Callable[[Any], str] = _subtitle
    # Returns the named stretches of time by which an owner's children are counted: (name, beginning, end or None).
    spells: Callable[[Any], Iterable[tuple[str, At, At | None]]] = _spells
    # Takes the facts of two consecutive writes and the microseconds between them. Returns the facts to keep if the
    # second write changed nothing that matters, else None.
    again: Callable[[Any, Any, int], Any] = _again
    addresses: Callable[[Any], Iterable[str]] = _addresses  # returns the object's own IP addresses; "" is ignored
    # Returns the texts by which the search finds the object besides its names, in words that say why: "on node-3".
    clues: Callable[[Any], Iterable[str]] = _clues
    telling: Telling = Telling()  # which parts of its status tell people how it is
    drawn: Callable[[Any], Any] = _drawn  # returns the facts without what only judgements need
    aliases: tuple[str, ...] = ()  # other short names that kubectl knows
    namespaced: bool = True
    subresources: tuple[str, ...] = ("status",)  # through which objects are written
    watched: bool = True  # in a connected cluster, unless somebody leaves it out

    @property
    def resource(self) -> str:
        """Return its plural, as in paths: "pods"."""
        return resource_of(self.kind)

    @property
    def names(self) -> frozenset[str]:
        """Return the words that name it without its group, in lower case: "pod", "pods", "po"."""
        return _names(self.kind, self.short, self.aliases)

    def is_meant(self, word: str) -> bool:
        """Return whether a word such as Pod, pods, po or jobs.batch.volcano.sh means this kind."""
        name, _, group = word.lower().partition(".")
        return name in self.names and group in ("", self.group)

    @property
    def has_phases(self) -> bool:
        """Return whether objects of the kind have phases besides those that all objects have."""
        return self.phase is not _phase

    @property
    def has_references(self) -> bool:
        """Return whether objects of the kind may refer to others."""
        return self.references is not _references

    @property
    def has_addresses(self) -> bool:
        """Return whether objects of the kind have IP addresses of their own."""
        return self.addresses is not _addresses

    @property
    def has_clues(self) -> bool:
        """Return whether objects of the kind are found by anything besides their names."""
        return self.clues is not _clues


NOISE = ("Events", "Cluster")  # families that are hidden at first
_CLUSTER_GROUPS = (
    "rbac.authorization.k8s.io",
    "apiregistration.k8s.io",
    "apiextensions.k8s.io",
    "flowcontrol.apiserver.k8s.io",
    "admissionregistration.k8s.io",
    "networking.k8s.io",
    "scheduling.k8s.io",
    "storage.k8s.io",
    "node.k8s.io",
)


@lru_cache(4096)
def qualified(group: str, kind: str) -> str:
    """Return the kind, followed by its API group unless that belongs to Kubernetes: Pod, Job, Job.batch.volcano.sh."""
    return f"{kind}.{group}" if "." in group and not group.endswith(".k8s.io") else kind


@cache
def registry() -> dict[tuple[str, str], Kind]:
    """Return every kind that is declared in this package, by (group, kind): KINDS of `plain.py`, and KIND of each other
    module. Modules whose names begin with "_" are parts of kinds."""
    plain: Iterable[Kind] = importlib.import_module(f"{__name__}.plain").KINDS
    found = {(kind.group, kind.kind): kind for kind in plain}
    for module in pkgutil.walk_packages(__path__, f"{__name__}."):
        if not module.ispkg and not module.name.startswith((f"{__name__}._", f"{__name__}.plain")):
            kind: Kind = importlib.import_module(module.name).KIND
            found[kind.group, kind.kind] = kind
    return found


@cache
def _by_resource() -> dict[tuple[str, str], Kind]:
    return {(kind.group, kind.resource): kind for kind in registry().values() if kind.kind != "*"}


def of_resource(group: str, resource: str) -> Kind | None:
    """Return the kind that is declared with a resource such as ("apps", "deployments"); None if there is none."""
    return _by_resource().get((group, resource))


@cache
def group_of(kind: str) -> str:
    """Return the API group of a qualified kind: "batch" for "Job", "batch.volcano.sh" for "Job.batch.volcano.sh"; ""
    for one that is not declared."""
    name, _, group = kind.partition(".")
    return group or min((each.group for each in registry().values() if qualified(*each[:2]) == name), default="")


@cache
def _names(kind: str, short: str, aliases: tuple[str, ...]) -> frozenset[str]:
    return frozenset({kind.lower(), resource_of(kind), short, *aliases})


@cache
def kind_of(group: str, kind: str) -> Kind:
    """Return the description of a kind. Kinds without one of their own get that of any custom resource, or, if their
    group belongs to Kubernetes, a plain one that reads the metadata alone."""
    if known := registry().get((group, kind)):
        return known
    initials = "".join(letter for letter in kind if letter.isupper()).lower() or kind[:3].lower()
    if qualified(group, kind) != kind:
        return registry()["*", "*"]._replace(group=group, kind=kind, short=initials)
    return Kind(group, kind, initials, "Cluster" if group in _CLUSTER_GROUPS else "Other")

"""Find the tracks that an alert may mean by a name, a UID or an IP address, using a database index."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec
from django.db.models import Q, QuerySet

from timeline.core.entries import microseconds
from timeline.history.lifelines import ANONYMOUS
from timeline.kinds import NOISE, kind_of, of_resource, registry, resource_of
from timeline.models import Source, Track

MOST = 5_000  # the most tracks of one name or address that are considered, the latest ones


class Target(NamedTuple):
    """One way in which a link names an object: by name, perhaps with a kind; by UID; or by IP address."""

    name: str = ""
    kind: str = ""
    uid: str = ""
    address: str = ""  # in the canonical form of `kinds.address`

    def __str__(self) -> str:
        if self.uid:
            return f"object with the UID {self.uid}"
        if self.address:
            return f"object with the address {self.address}"
        return f"{self.kind} {self.name}" if self.kind else self.name


class Candidate(NamedTuple):
    """A track that a link may mean, and the range of time in which it matches the link.

    An IP address may pass from one object to another, so the range may be shorter than that of the track.
    """

    source: Source
    row: Track
    start: int  # microseconds since 1970
    end: int | None  # None if the range is not known to have ended


def candidates(
    sources: Sequence[Source], target: Target, namespace: str, named: Mapping[str, Sequence[Track]] | None = None
) -> list[Candidate]:
    """Return all tracks that match the target, in no order. Cluster-scoped objects match with any namespace.

    `named` has the tracks of each name if they were read before.
    """
    by_key = {source.pk: source for source in sources}
    rows = Track.objects.filter(source__in=list(by_key))
    if target.uid:
        rows = rows.filter(uid=target.uid).exclude(uid__startswith=ANONYMOUS).defer("lifeline")
        events = Q(family="Events")  # they are not in the index of UIDs
        found = _latest(rows.filter(~events)) or _latest(rows.filter(events))
    elif target.address:
        holders = list(_latest(rows.filter(addresses__contains=[target.address]).exclude(addresses=[])))
        near = [row for row in holders if row.namespace == namespace] or holders  # the label may name another namespace
        return [each for row in near for each in _holding(by_key[row.source_id], row, target.address)]
    elif named is not None:
        spaces = {namespace, ""} if target.kind else {namespace}
        of_name = (row for row in named.get(target.name, ()) if row.source_id in by_key)
        found = _of_kind([row for row in of_name if not namespace or row.namespace in spaces], target.kind)
    else:
        if namespace:
            rows = rows.filter(namespace__in=[namespace, ""] if target.kind else [namespace])
        found = _of_kind(_latest(rows.filter(name=target.name).defer("lifeline")), target.kind)
    return [Candidate(by_key[row.source_id], row, *_life(row)) for row in found]


def kinds_of(asked: str) -> list[str]:
    """Return the kinds that a word such as Pod, pods or po may mean, in lower case."""
    word = asked.lower()
    singular = (word[:-1], word[:-2], f"{word[:-3]}y")
    called = [kind.kind.lower() for kind in registry().values() if word in kind.names]
    return [*dict.fromkeys([word, *(kind for kind in singular if resource_of(kind) == word), *called])]


def is_resource(group: str, resource: str, asked: str) -> bool:
    """Return whether the text of a link, such as Pod, pods or po, means this resource."""
    if known := of_resource(group, resource):
        return known.is_meant(asked)
    name, _, within = asked.lower().partition(".")
    return resource in (name, resource_of(name)) and within in ("", group)


def _latest(rows: QuerySet[Track]) -> list[Track]:
    return list(rows.order_by("-life", "-id")[:MOST])


def _of_kind(rows: list[Track], kind: str) -> list[Track]:
    """Return the rows of a kind. Without a kind, return all rows except noise such as Events, or the noise if there is
    nothing else."""
    if kind:
        return [row for row in rows if kind_of(row.group, row.kind).is_meant(kind)]
    return [row for row in rows if row.family not in NOISE] or rows


def _life(row: Track) -> tuple[int, int | None]:
    return microseconds(row.life.lower), row.life.upper and microseconds(row.life.upper)


def _holding(source: Source, row: Track, address: str) -> Iterator[Candidate]:
    """Yield the ranges of time in which the object of a track had an IP address."""
    kind = kind_of(row.group, row.kind)
    began: int | None = None
    for time, *_, facts in row.lifeline:
        if facts is None:
            continue
        holds = address in kind.addresses(msgspec.convert(facts, kind.facts_type))
        if holds and began is None:
            began = time
        elif not holds and began is not None:
            yield Candidate(source, row, began, time)
            began = None
    if began is not None:
        yield Candidate(source, row, began, _life(row)[1])


def ready_sources() -> QuerySet[Source]:
    """Return the sources that are shown, without their large columns."""
    heavy = ("document", "skips", "histogram", "census", "tide")
    return Source.objects.filter(ready=True).select_related("cluster").defer(*heavy)


def of_cluster(sources: QuerySet[Source], name: str) -> QuerySet[Source]:
    """Return the sources of a cluster that is or was connected, and the recordings that have its name."""
    left = Q(inputs__0=name) | Q(inputs__0__startswith=f"{name}, part ")
    return sources.filter(Q(cluster__name=name) | Q(name=name) | (Q(cluster=None, sequence__gt=0) & left))

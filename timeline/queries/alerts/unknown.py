"""Explain that an object, a cluster or a recording is not known, and suggest similar names."""

import difflib
from collections.abc import Sequence
from typing import NamedTuple

from django.db.models import QuerySet

from timeline.kinds import NOISE
from timeline.models import Cluster, Source, Track
from timeline.queries.objects.candidates import Target, is_resource, ready_sources

_ALIKE = 8  # the most objects that are suggested
_NAMES = 20_000  # the most names with which an unknown one is compared
_SOURCES = 20  # the number of newest sources whose names are compared
_KNOWN = 20  # the most clusters or recordings that are listed


class Unknown(NamedTuple):
    message: str  # sentences
    alike: Sequence[Track] = ()  # objects that may be meant instead
    clusters: Sequence[str] = ()  # names of clusters that may be meant instead


def no_source(source: str, cluster: str) -> Unknown:
    """Return the explanation that a recording or a cluster is not known, or that nothing is stored at all."""
    names = list(ready_sources().order_by("-created", "-id").values_list("name", flat=True).distinct()[:1000])
    if cluster:
        known = list(dict.fromkeys([*Cluster.objects.order_by("name").values_list("name", flat=True), *names]))
        message = f"No connected cluster and no recording is called {cluster}."
        if source and cluster in known:
            message = f"The recording {source} does not belong to the cluster {cluster}."
        close = _close(cluster, known, 3, 0.5)
        return Unknown(f"{message} {_listed('Known are', known)}".strip(), clusters=close)
    if source:
        return Unknown(f"There is no recording {source}. {_listed('Known are', list(dict.fromkeys(names)))}".strip())
    return Unknown("There are no recordings yet, and no cluster is connected.")


def no_object(sources: Sequence[Source], targets: Sequence[Target], namespace: str) -> Unknown:
    """Return the explanation that no source has an object, which says whether its namespace and kind are known."""
    target = targets[0]
    tracks = Track.objects.filter(source__in=[source.pk for source in sources]).defer("lifeline")
    here = f"in {sources[0].name}" if len(sources) == 1 else f"in any of {len(sources)} clusters and recordings"
    where = f" in namespace {namespace}" if namespace and not target.uid else ""
    message = f"No {target} was ever seen{where} {here}."
    if target.uid or target.address:
        return Unknown(message)
    outlines = Source.objects.filter(pk__in=[source.pk for source in sources]).values_list(
        "census", "document__coverage"
    )
    kinds = {(row["resource"], row["group"]) for _, coverage in outlines for row in coverage or ()}
    if namespace and not any(namespace == each for census, _ in outlines for each, _, _ in census):
        message = f"Nothing of namespace {namespace} was seen {here}."
    elif target.kind and not any(is_resource(group, resource, target.kind) for resource, group in kinds):
        message = f"No object of kind {target.kind} was seen {here}."
    return Unknown(message, _alike(sources, tracks, target, namespace))


def _alike(sources: Sequence[Source], tracks: QuerySet[Track], target: Target, namespace: str) -> list[Track]:
    """Return objects of the same name in other namespaces or of other kinds, or else objects with similar names."""
    same = tracks.filter(name=target.name).exclude(family__in=NOISE)
    if found := _latest(same):
        return found[:_ALIKE]
    newest = sorted(sources, key=lambda source: source.created, reverse=True)[:_SOURCES]
    others = tracks.filter(source__in=[source.pk for source in newest]).exclude(family__in=NOISE)
    if namespace and others.filter(namespace=namespace).exists():
        others = others.filter(namespace=namespace)
    names = list(dict.fromkeys(others.values_list("name", flat=True).order_by()[:_NAMES]))
    close = [name for name in names if target.name and name.startswith(target.name)][:_ALIKE]
    close = close or _close(target.name, names, _ALIKE, 0.6)
    found = _latest(others.filter(name__in=close))
    return sorted(found, key=lambda row: close.index(row.name))[:_ALIKE]


def _latest(tracks: QuerySet[Track]) -> list[Track]:
    """Return only the last incarnation of each name, the newest first."""
    identity = ("source_id", "group", "kind", "namespace", "name")
    found = tracks.order_by(*identity, "-life").distinct(*identity)[:_NAMES]
    return sorted(found, key=lambda row: (row.life.lower, row.id), reverse=True)


def _close(name: str, known: Sequence[str], most: int, least: float) -> list[str]:
    """Return at most `most` of the known names that are similar, ignoring case. `least` is the least similarity, from 0
    to 1."""
    written = {each.casefold(): each for each in reversed(known)}
    return [written[each] for each in difflib.get_close_matches(name.casefold(), written, most, least)]


def _listed(heading: str, names: list[str]) -> str:
    more = f" and {len(names) - _KNOWN} more" if len(names) > _KNOWN else ""
    return f"{heading}: {', '.join(names[:_KNOWN])}{more}." if names else ""

"""Count the incidents of runs, so that people choose runs that went well to compare with."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from timeline.models import Finding, Track
from timeline.queries.incidents.counts import incident_counts

_FINDINGS = 20_000  # the most findings that are looked at
_Key = tuple[int, int]  # Track.source and Track.id


def incidents_of_runs(rows: Sequence[Track]) -> dict[_Key, int]:
    """Return how many incidents are about each of these objects or about what it owns, in this incarnation, by source
    and id. Silenced ones count, too."""
    sources = {row.source_id for row in rows}
    found = Finding.objects.filter(source__in=sources, root__in={row.root for row in rows}, withdrawn=False)
    about = list(found.values_list("source", "subject", "incident").distinct()[:_FINDINGS])
    owners = _owners((source, subject) for source, subject, _ in about)
    incidents: dict[_Key, set[str]] = defaultdict(set)
    for source, subject, incident in about:
        at, seen = subject, set[int]()
        while at and at not in seen:
            seen.add(at)
            incidents[source, at].add(incident)
            at = owners.get((source, at), 0)
    return {(row.source_id, row.id): len(incidents.get((row.source_id, row.id), ())) for row in rows}


def incidents_of_sources(sources: Iterable[int]) -> dict[int, int]:
    """Return how many incidents each of these sources has. Silenced ones count, too."""
    wanted = list(sources)
    counts = incident_counts(wanted)
    return {each: counts[each].incidents + counts[each].silenced if each in counts else 0 for each in wanted}


def _owners(tracks: Iterable[_Key]) -> dict[_Key, int]:
    """Return the owners of these objects, and of their owners, up to those without one."""
    owners: dict[_Key, int] = {}
    wanted = set(tracks)
    while wanted:
        rows = Track.objects.filter(source__in={source for source, _ in wanted}, id__in={track for _, track in wanted})
        read = {(source, track): owner for source, track, owner in rows.values_list("source", "id", "owner")}
        owners |= read
        wanted = {(source, owner) for (source, _), owner in read.items() if owner} - owners.keys()
    return owners

"""Build the address of the timeline that shows a track at the time of an alert, with a finding nearby."""

from typing import NamedTuple

from timeline.core.order import SECOND
from timeline.kinds import NOISE
from timeline.models import Finding, Source, Track
from timeline.queries.alerts.lookup import Match, is_live
from timeline.queries.objects.lives import lane_key, object_of
from timeline.queries.sources.extents import extent
from timeline.queries.window.view import View

_AROUND = 30_000_000  # µs that are shown on both sides of a time
_BESIDE = 5_000_000  # µs that are shown beyond the alert, if the beginning or end of the track is shown, too
_TOGETHER = 120_000_000  # the most µs between the alert and the beginning or end of the track to show both
_RECENT = 600_000_000  # µs that are shown of a live track without a time
_NEAR = 300_000_000  # µs around the time within which the alert may be about a finding
_RANKS = ("error", "warning", "info")


class Landing(NamedTuple):
    """The address of a timeline, and the range of time that it shows, in microseconds since 1970."""

    url: str
    start: int
    end: int


def address(match: Match, at: int | None, *, select: bool = True) -> str:
    """Return the address of the timeline that shows an object around the time `at`."""
    return landing(match, at, select=select).url


def landing(match: Match, at: int | None, *, select: bool = True) -> Landing:
    """Return the timeline that shows an object in its root owner's group, around the time `at` (microseconds since
    1970), with the most relevant finding selected. Without `select` that is not looked for."""
    source, row = match.candidate.source, match.candidate.row
    start, end = _range(match, at)
    anchor = end if at is None else at
    shown = View(focus=row.root, noise=row.family in NOISE)
    near = (start, end) if at is None else (min(start, at) - _NEAR, max(end, at) + _NEAR)
    if select and (worst := _worst(source, row, near, anchor)):
        key, begins, ends = worst
        start, end = min(start, begins), max(end, ends)
        shown = shown.but(finding=key)
    first, _ = extent(source)
    room = max((end - start) // 8, 500_000)
    start, end = max(start - room, first - room, 0), max(end, start + 1) + room
    query = shown.query(lane=lane_key(object_of(row)), about=row.id, start=start, end=end, at=at)
    return Landing(f"/sources/{source.pk}/{query}", start, end)


def _range(match: Match, at: int | None) -> tuple[int, int]:
    source, _, began, ended = match.candidate
    first, last = extent(source)
    if at is None:
        end = last if ended is None else ended
        start = max(began, end - _RECENT) if is_live(source) else began
        return max(first, start - _AROUND), min(last, end + _AROUND)
    relation, apart = match.place
    if relation == "alive":
        return max(first, at - _AROUND), min(max(last, at), at + _AROUND)
    if relation == "began":
        return (at - _BESIDE if apart <= _TOGETHER else began - _AROUND), began + _AROUND
    end = last if ended is None else ended
    return end - _AROUND, (at + _BESIDE if apart <= _TOGETHER else end + _AROUND)


def _worst(source: Source, row: Track, near: tuple[int, int], at: int) -> tuple[str, int, int] | None:
    """Return key, first and last time of the occurrence in a track's group that an alert is most likely about.

    An occurrence that began before the alert is preferred to later ones, then one that names the track, then the most
    severe, then the nearest. Return None if none is in the range `near`.
    """
    found = []
    rows = Finding.objects.filter(source=source, root=row.root, withdrawn=False)
    for finding in rows.only("severity", "occurrences", "tracks"):
        for each in finding.occurrences:
            if each["last"] >= near[0] and each["first"] <= near[1]:
                rank = row.id not in finding.tracks, _RANKS.index(finding.severity), abs(each["first"] - at)
                later = each["first"] >= at + SECOND  # the times of alerts are whole seconds
                found.append((later, *rank, each["group"], each["first"], each["last"]))
    return min(found)[4:] if found else None


def shown_life(source_id: int, track_id: int) -> tuple[Source, Track] | None:
    """Return the track that an address asks to show, with its source; None if it is not stored."""
    row = Track.objects.filter(source=source_id, id=track_id).defer("lifeline").first()
    source = Source.objects.select_related("cluster").filter(pk=source_id).first()
    return (source, row) if source and row else None


def findings_of(lives: list[tuple[int, int]]) -> dict[tuple[int, int], int]:
    """Return the number of findings that name each of these (source, track), without those that no finding names."""
    counts: dict[tuple[int, int], int] = {}
    for source_id in {source for source, _ in lives}:
        wanted = [track for source, track in lives if source == source_id]
        rows = Finding.objects.filter(source=source_id, withdrawn=False, tracks__overlap=wanted)
        for tracks in rows.values_list("tracks", flat=True):
            for track in set(tracks) & set(wanted):
                counts[source_id, track] = counts.get((source_id, track), 0) + 1
    return counts

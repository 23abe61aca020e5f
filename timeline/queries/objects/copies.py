"""Read the act on an old copy that is behind a finding, and compare such a copy with the state of the object then."""

from typing import NamedTuple

from timeline.models import Finding, Source, Track
from timeline.payloads.views import UsePayload, ViewPayload
from timeline.queries.objects.revisions import ChangeInPlace, change_in_place
from timeline.queries.objects.views import views_of

_ROOM = 0.25  # the share of a picture's time that is left before its first event and after its last


class ShownView(NamedTuple):
    """The view that explains a finding, and the range of time in which its picture shows it."""

    view: ViewPayload
    use: UsePayload  # the act on an old copy that the picture is about
    start: int
    end: int


def view_of_finding(source_id: int, identity: str, first: int, last: int) -> ShownView | None:
    """Return how somebody acted on an old copy of an object, if that is behind a finding.

    Of the acts in the occurrence between these times (µs since 1970), or nearest to it, the one on the oldest copy
    counts. Return None if no such act is known of the objects that the finding names.
    """
    if not Source.objects.filter(pk=source_id, views__gt=0).exists():
        return None
    found = Finding.objects.filter(source=source_id, identity=identity).values_list("tracks", "subject").first()
    if found is None:
        return None
    tracks, subject = found
    owner = Track.objects.filter(source=source_id, id=subject).values_list("owner", flat=True)
    named = {*tracks, *owner}
    acts = [
        (_rank(use, subject, first, last), view, use)
        for view in views_of(source_id, named)
        for use in view["uses"]
        if use["unseen"]
    ]
    if not acts:
        return None
    _, view, use = min(acts, key=lambda each: each[0])
    alike = [each for each in view["uses"] if each["resource_version"] == use["resource_version"] and each["unseen"]]
    start, end = min(each["unseen_at"] for each in alike), max(each["time"] for each in alike)
    room = max(int((end - start) * _ROOM), 20_000)
    return ShownView(view, use, start - room, end + room)


def is_acted_on(source_id: int, track_id: int, copied: str, stood: str) -> bool:
    """Return whether it is known that somebody acted on the revision `copied` of an object when `stood` was the newest
    one."""
    uses = (use for view in views_of(source_id, {track_id}) for use in view["uses"])
    return any((use["resource_version"], use["stood"]) == (copied, stood) for use in uses)


def copy_and_stood(
    source_id: int, track_id: int, copied: int, stood: int
) -> tuple[ChangeInPlace, ChangeInPlace] | None:
    """Return the changes by which an object got two revisions; None unless both are known. Raises
    Track.DoesNotExist."""
    first, second = (change_in_place(source_id, track_id, revision=each) for each in (copied, stood))
    if not first or not second:
        return None
    known = first.revision.entry.resource_version == copied and second.revision.entry.resource_version == stood
    return (first, second) if known else None


def _rank(use: UsePayload, subject: int, first: int, last: int) -> tuple[bool, int, int, int]:
    """Return a sort key that puts first what was done to the subject, then what lies in the occurrence."""
    away = max(first - use["time"], use["time"] - last, 0)
    return use["track"] != subject, away, -use["least"], use["time"]

"""Read stored entries, a page at a time."""

from timeline.models import Source, Track
from timeline.payloads.documents import object_payload
from timeline.payloads.objects import EntriesPayload, EntryPayload
from timeline.payloads.revisions import revision_payload
from timeline.queries.objects.attribution import key_of, life_of, lives_by_key
from timeline.storage.entries import chunks
from timeline.storage.entries.chunks import Stored


def entries(
    source_id: int,
    *,
    start: int | None = None,
    end: int | None = None,
    namespace: str = "",
    kind: str = "",
    name: str = "",
    after: int = 0,
    limit: int = 100,
    bodies: bool = False,
) -> EntriesPayload:
    """Return a page of entries in the order of storing: those with a sequence number higher than `after` that were
    received from `start` to `end`, in microseconds since 1970, of objects with this namespace, kind and name. There are
    fewer than `limit` if their bodies are large.

    Raises Source.DoesNotExist.
    """
    Source.objects.only("pk").get(pk=source_id, ready=True)
    tracks = Track.objects.filter(source=source_id)
    wanted = {"namespace": namespace, "kind": kind, "name": name}
    chosen = {field: value for field, value in wanted.items() if value}
    rows_of = tracks.filter(**chosen).values_list("id", "unnamed") if chosen else ()
    keys = {key for number, unnamed in rows_of for key in (key_of(number), *unnamed)} if chosen else None
    rows: list[Stored] = []
    size, more = 0, False
    for each in chunks.entries(source_id, keys, after=after, start=start, end=end, bodies=bodies):
        if more := len(rows) == limit or size > chunks.BODIES:
            break
        rows.append(each)
        size += len(each.entry.body)
    lives = lives_by_key(source_id, {row.key for row in rows})
    return {
        "entries": [_entry(each, life_of(each.entry, lives.get(each.key, [])), bodies) for each in rows],
        "next": str(rows[-1].sequence) if more else None,
    }


def _entry(each: Stored, life: Track | None, bodies: bool) -> EntryPayload:
    change = revision_payload(each.sequence, each.entry.received, each.entry, bodies=bodies)
    return {**change, "track": life.id if life else None, "object": object_payload(each.entry.ref)}

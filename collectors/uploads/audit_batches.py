"""Store what an API server sends to an audit webhook: lists of audit events, redacted and normalised."""

from collections.abc import Iterable
from typing import NamedTuple

from collectors import readers
from collectors.formats import Limits, audit_webhook
from timeline.models import Stream, Way
from timeline.storage.entries import inbox

_KINDS = 10_000  # of one cluster that are remembered
# By cluster: the kinds of its resources that are not built in, as its watches and earlier events name them.
_kinds: dict[int, audit_webhook.Kinds] = {}


class Taken(NamedTuple):
    """What became of a batch."""

    events: int
    unread: int
    new: bool  # False if it had been stored before
    problem: str  # why the first event that could not be read could not; "" if all could


class Body(NamedTuple):
    """The body of a request: at most `most` bytes, which come as gzip if it is `packed`."""

    pieces: Iterable[bytes]
    packed: bool
    most: int


def take(cluster_id: int, body: Body, limits: Limits, most: int) -> Taken:
    """Store a list of audit events for the present source of a cluster. It is committed when this returns.

    `most` is how many packed bytes may wait. Raise audit_webhook.NotAList and TooLong, readers.Died, inbox.NotWatched
    and inbox.Full; then nothing is stored.
    """
    known = _known_kinds(cluster_id)
    read = readers.call(audit_webhook.read, body.pieces, body.packed, body.most, known, limits)
    if len(known) + len(read.kinds) <= _KINDS:
        known.update(read.kinds)
    events = len(read.identities)
    batch = inbox.Batch(inbox.digest_of(read.identities), read.lines, events, read.unread)
    new = inbox.accept(cluster_id, Way.AUDIT, batch, most)
    return Taken(events, read.unread, new, read.problem)


def _known_kinds(cluster_id: int) -> audit_webhook.Kinds:
    """Return the kinds of the resources of a cluster that are known so far."""
    rows = Stream.objects.filter(source__current_of=cluster_id).values_list("group", "resource", "kind")
    if cluster_id not in _kinds:
        _kinds[cluster_id] = {}
    _kinds[cluster_id].update({(group, resource): kind for group, resource, kind in rows if kind})
    return _kinds[cluster_id]

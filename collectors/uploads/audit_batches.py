"""This module stores what an API server sends to an audit webhook: lists of audit events, redacted and normalised.

https://kubernetes.io/docs/tasks/debug/debug-cluster/audit/#webhook-backend describes what is sent.
"""

from collections.abc import Iterator
from hashlib import sha256
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from collectors.formats import Limits
from collectors.formats.audit import read_events
from collectors.formats.depth import is_deeper
from collectors.formats.rejections import reason_of
from collectors.formats.stream import TOO_DEEP, Line, Skipped
from collectors.redaction.entries import without_credentials
from timeline.core.entries import Entry, LogLine, Mark, Observation
from timeline.models import Stream, Way
from timeline.storage import additions, inbox

EVENTS = 20_000  # in one list at most; an API server sends 400 unless it is told otherwise


class NotAList(Exception):
    """This exception is raised if what was sent is not a list of audit events. Its message says why."""


class Taken(NamedTuple):
    """This tuple says what became of a batch."""

    events: int
    unread: int
    new: bool  # False if it had been stored before
    problem: str  # why the first event that could not be read could not; "" if all could


class _List(msgspec.Struct, gc=False):
    kind: str = ""
    apiVersion: str = ""
    items: list[msgspec.Raw] | None = None


_list = msgspec.json.Decoder(_List)
# By cluster: the kinds of its resources that are not built in, as its watches and earlier events name them.
_kinds: dict[int, dict[tuple[str, str], str]] = {}


def take(cluster_id: int, body: bytes, limits: Limits, most: int) -> Taken:
    """Store a list of audit events for the present source of a cluster. It is committed when this returns.

    `most` is how many packed bytes may wait. Raise NotAList, inbox.NotWatched and inbox.Full; then nothing is stored.
    """
    events = _events(body)
    skipped: list[str] = []
    observed = list(_observations(events, _known_kinds(cluster_id), limits, skipped))
    digest = inbox.digest_of(sha256(event).hexdigest() for event in events)  # a client may choose its auditID
    batch = inbox.Batch(digest, additions.packed(observed), len(events), len(skipped))
    new = inbox.accept(cluster_id, Way.AUDIT, batch, most)
    return Taken(len(events), len(skipped), new, skipped[0] if skipped else "")


def _events(body: bytes) -> list[msgspec.Raw]:
    try:
        listed = _list.decode(body)
    except (ValueError, RecursionError) as error:
        raise NotAList(f"It is not a list of audit events: {reason_of(error)}.") from None
    if listed.kind != "EventList" or not listed.apiVersion.startswith("audit.k8s.io/"):
        raise NotAList("It is not an EventList of audit.k8s.io.")
    events = listed.items or []
    if len(events) > EVENTS:
        raise NotAList(f"It has more than {EVENTS} events. Lower --audit-webhook-batch-max-size.")
    return events


def _observations(
    events: list[msgspec.Raw], kinds: dict[tuple[str, str], str], limits: Limits, skipped: list[str]
) -> Iterator[Observation]:
    """Yield what the events show, and add to `skipped` why some cannot be read."""
    lines = (_line(number, bytes(event), limits) for number, event in enumerate(events, 1))
    for each in read_events(lines, kinds):
        if isinstance(each, Skipped):
            skipped.append(f"event {each.line}: {each.reason}")
            continue
        clean = without_credentials(replace(each, place=None))  # the same event has another place in another batch
        assert not isinstance(clean, Mark | LogLine)
        if isinstance(clean, Entry) and clean.body and is_deeper(clean.body, limits.depth):
            skipped.append(TOO_DEEP)
        else:
            yield clean


def _line(number: int, event: bytes, limits: Limits) -> Line | Skipped:
    if len(event) > limits.line_bytes:
        return Skipped("", number, "it is longer than CAUSELINE_LINE_LIMIT_BYTES allows")
    return Line("", number, event)


def _known_kinds(cluster_id: int) -> dict[tuple[str, str], str]:
    """Return the kinds of the resources of a cluster that are known so far."""
    rows = Stream.objects.filter(source__current_of=cluster_id).values_list("group", "resource", "kind")
    if cluster_id not in _kinds:
        _kinds[cluster_id] = {}
    _kinds[cluster_id].update({(group, resource): kind for group, resource, kind in rows if kind})
    return _kinds[cluster_id]

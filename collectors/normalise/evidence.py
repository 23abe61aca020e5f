"""Read from the annotations of an audit event what the API server noted of the checks of a request: webhooks and
policies that were asked, and who was allowed. It does no I/O."""

import re
from functools import lru_cache

import msgspec

from collectors.normalise import is_present
from collectors.normalise.audit_event import AuditEvent
from timeline.core.entries import Annotations
from timeline.core.values import check_values

_SHORT = 1024  # bytes of annotations that are remembered
_VALUES = 10_000  # of the annotations of one event
_LONGEST = 4096  # characters of an annotation before it is redacted, which cuts it further
# See https://kubernetes.io/docs/reference/labels-annotations-taints/audit-annotations/. The patches of webhooks are
# not read, as they hold parts of objects.
_OF_REFUSALS = re.compile(
    r"(?:failed-open\.)?(?:mutation|validating|validation)\.webhook\.admission\.k8s\.io/round_\d{1,3}_index_\d{1,4}"
    r"|validation\.policy\.admission\.k8s\.io/[a-z_]{1,60}|pod-security\.kubernetes\.io/[a-z-]{1,60}"
    r"|authorization\.k8s\.io/(?:decision|reason)"
)
# Of a write that succeeded, what says that a check failed or changed it. It is clear that it was allowed.
_OF_CHANGES = re.compile(
    r"(?:failed-open|mutation)\..*|validation\.policy\..*|pod-security\.kubernetes\.io/audit-violations"
)
_UNCHANGED = re.compile(r'"mutated":\s*false')
_HINTS = (b"failed-open.", b"mutation.webhook.", b"validation.policy.", b"audit-violations")
_texts = msgspec.json.Decoder(dict[str, str] | None)


def annotations_of(event: AuditEvent, *, refused: bool) -> Annotations:
    """Return what the annotations of an event say of the checks of its request, sorted by name; () for most events.

    Raise ValueError if they say too much.
    """
    if not is_present(event.annotations):
        return ()
    text = bytes(event.annotations)
    return _read(text, refused) if len(text) <= _SHORT else _read.__wrapped__(text, refused)


@lru_cache(10_000)  # most events of a log have the same few annotations
def _read(text: bytes, refused: bool) -> Annotations:
    if not refused and not any(hint in text for hint in _HINTS):
        return ()
    check_values(text, _VALUES)
    found = sorted((_texts.decode(text) or {}).items())
    kept = [(name, said[:_LONGEST]) for name, said in found if said and _OF_REFUSALS.fullmatch(name)]
    if not refused:
        kept = [each for each in kept if _OF_CHANGES.fullmatch(each[0]) and not _UNCHANGED.search(each[1])]
    return tuple(kept)

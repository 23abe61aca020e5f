"""Read from events of an audit log what shows the knowledge of a client: which revisions its requests named, and the
requests that changed nothing. It does no I/O."""

import re
from urllib.parse import unquote_plus

import msgspec

from collectors.normalise import is_present
from collectors.normalise.audit_event import AuditEvent, ObjectReference, fill_timestamps, instant, latest, refusal_of
from collectors.normalise.evidence import annotations_of
from collectors.normalise.interning import Interner
from timeline.core.entries import FOREVER, WRITES, Place, Request, revision
from timeline.kinds import Metadata, kind_of, of_resource

READS = frozenset({"get", "list", "watch"})
UNKNOWN = "unknown"  # is noted for a resourceVersion in the address of a read that is no number
_REVIEWS = ("authentication.k8s.io", "authorization.k8s.io")  # their objects are answers, and are not kept
_LONGEST = 512  # characters of each selector that are kept
_REASON = re.compile(r"[A-Z][A-Za-z]{1,63}")
_MATCHES = ("Exact", "NotOlderThan")
_NO_METADATA = Metadata()


class _Metadata(msgspec.Struct, gc=False):
    resourceVersion: str | None = None


class _Preconditions(msgspec.Struct, gc=False):
    resourceVersion: str | None = None


class _Body(msgspec.Struct, gc=False):
    """Where a body names a revision: an object or list in its metadata, the options of a deletion in their
    preconditions."""

    metadata: _Metadata | None = None
    preconditions: _Preconditions | None = None


_body = msgspec.json.Decoder(_Body)


def named_revision(event: AuditEvent) -> int | None:
    """Return the resourceVersion that a write named as the one to be replaced; None if it named none.

    The API server refuses the write if that is not the latest. Of an update, it logs the revision in `objectRef` at
    every level; https://kubernetes.io/docs/reference/config-api/apiserver-audit.v1/ describes the fields.
    """
    if event.objectRef and event.objectRef.resourceVersion:
        return revision(event.objectRef.resourceVersion)
    return _revision_in(event.requestObject)


def request_of(event: AuditEvent, place: Place, interner: Interner) -> Request | None:
    """Return the request of an audit event that changed nothing: a refused write, or a read; or a creation whose
    object the event does not name. None for other events.

    A watch has two events: one when it starts, and one when it ends. Raise ValueError if the event cannot be used.
    """
    ref, verb = event.objectRef, event.verb
    starts = event.stage == "ResponseStarted" and verb == "watch"
    code = (event.responseStatus.code if event.responseStatus else None) or 0
    if ref is None or not ref.resource or not (starts or event.stage == "ResponseComplete"):
        return None
    if verb not in READS and (verb not in WRITES or "dryRun=" in event.requestURI):
        return None
    if verb in WRITES and code < 400 and not _creates_unnamed(event, ref, code):
        return None
    if not event.requestReceivedTimestamp or not event.stageTimestamp:
        fill_timestamps(event)
    if "/" in ref.apiVersion and not ref.apiGroup:  # v1alpha1
        ref.apiGroup, _, ref.apiVersion = ref.apiVersion.rpartition("/")
    reason = (event.responseStatus.reason if event.responseStatus else None) or ""
    if reason and not _REASON.fullmatch(reason):
        reason = ""
    kind = of_resource(ref.apiGroup, ref.resource)
    if kind is None:
        served = code != 404 or reason != ""  # else it is not known yet which kind will have this resource
        named = interner.kind_names.get((ref.apiGroup, ref.resource)) if served else None
        kind = kind_of(ref.apiGroup, named or ref.resource)
    text, reading = interner.text, verb in READS
    asked = parameters(event.requestURI.partition("?")[2][:4096]) if verb in ("list", "watch") else {}
    selectors = [asked[name][:_LONGEST] for name in ("labelSelector", "fieldSelector") if name in asked]
    since = asked.get("resourceVersion", "")
    match = asked.get("resourceVersionMatch", "")
    received = instant(event.requestReceivedTimestamp)
    return Request(
        interner.ref(ref, kind.kind, _NO_METADATA),
        text(verb),
        code,
        received,
        FOREVER if starts or not event.stageTimestamp else max(received, latest(event.stageTimestamp)),
        text(reason),
        None if reading else named_revision(event),
        _revision_in(event.responseObject) if reading and code < 300 else None,
        text(ref.subresource),
        since if since in ("", "0") or revision(since) else UNKNOWN,
        match if match in _MATCHES else "",
        asked.get("sendInitialEvents") == "true",
        verb == "patch" and "fieldManager=" in event.requestURI,
        ",".join(selectors),
        text(event.user.username),
        text(event.userAgent),
        interner.client(event),
        event.auditID,
        place,
        0,
        text(refusal_of(event)) if not reading and code >= 400 else "",
        annotations_of(event, refused=True) if not reading and code >= 400 else (),
    )


def _creates_unnamed(event: AuditEvent, ref: ObjectReference, code: int) -> bool:
    """Return whether a request created an object by generateName, and the event does not show the name."""
    created = event.verb == "create" and 200 <= code < 300 and not ref.name and not ref.subresource
    return created and not is_present(event.responseObject) and ref.apiGroup not in _REVIEWS


def parameters(query: str) -> dict[str, str]:
    """Return the parameters of an address, each with the first value that is not empty, as `parse_qs` reads them."""
    found: dict[str, str] = {}
    for part in query.split("&"):
        name, _, value = part.partition("=")
        if value:
            if "%" in part or "+" in part:
                name, value = unquote_plus(name), unquote_plus(value)
            found.setdefault(name, value)
    return found


def _revision_in(body: msgspec.Raw) -> int | None:
    """Return the revision that a body names; None if there is no body, or if it names none."""
    if not is_present(body):
        return None
    try:
        named = _body.decode(body)
    except msgspec.ValidationError:
        return None  # a patch that is a list, or an object whose metadata is something else
    metadata, preconditions = named.metadata, named.preconditions
    return revision(metadata.resourceVersion if metadata else preconditions.resourceVersion if preconditions else None)

"""Define what collectors observe: entries (changes of objects), requests that changed nothing, lines of the logs of
programs, and marks (how complete a watch is).

It is pure. Times are whole microseconds since 1970, UTC. Resource versions are Python integers, since they may exceed
64 bits.
"""

from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import lru_cache
from typing import Any

import msgspec

WRITES = ("create", "update", "patch", "delete", "deletecollection")
"""The verbs of requests that change objects."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MOST = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)


def microseconds(moment: datetime) -> int:
    """Return the whole microseconds since 1970, without the rounding of a float. `moment` must have a time zone."""
    return (moment - _EPOCH) // timedelta(microseconds=1)


def moment(since_1970: int) -> datetime:
    """Return the UTC datetime of a time in microseconds since 1970: the inverse of `microseconds`.

    What lies beyond the years 1970 to 9999 becomes the beginning or the end of these years, since sums of times that
    were within them may leave them.
    """
    return _EPOCH + timedelta(microseconds=min(max(0, since_1970), _MOST))


def revision(text: str | None) -> int | None:
    """Return a resourceVersion as a number that can be compared, as KEP-5504 allows. Return None for any text other
    than decimal digits without a leading zero, and for numbers that need more than 128 bits."""
    if not text or len(text) > _REVISION_DIGITS or text[0] == "0":
        return None
    return int(text) if text.isascii() and text.isdecimal() else None


_REVISION_DIGITS = 39  # as many as 128 bits need, the widest that the KEP names


class ObjectRef(msgspec.Struct, frozen=True, gc=False):
    """The identity of an object, with the fields that the findings document has. `group` is "" for the core API group,
    and `namespace` is "" for cluster-scoped objects."""

    group: str
    version: str
    kind: str
    namespace: str
    name: str
    uid: str = ""


class Change(StrEnum):
    """What happened to an object, as far as an observation can say it."""

    CREATED = "created"
    MODIFIED = "modified"
    DELETED = "deleted"
    OBSERVED = "observed"  # nothing: a list, or the start of a watch, showed the object as an earlier change left it


class Clock(StrEnum):
    """The clocks from which the times of an entry can come."""

    AUDIT = "audit"  # the audit log: the API server's time before and after the commit, in microseconds
    OBJECT = "object"  # a field of the object: the API server's time before the commit, in whole seconds


WRITER = 253  # the most characters of who made a change; a database index holds it


def writer(actor: str | None, user_agent: str | None) -> str:
    """Return who made a change: the account `actor`, or else the program that the user agent names, such as "kubelet";
    "" if neither is known. NUL characters, which PostgreSQL does not accept, are replaced."""
    return _writer((actor or "")[:WRITER], (user_agent or "")[:WRITER])


@lru_cache(4096)  # a source has few writers and many writes; both are cut before, as clients choose their user agents
def _writer(actor: str, user_agent: str) -> str:
    return (actor or user_agent.partition("/")[0].partition(" ")[0]).replace("\0", "\ufffd")


class Level(StrEnum):
    """How much of a change an observation can show. The values are the levels of an audit policy."""

    METADATA = "Metadata"  # only that the change happened
    REQUEST = "Request"  # also the body of the request
    FULL = "RequestResponse"  # also the object after the change


FOREVER = 2**62  # the value of `Entry.staged` where no clock gives an upper bound for the time of the commit


class Facts(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """The part of an object's state that is kept for every kind. Each kind adds the fields that rules and drawing need.

    Times are microseconds since 1970, in whole seconds of the API server's clock. A time that is not set is 0.
    """

    created: int = 0  # creationTimestamp, which is earlier than the commit
    deleting: bool = False  # deletionTimestamp is set
    asked: int = 0  # when the deletion was requested: deletionTimestamp minus the grace period
    finalizers: tuple[str, ...] = ()
    generation: int = 0
    at_once: bool = False  # the grace period is 0; then `asked` may be the time of a second request to delete it
    other_owners: tuple[str, ...] = ()  # kind and name of the ownerReferences besides `Entry.owner`: "Widget/a"


class Owner(msgspec.Struct, frozen=True, gc=False):
    """The ownerReference of the controller, or the only ownerReference."""

    group: str
    version: str
    kind: str
    name: str
    uid: str


class Place(msgspec.Struct, frozen=True, gc=False):
    """Where an entry was read: the file, by the name that the user gave, and the line, counted from 1."""

    file: str
    line: int


class Client(msgspec.Struct, frozen=True, omit_defaults=True, gc=False, rename="camel"):
    """The process that sent a request, as far as the audit log shows it.

    A Pod is known by the token that was bound to it (KEP-1205). `address` holds the source addresses of the request,
    with a comma between them if it came through proxies; anybody on the way can have written them. Without any of this,
    it is false.
    """

    address: str = ""
    pod: str = ""
    pod_uid: str = ""
    node: str = ""

    def __bool__(self) -> bool:
        return bool(self.address or self.pod_uid)


# What somebody wants of an object: sorted pairs of aspect and value (see `timeline.core.intent`).
Intent = tuple[tuple[str, str], ...]

# What the API server noted of the checks of a request: sorted pairs of name and text (see `normalise.evidence`).
Annotations = tuple[tuple[str, str], ...]

_WITHIN = 999_999  # µs that a time can lose at most when it is cut to a whole second


class Entry(msgspec.Struct, frozen=True, gc=False):
    """One observed change of one object.

    The change was committed between `received` and `staged`, in microseconds since 1970; `staged` is FOREVER where
    nothing bounds the time. `resource_version` is the revision of this change, or None where the observation does not
    show it (level Metadata, a Status response, a deletion that repeats the old revision). `replaces` is the revision
    that the change surely replaced, where the writer named it. `facts` is the whole state after the change, and `sets`
    holds single facts that a partial body shows; both may be missing.
    """

    ref: ObjectRef
    change: Change
    resource_version: int | None
    clock: Clock
    received: int
    staged: int
    facts: Facts | None = None
    sets: tuple[tuple[str, Any], ...] = ()
    owner: Owner | None = None
    replaces: int | None = None
    level: Level = Level.FULL
    action: str = ""  # the subresource that was written: "status", "binding", …
    actor: str = ""
    user_agent: str = ""
    identity: str = ""  # the id of the observation itself (auditID)
    place: Place | None = None
    body: bytes = b""  # the redacted object as JSON; empty where bodies are not kept
    arrived: int = 0  # when a collector received it from a watch (µs, by the API server's clock); 0 without a watch
    # The process that sent the request; None without an audit log, and in what was stored before clients were kept.
    client: Client | None = None
    named: int | None = (
        None  # the revision that an update named, where it is unknown whether the update changed anything
    )
    intent: Intent | None = None  # what somebody wants of the object, read from its body when that is not kept
    misdated: int = 0  # the time that it states, if that lay in the future; then `received` is only a lower bound
    # The facts that are lists and that the write replaced as a whole, although it named no revision: "finalizers", …
    blind: tuple[str, ...] = ()
    annotations: Annotations = ()

    @property
    def writer(self) -> str:
        """Return who made the change: the account, or else the program; "" if nothing says it."""
        actor = self.actor
        return actor if 0 < len(actor) <= WRITER and "\0" not in actor else writer(actor, self.user_agent)

    @property
    def dated(self) -> bool:
        """Return whether `received` is near the time of the commit.

        It is not for modifications and deletions that a watch shows, because the object then carries only earlier
        times; except where its managedFields name who made the change, and when.
        """
        if self.misdated:
            return False
        return self.clock is Clock.AUDIT or self.change is Change.CREATED or self.user_agent != ""

    @property
    def near(self) -> int:
        """Return about when the change was committed, in microseconds since 1970: `received`, or, if the change arrived
        later from a watch, that time, but not more than a second after `received`."""
        if self.arrived <= self.received or self.change is Change.OBSERVED or not self.dated:
            return self.received
        return min(self.arrived, self.received + _WITHIN)

    @property
    def undated(self) -> int:
        """Return when the change arrived from a watch if nothing else shows when it was committed; else 0."""
        return 0 if self.change is Change.OBSERVED or self.dated else self.arrived


class MarkType(StrEnum):
    """What the watch of a kind can report besides changes."""

    LISTED = "listed"  # the list is complete: every object that existed at its revision was reported before this mark
    BOOKMARK = "reached"  # every change up to a revision was reported before this mark
    GAP = "gap"  # nothing is known of the time from (since, since_revision) until (time, revision)
    TOGETHER = "together"  # a comparison showed that this kind and `other` share one counter of revisions
    APART = "apart"  # a comparison showed that they have different counters
    FREED = "freed"  # of all kinds: what was observed between `since` and `time` was deleted since by retention


class Mark(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """One report of the watch of a kind that is not a change. Its times are by the clock of `Entry.arrived`."""

    group: str
    version: str
    kind: str
    what: MarkType
    time: int
    revision: int | None = None
    since: int = 0
    since_revision: int | None = None
    reason: str = ""  # of a gap, as a sentence
    other: str = ""  # the kind with which this one was compared, as `kinds.qualified` names it
    namespace: str = ""  # the only namespace that the watch shows; "" if it shows all, or the kind has none


_READS = frozenset({"get", "list", "watch"})


class Request(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """One request that is not known to have changed an object, but shows what its client knew: a write that the API
    server refused, a write after which the object was as before, or a read. It may also be the creation of an object
    whose name the log does not show, or a write that only an AdmissionReview shows, so that nobody knows whether it was
    committed (`code` is 0).

    It was received and answered between `received` and `staged`, in microseconds since 1970. A watch is answered when
    it ends; `staged` is FOREVER as long as no line of the log shows its end. `ref` has an empty name if the request is
    about all objects of a kind.

    The fields `since`, `match`, `initial` and `selector` are those of the address of a list or a watch. `since` is the
    text of its resourceVersion: "" asks for the newest state, "0" for any.
    """

    ref: ObjectRef
    verb: str  # get, list, watch, create, update, patch, delete, deletecollection, or "write" for any of these
    code: int  # the HTTP status; 0 if the log does not have it
    received: int
    staged: int = FOREVER
    reason: str = ""  # of a refusal: Conflict, AlreadyExists, NotFound, Expired, …
    named: int | None = None  # the revision of the object that a write named as the one to be replaced
    answered: int | None = None  # the revision of the object that answered a get
    action: str = ""  # the subresource: "status", "scale", …
    since: str = ""
    match: str = ""  # resourceVersionMatch
    initial: bool = False  # sendInitialEvents
    applied: bool = False  # whether a patch named its field manager, as a server-side apply has to
    selector: str = ""  # labelSelector and fieldSelector
    actor: str = ""
    user_agent: str = ""
    client: Client | None = None
    identity: str = ""  # the id of the observation itself (auditID)
    place: Place | None = None
    misdated: int = 0  # as in `Entry`
    # What the API server said of a refusal; "" where that only repeats the reason and the object.
    message: str = ""
    annotations: Annotations = ()

    @property
    def refused(self) -> bool:
        """Return whether the API server refused the request."""
        return self.code >= 400

    @property
    def reviewed(self) -> bool:
        """Return whether only an AdmissionReview shows this write, so that it may not have been committed."""
        return not self.code and self.verb not in _READS


class Unknown(StrEnum):
    """What may be unknown about the time of a line of a log."""

    NOTHING = ""
    ZONE = "zone"  # the line has a date and a time, which are taken for UTC
    AGE = "age"  # the line says only how long ago it was; `LogLine.time` is the latest time that it may have
    YEAR = "year"  # the line has neither year nor zone, as klog writes it
    DATE = "date"  # the line has only a time of day


# The year of a time whose line has none, and nothing else either: it has a 29th of February. If only the date is
# unknown, the days are counted from the first of this year, as the times of day of the file show that days pass.
UNDATED_YEAR = 1972


class LogLine(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """One line of the log of a program, such as a controller in a container. It says nothing certain about an object:
    it shows what the program wrote, by the program's own clock.

    `log` names the log: "namespace/pod/container" as far as that is known, else the file.
    """

    log: str
    time: int  # µs since 1970
    text: str  # without its time and level
    level: str = ""  # "trace", "debug", "info", "warning", "error" or "fatal"; "" if the line does not say it
    unknown: Unknown = Unknown.NOTHING
    # What the text names: "namespace/name", or "*/name" without a namespace; after "kind/" if the text says the kind.
    objects: tuple[str, ...] = ()
    place: Place | None = None
    misdated: int = 0  # the time that it states, if that lay in the future


Observation = Entry | Mark | Request | LogLine

"""Write the audit trail of Causeline itself: one row for each thing that somebody did or saw.

What changes something is recorded each time. What reads is recorded once for each person, address, thing and ten
minutes, and so is what nobody who is known was refused, because anybody can send such requests. The record of a
change is written in the transaction that makes it, and that of a reading before the first byte of the answer is sent;
`dashboard.access.trail.change_log` calls this module.

If a record cannot be written, it is logged as an error with all its fields, and what it is about is not changed. The
record of a reading is committed without waiting for the disk: if PostgreSQL itself crashes, those of its last second
may be missing.
"""

import json
import logging
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from threading import Lock
from time import time
from typing import Any, NamedTuple

from django.conf import settings
from django.db import DatabaseError, connection, transaction
from django.db.models import QuerySet
from django.utils import timezone
from structlog.contextvars import get_contextvars

from dashboard.access.roles import grants
from dashboard.access.trail.audit_lines import AuditLine
from dashboard.models import AuditRecord
from timeline.core.printable import escaped

logger = logging.getLogger("causeline.trail")
OFTEN_SECONDS = 600  # a reading is recorded once in this time
SENT_SECONDS = 3600  # and what API servers and collectors send all day
WAYS = ("account", "start-up token", "anybody", "token", "link", "view", "command", "nobody")
_REMEMBERED = 50_000  # readings that a process remembers to have recorded
_BATCH = 5_000  # records that are deleted or read at once
_LONGEST = 200  # characters of a value
_INSERT = """
INSERT INTO dashboard_auditrecord (at, action, who, way, account, role, source, cluster, thing, name, address, request,
    outcome, status, details, once)
SELECT clock_timestamp(), %(action)s, %(who)s, %(way)s, %(account)s, %(role)s, %(source)s, %(cluster)s, %(thing)s,
    coalesce(nullif(%(name)s, ''), (SELECT name FROM timeline_source WHERE id = %(source)s),
        (SELECT name FROM timeline_cluster WHERE id = %(cluster)s), ''),
    %(address)s, %(request)s, %(outcome)s, %(status)s, %(details)s, %(once)s
ON CONFLICT (once) DO NOTHING
"""


class Actor(NamedTuple):
    """Who did something, and how they came in."""

    who: str
    way: str  # one of WAYS
    account: int | None = None  # User.id
    role: str = ""


NOBODY = Actor("", "nobody")


class _Recent:
    """Remember what this process has recorded in the present hour, of what is recorded only once in a while."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._period = 0
        self._keys: set[bytes] = set()

    def is_new(self, key: bytes) -> bool:
        period = int(time()) // SENT_SECONDS
        with self._lock:
            if period != self._period or len(self._keys) >= _REMEMBERED:
                self._period, self._keys = period, set()
            if key in self._keys:
                return False
            self._keys.add(key)
            return True

    def forget(self, key: bytes) -> None:
        with self._lock:
            self._keys.discard(key)


recent = _Recent()


def record(
    action: str,
    actor: Actor,
    *,
    source: int | None = None,
    cluster: int | None = None,
    thing: str = "",
    name: str = "",
    address: str = "",
    outcome: str = "done",
    status: int | None = None,
    details: Mapping[str, object] | None = None,
    often: bool = False,
    seconds: int = OFTEN_SECONDS,
    must: bool = False,
) -> None:
    """Write a record. Inside a transaction, it is part of it. With `must`, raise DatabaseError if it cannot be written.

    `often` is for what may be repeated at any rate: it is written once in so many seconds, and without waiting for the
    disk.
    """
    fields: dict[str, Any] = {
        "action": action,
        "who": cut(actor.who),
        "way": actor.way,
        "account": actor.account,
        "role": actor.role,
        "source": source,
        "cluster": cluster,
        "thing": cut(thing),
        "name": cut(name),
        "address": cut(address),
        "request": str(get_contextvars().get("request_id", "")),
        "outcome": outcome,
        "status": status,
        "details": json.dumps(
            {key: value if isinstance(value, int) else cut(str(value)) for key, value in (details or {}).items()}
        ),
        "once": None,
    }
    if often:
        period = int(time()) // seconds
        same = [fields[key] for key in fields if key not in {"request", "status", "once", "role"}]
        fields["once"] = sha256(json.dumps([period, *same]).encode()).digest()
        if not recent.is_new(fields["once"]):
            return
    own = not connection.in_atomic_block  # else the setting would hold for what the caller commits, too
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            if often and own:
                cursor.execute("SET LOCAL synchronous_commit = off")
            cursor.execute(_INSERT, fields)
    except DatabaseError as error:
        recent.forget(fields["once"] or b"")
        logger.error(
            "a record of the audit trail could not be stored: %r %s", error, json.dumps(fields | {"once": None})
        )
        if must:
            raise


def cut(text: str) -> str:
    """Return the beginning of a text, as much as a record keeps, without what PostgreSQL cannot store."""
    text = text.replace("\0", "").encode("utf-8", "replace").decode()
    return f"{text[:_LONGEST]}…" if len(text) > _LONGEST else text


def actor_of(user: Any, source: int | None = None) -> Actor:
    """Return who a user is, with the role on the source, or if there is none with the highest on anything."""
    if isinstance(given := getattr(user, "actor", None), Actor):
        return given
    if not settings.LOGIN_REQUIRED and not settings.TOKEN_REQUIRED:
        return Actor("anybody", "anybody", role="admin")
    if not getattr(user, "is_authenticated", False):
        return NOBODY
    if settings.TOKEN_REQUIRED:
        return Actor("start-up token", "start-up token", role="admin")
    held = grants.held_by(user)
    role = (held.on_source(source) if source is not None else "") or held.anywhere
    return Actor(user.get_username(), "account", user.pk, role)


class Wanted(NamedTuple):
    """Which records are listed. Empty texts and None stand for all."""

    who: str = ""
    action: str = ""
    name: str = ""
    thing: str = ""
    source: int | None = None
    cluster: int | None = None
    since: datetime | None = None
    until: datetime | None = None


def matching(wanted: Wanted) -> QuerySet[AuditRecord]:
    """Return the records that match, the newest first."""
    rows = AuditRecord.objects.order_by("-id")
    given = {key: value for key, value in wanted._asdict().items() if value not in ("", None)}
    names = {"since": "at__gte", "until": "at__lt"}
    return rows.filter(**{names.get(key, key): value for key, value in given.items()})


def lines(wanted: Wanted, *, alive: Callable[[], bool] = lambda: True) -> Iterator[bytes]:
    """Yield the records that match as lines of JSON, the oldest first. No transaction is held between two batches."""
    rows, last = matching(wanted).order_by("id"), 0
    while alive() and (batch := list(rows.filter(pk__gt=last)[:_BATCH])):
        last = batch[-1].pk
        yield b"".join(escaped(json.dumps(line(each), ensure_ascii=False)).encode() + b"\n" for each in batch)


def line(row: AuditRecord) -> AuditLine:
    return {
        "schema": "causeline.audit/v1",
        "id": row.pk,
        "at": f"{row.at.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%fZ}",
        "action": row.action,
        "who": row.who,
        "way": row.way,
        "account": row.account,
        "role": row.role,
        "source": row.source,
        "cluster": row.cluster,
        "thing": row.thing,
        "name": row.name,
        "address": row.address,
        "request": row.request,
        "outcome": row.outcome,  # type: ignore[typeddict-item]
        "status": row.status,
        "details": row.details,
    }


def forget() -> int:
    """Delete the records that are older than CAUSELINE_AUDIT_DAYS, and return how many there were."""
    before = timezone.now() - timedelta(days=settings.AUDIT_DAYS)
    gone = 0
    while True:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET LOCAL causeline.forgetting = 'on'")  # else the database refuses to delete
            cursor.execute(
                "DELETE FROM dashboard_auditrecord WHERE id IN "
                "(SELECT id FROM dashboard_auditrecord WHERE at < %s ORDER BY at LIMIT %s)",
                [before, _BATCH],
            )
            deleted = int(cursor.rowcount)
        gone += deleted
        if deleted < _BATCH:
            return gone

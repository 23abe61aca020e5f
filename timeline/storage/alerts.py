"""Write alerts. What is stored does not depend on the order in which notifications come.

All notifications of one alert are ordered: one that says when it ended is greater than one that does not, a later end
is greater than an earlier one, and else their texts decide. The row of the alert is the greatest of them. So an alert
that is sent again is one row, and one that was resolved stays so, whatever comes when and how often.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import connection, transaction

from timeline.models import Alert
from timeline.storage import notify
from timeline.storage.copying import as_json

_COLUMNS = "name, source, cluster, namespace, objects_named, labels, annotations, url, fingerprint, ended"
_GREATEST = 'ended DESC NULLS LAST, labels DESC, annotations DESC, url COLLATE "C" DESC'
_STORE = f"""
    INSERT INTO timeline_alert AS stored (receiver, identity, started, seen, {_COLUMNS})
    SELECT DISTINCT ON (identity) %(receiver)s, identity, started, %(now)s, {_COLUMNS}
    FROM jsonb_to_recordset(%(rows)s::jsonb) AS sent (
        identity text, started timestamptz, name text, source bigint, cluster text, namespace text,
        objects_named text[], labels jsonb, annotations jsonb, url text, fingerprint text, ended timestamptz)
    ORDER BY identity, {_GREATEST}
    ON CONFLICT (receiver, identity) DO UPDATE SET
        seen = greatest(stored.seen, excluded.seen),
        ({_COLUMNS}) = (
            SELECT {_COLUMNS} FROM (SELECT stored.* UNION ALL SELECT excluded.*) AS known
            ORDER BY {_GREATEST} LIMIT 1)"""
_AT_ONCE = 10_000  # rows that are deleted in one transaction


def store(receiver: str, rows: Sequence[Mapping[str, Any]], now: datetime) -> None:
    """Store notifications as mappings of the columns of `Alert`, with one statement; times are written as RFC 3339.

    Two batches with the same alerts wait for each other and do not block each other, as rows are locked in one order.
    """
    if not rows:
        return
    values: dict[str, Any] = {"receiver": receiver, "now": now, "rows": as_json(rows)}
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(_STORE, values)
        notify.notify(alerts=len(rows))


def forget(now: datetime) -> int:
    """Delete alerts that nobody has sent for as long as alerts are kept, and the oldest ones if they are too many;
    return how many were deleted. As many as came together with the oldest one that is kept may stay, too."""
    before = now - timedelta(days=settings.ALERT_DAYS)
    newest = Alert.objects.order_by("-seen").values_list("seen", flat=True)
    if (first := next(iter(newest[settings.ALERT_COUNT - 1 : settings.ALERT_COUNT]), None)) is not None:
        before = max(before, first)
    count = 0
    while True:
        query = """
            DELETE FROM timeline_alert WHERE (receiver, identity) IN (
                SELECT receiver, identity FROM timeline_alert WHERE seen < %s LIMIT %s)"""
        with connection.cursor() as cursor:
            cursor.execute(query, [before, _AT_ONCE])
            deleted = int(cursor.rowcount)
        count += deleted
        if deleted < _AT_ONCE:
            return count

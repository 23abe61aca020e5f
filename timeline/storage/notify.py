"""Tell every process that something is committed: NOTIFY, so that a push never runs ahead of its data."""

import json

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper

CHANNEL = "causeline"


def notify(connection: BaseDatabaseWrapper | None = None, **ids: int) -> None:
    """Sent when the transaction commits. Ids only: a payload may have 8000 bytes."""
    with (connection or connections["default"]).cursor() as cursor:
        cursor.execute("SELECT pg_notify(%s, %s)", [CHANNEL, json.dumps(ids)])

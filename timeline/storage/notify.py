"""Tell every process that something is committed: NOTIFY, so that a push never runs ahead of its data."""

import json

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper

CHANNEL = "causeline"


def notify(connection: BaseDatabaseWrapper | None = None, **ids: int) -> None:
    """Notify with ids only, since a payload has 8000 bytes at most. It is sent when the transaction commits."""
    with (connection or connections["default"]).cursor() as cursor:
        cursor.execute("SELECT pg_notify(%s, %s)", [CHANNEL, json.dumps(ids)])

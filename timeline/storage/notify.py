"""This module notifies every process that something was committed, with PostgreSQL's NOTIFY.

NOTIFY takes effect with the commit, so no process is notified before it can read the data.
"""

import json

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper

CHANNEL = "causeline"


def notify(connection: BaseDatabaseWrapper | None = None, **ids: int) -> None:
    """Send a notification when the current transaction commits.

    It has only ids, such as `source=3`, because its payload is limited to 8000 bytes.
    """
    with (connection or connections["default"]).cursor() as cursor:
        cursor.execute("SELECT pg_notify(%s, %s)", [CHANNEL, json.dumps(ids)])

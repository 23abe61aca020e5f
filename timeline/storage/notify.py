"""Notify every process that something was committed, with PostgreSQL's NOTIFY.

NOTIFY takes effect with the commit, so no process is notified before it can read the data.
"""

import json
from collections.abc import Collection

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper

CHANNEL = "causeline"


_MOST = 50  # namespaces that a notification names


def notify(
    connection: BaseDatabaseWrapper | None = None, *, namespaces: Collection[str] | None = None, **ids: int
) -> None:
    """Send a notification when the current transaction commits.

    It has only ids, such as `source=3`, and the few namespaces that it is about, because its payload is limited to 8000
    bytes. If they are many, or not given, it is about any namespace.
    """
    about = {} if namespaces is None or len(namespaces) > _MOST else {"namespaces": sorted(namespaces)}
    with (connection or connections["default"]).cursor() as cursor:
        cursor.execute("SELECT pg_notify(%s, %s)", [CHANNEL, json.dumps({**ids, **about})])

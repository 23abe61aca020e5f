"""Decide by which address a process reaches PostgreSQL if there is a pooler.

PgBouncer in transaction mode gives a client a session of PostgreSQL for one transaction only. Listening, leases,
locks of a session and `pg_stat_activity` need one for longer. Only the number of sessions of web processes grows with
the number of people, so only web processes use the pooler, and they listen by the direct address.
"""

from typing import Any

from django.conf import settings
from django.db import connections

_direct: dict[str, Any] = {}  # how Django describes the direct address; empty if this process uses no pooler


def use_pooler() -> None:
    """Make all connections that this process opens from now on lead to the pooler, if there is one."""
    if settings.POOLER:
        described = connections.settings["default"]
        _direct.update(described)
        described.update(settings.POOLER)


def keep_sessions() -> None:
    """Keep the sessions that this process opens from now on for its next requests (see `storage.engine`)."""
    connections.settings["default"]["ENGINE"] = "timeline.storage.engine"


def direct_parameters() -> dict[str, Any]:
    """Return the parameters of psycopg's `connect` for a session that belongs to its caller until it is closed."""
    wrapper = connections.create_connection("default")
    wrapper.settings_dict = {**wrapper.settings_dict, **_direct}
    parameters: dict[str, Any] = wrapper.get_connection_params()
    return {name: value for name, value in parameters.items() if name not in {"cursor_factory", "context"}}

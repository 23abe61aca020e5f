"""Keep sessions of PostgreSQL open between requests. Django loads this module as an engine.

A request is served in a thread of its own, so Django would open a session for each, and close it at the end. To open
one takes PostgreSQL and this process more time than to answer most requests, since a new session knows nothing of the
tables yet. What an earlier request has set ends with its transaction, so the next one may use the same session.
"""

import queue
import select
import time
from typing import Any, NamedTuple

from django.db.backends.postgresql import base
from psycopg.pq import TransactionStatus

MOST = 4  # sessions that wait for a request; more are closed
AGE = 600.0  # seconds for which a session is used, because what it knows of tables takes memory


class Session(NamedTuple):
    """A session that may be used again."""

    connection: Any
    parameters: dict[str, Any]  # with which it was opened
    opened: float  # by `time.monotonic`

    @property
    def is_usable(self) -> bool:
        """Whether it is young, in no transaction, and not known to be broken. A server that has ended a session has
        written to it, and nothing else is written to one that waits."""
        if self.connection.closed or time.monotonic() - self.opened > AGE:
            return False
        if self.connection.info.transaction_status != TransactionStatus.IDLE:
            return False
        written = select.poll()
        written.register(self.connection.fileno(), select.POLLIN)
        return not written.poll(0)


waiting: queue.LifoQueue[Session] = queue.LifoQueue(MOST)


class DatabaseWrapper(base.DatabaseWrapper):
    """Django's wrapper of a session, which comes from an earlier request and goes to a later one."""

    _opened = 0.0

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        while not waiting.empty():
            try:
                session = waiting.get_nowait()
            except queue.Empty:  # another thread has taken the last one
                break
            if session.parameters == conn_params and session.is_usable:
                self._opened = session.opened
                return session.connection
            session.connection.close()
        self._opened = time.monotonic()
        return super().get_new_connection(conn_params)

    def _close(self) -> None:
        if self.connection is None:
            return
        session = Session(self.connection, self.get_connection_params(), self._opened)
        try:
            if session.is_usable:
                waiting.put_nowait(session)
                return
        except queue.Full:
            pass
        super()._close()  # type: ignore[misc]

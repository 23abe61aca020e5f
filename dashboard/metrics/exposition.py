"""Write the page `/metrics`, and serve it on a port of its own where one is set."""

import threading
import time
from collections.abc import Iterator

from django.db import close_old_connections
from prometheus_client import generate_latest, start_http_server
from prometheus_client.core import CollectorRegistry, Metric

from dashboard.metrics import processes, state

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
CACHED = 2.0  # seconds for which the answers of the database are used again
_lock = threading.Lock()
_cached: tuple[float, list[Metric]] = (-CACHED, [])


class Everything:
    """Return all metrics of Causeline, as a collector of prometheus-client."""

    def collect(self) -> Iterator[Metric]:
        """Return every metric. Raises DatabaseError."""
        global _cached
        with _lock:
            read, metrics = _cached
            if time.monotonic() - read >= CACHED:
                processes.report("web")
                metrics = [*processes.collect(), *state.collect()]
                _cached = time.monotonic(), metrics
        yield from metrics

    def describe(self) -> list[Metric]:
        """Return nothing, so that registering does not read the database."""
        return []


class _FromThreads(Everything):
    """The same collector for the server of the port, which answers each scrape in a thread of its own."""

    def collect(self) -> Iterator[Metric]:
        close_old_connections()
        try:
            yield from super().collect()
        finally:
            close_old_connections()


def text() -> bytes:
    """Return the page. Raises DatabaseError."""
    registry = CollectorRegistry()
    registry.register(Everything())
    return generate_latest(registry)


def serve(host: str, port: int) -> None:
    """Serve the page on a port of its own, in threads of this process. Raises OSError where the port is taken."""
    registry = CollectorRegistry()
    registry.register(_FromThreads())
    start_http_server(port, host, registry)

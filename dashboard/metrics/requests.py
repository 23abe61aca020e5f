"""Measure requests and open sockets of a web process."""

import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from prometheus_client import Counter, Gauge, Histogram

from timeline.metrics import REGISTRY

ROUTE = "causeline.route"  # the key of the ASGI scope: a dictionary whose `route` the middleware fills in
METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
Send = Callable[[Any], Awaitable[None]]

REQUESTS = Counter(
    "causeline_http_requests",
    "Requests that were answered, by the pattern of their route.",
    ["method", "route", "status"],
    registry=REGISTRY,
)
SECONDS = Histogram(
    "causeline_http_request_seconds",
    "Time from the head of a request to the end of its answer.",
    ["method", "route"],
    buckets=(0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60),
    registry=REGISTRY,
)
SOCKETS = Gauge("causeline_sockets", "WebSockets that are open.", ["path"], registry=REGISTRY)
ALERTS = Counter(
    "causeline_alerts_received",
    "Notifications of alerts that were stored, by their form. One alert is notified again and again.",
    ["form"],
    registry=REGISTRY,
)
WAITING_MESSAGES = Gauge(
    "causeline_push_waiting_messages",
    "Messages that wait for slow browsers, in all queues of the push.",
    ["topic"],
    registry=REGISTRY,
)


class Measured:
    """An ASGI application whose requests and sockets are counted."""

    def __init__(self, application: Callable[..., Awaitable[None]]) -> None:
        self._application = application

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Send) -> None:
        if scope["type"] == "http":
            await self._measure_request(scope, receive, send)
        elif scope["type"] == "websocket":
            await self._measure_socket(scope, receive, send)
        else:
            await self._application(scope, receive, send)

    async def _measure_request(self, scope: dict[str, Any], receive: Any, send: Send) -> None:
        about: dict[str, str] = {}
        status = "none"  # the browser went away before an answer
        began = time.perf_counter()

        async def answer(message: Mapping[str, Any]) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = str(message["status"])
            await send(message)

        try:
            await self._application({**scope, ROUTE: about}, receive, answer)
        finally:
            method = scope["method"] if scope["method"] in METHODS else "other"
            route = about.get("route") or ("static" if scope["path"].startswith("/static/") else "unmatched")
            REQUESTS.labels(method, route, status).inc()
            SECONDS.labels(method, route).observe(time.perf_counter() - began)

    async def _measure_socket(self, scope: dict[str, Any], receive: Any, send: Send) -> None:
        gauge = SOCKETS.labels("uploads" if scope["path"] == "/ws/uploads/" else "source")
        opened = False

        async def answer(message: Mapping[str, Any]) -> None:
            nonlocal opened
            if message["type"] == "websocket.accept" and not opened:
                opened = True
                gauge.inc()
            await send(message)

        try:
            await self._application(scope, receive, answer)
        finally:
            if opened:
                gauge.dec()


def note_route(scope: Mapping[str, Any], route: str) -> None:
    """Remember which route a request has matched, such as `sources/<int:source_id>/`."""
    scope.get(ROUTE, {})["route"] = f"/{route}"

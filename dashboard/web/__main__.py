"""`python -m dashboard.web` serves the pages, the API and the sockets with uvicorn, and cuts off slow requests.

uvicorn waits for a client that sends a request byte by byte, which holds a connection and a task. Here the head of a
request has to arrive within seconds, and its body at a minimum speed, which is measured again and again. So a large
upload on a slow line may go on for hours.
"""

import argparse
import asyncio
import sys
from typing import Any

import uvicorn
from django.conf import settings
from uvicorn.config import STARTUP_FAILURE
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

HEAD_SECONDS = 10.0
HEAD_BYTES = 64 * 1024
BODY_SECONDS = 20.0  # over which the speed of a body is measured
BODY_RATE = 500  # bytes a second, at least
MESSAGE_BYTES = 64 * 1024  # of a WebSocket; browsers only listen there


class ImpatientProtocol(HttpToolsProtocol):
    """Limit the time that a request takes to arrive. Time in which the server does not read is not counted."""

    _part = "head"  # of a request that is expected: "head", "body", or "" between two requests
    _since = 0.0  # when the head began, or when the speed of the body was measured last
    _bytes = 0  # since then
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._expect("head")
        self._look_again()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_looking()
        super().connection_lost(exc)

    def handle_websocket_upgrade(self) -> None:
        self._stop_looking()
        super().handle_websocket_upgrade()

    def data_received(self, data: bytes) -> None:
        if not self._part:
            self._expect("head")
        self._bytes += len(data)
        super().data_received(data)
        if self._part == "head" and self._bytes > HEAD_BYTES:
            self._cut_off(431, "The head of the request is too long.")

    def on_message_begin(self) -> None:
        self._expect("head")
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._expect("body")
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._part = ""
        super().on_message_complete()

    def _expect(self, part: str) -> None:
        self._part, self._since, self._bytes = part, self.loop.time(), 0

    def _look_again(self) -> None:
        self._timer = self.loop.call_later(min(HEAD_SECONDS, BODY_SECONDS) / 4, self._look)

    def _stop_looking(self) -> None:
        if self._timer:
            self._timer.cancel()

    def _look(self) -> None:
        """Cut the request off if it arrives too slowly."""
        took = self.loop.time() - self._since
        waits = bool(self.cycle and self._part == "body" and self.cycle.waiting_for_100_continue)
        if self.flow.read_paused or waits:
            self._expect(self._part)
        elif self._part == "head" and took > HEAD_SECONDS:
            self._cut_off(408, "The request did not arrive in time.")
        elif self._part == "body" and took > BODY_SECONDS:
            if self._bytes < BODY_RATE * took:
                self._cut_off(408, "The request arrives too slowly.")
            self._expect("body")
        if not self.transport.is_closing():
            self._look_again()

    def _cut_off(self, status: int, detail: str) -> None:
        if self.transport.is_closing():
            return
        answering = self.cycle and self.cycle.response_started and not self.cycle.response_complete
        if not answering and not self.pipeline:
            head = f"content-type: text/plain\r\ncontent-length: {len(detail)}\r\nconnection: close\r\n\r\n"
            self.transport.write(STATUS_LINE[status] + head.encode() + detail.encode())
        self.transport.close()


OPTIONS: dict[str, Any] = {
    "http": ImpatientProtocol,
    "ws_max_size": MESSAGE_BYTES,
    "ws_per_message_deflate": False,  # each socket would compress the same message again
    "server_header": False,
    "proxy_headers": False,  # dashboard.asgi reads those of the proxies that are named
    "log_config": None,  # Django's is used
    "timeout_graceful_shutdown": 2,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    options = parser.parse_args()
    config = uvicorn.Config("dashboard.asgi:application", host=options.host, port=options.port, **OPTIONS)
    config.load()
    from dashboard.metrics import exposition, processes  # these need Django, which the line above loads
    from timeline.storage import sessions

    sessions.keep_sessions()
    processes.start("web")
    if settings.METRICS_PORT:
        exposition.serve(settings.METRICS_HOST, settings.METRICS_PORT)
    server = uvicorn.Server(config)
    server.run()
    if not server.started:
        sys.exit(STARTUP_FAILURE)


if __name__ == "__main__":
    main()

"""The ASGI application: pages and API over HTTP, push over WebSockets."""

import os
from functools import cache
from typing import Any

import django
from channels.auth import AuthMiddlewareStack
from channels.routing import ProtocolTypeRouter, URLRouter
from django.conf import settings
from django.urls import path
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")
django.setup(set_prefix=False)

from dashboard import logs  # noqa: E402 (these need the applications that the line above loads)
from dashboard.access import origins  # noqa: E402
from dashboard.access.signing_in import proxied, rights  # noqa: E402
from dashboard.metrics.requests import Measured  # noqa: E402
from dashboard.push.consumers import IncidentsConsumer, LinkConsumer, SourceConsumer, UploadsConsumer  # noqa: E402
from dashboard.web.collecting import Collecting  # noqa: E402
from dashboard.web.request_bodies import Handler  # noqa: E402
from dashboard.web.static_files import StaticFiles  # noqa: E402
from dashboard.web.webhooks import Webhooks, hide_token  # noqa: E402
from timeline.core.machine import memory  # noqa: E402
from timeline.storage import sessions  # noqa: E402

sessions.use_pooler()
memory.keep_little()

websocket = URLRouter(
    [
        path(each.route, each.as_asgi())  # type: ignore[misc, arg-type]
        for each in (UploadsConsumer, IncidentsConsumer, LinkConsumer, SourceConsumer)
    ]
)
_pages = Handler()


@cache
def _mcp() -> Any:
    """Return what answers agents, which is imported at their first request."""
    from dashboard.agents.http import Mcp

    return Mcp(_pages)


async def _http(scope: dict[str, Any], receive: Any, send: Any) -> None:
    await (_mcp() if scope["path"].rstrip("/") == "/mcp" else _pages)(scope, receive, send)


_routes: Any = Measured(
    ProtocolTypeRouter(
        {
            "http": StaticFiles(Webhooks(Collecting(_http))),
            "websocket": origins.OwnPagesOnly(AuthMiddlewareStack(websocket)),
        }
    )
)

if settings.TOKEN_REQUIRED:
    rights.token()  # creates the token if there is none; a token that is too short stops the start


async def application(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Serve one HTTP request or WebSocket. Its id is in each line that it logs, and in the header X-Request-ID of the
    response."""
    rights.take_token(scope)
    hide_token(scope)
    request_id = logs.begin_request(scope.get("headers", []))

    async def answer(message: dict[str, Any]) -> None:
        if message["type"] in {"http.response.start", "websocket.accept"}:
            message = {**message, "headers": [*message.get("headers", ()), (b"x-request-id", request_id.encode())]}
        await send(message)

    await _routes(scope, receive, answer)


if settings.PROXIES:  # X-Forwarded-For is believed only if one of these sends it
    application = ProxyHeadersMiddleware(application, settings.PROXIES)  # type: ignore[arg-type, assignment]
application = proxied.TakeHeaders(application)

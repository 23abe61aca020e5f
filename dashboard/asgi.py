"""The ASGI application: pages and API over HTTP, push over WebSockets."""

import os
from typing import Any

import django
from channels.auth import AuthMiddlewareStack
from channels.routing import ProtocolTypeRouter, URLRouter
from django.conf import settings
from django.urls import path
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")
django.setup(set_prefix=False)

from dashboard.access import origins, rights  # noqa: E402 (these need the applications that the line above loads)
from dashboard.push.consumers import SourceConsumer, UploadsConsumer  # noqa: E402
from dashboard.web.request_bodies import Handler  # noqa: E402

websocket = URLRouter(
    [
        path("ws/uploads/", UploadsConsumer.as_asgi()),  # type: ignore[list-item, arg-type]
        path("ws/sources/<int:source_id>/", SourceConsumer.as_asgi()),  # type: ignore[list-item, arg-type]
    ]
)
_routes: Any = ProtocolTypeRouter(
    {"http": Handler(), "websocket": origins.OwnPagesOnly(AuthMiddlewareStack(websocket))}
)

if settings.TOKEN_REQUIRED:
    rights.token()  # it is made now, and one that is no good stops the start


async def application(scope: dict[str, Any], receive: Any, send: Any) -> None:
    rights.take_token(scope)
    await _routes(scope, receive, send)


if settings.PROXIES:  # the headers of anybody else say nothing of where a request comes from
    application = ProxyHeadersMiddleware(application, settings.PROXIES)  # type: ignore[arg-type, assignment]

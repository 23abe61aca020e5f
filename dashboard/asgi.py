"""The ASGI application: pages and API over HTTP, push over WebSockets."""

import os

import django
from channels.auth import AuthMiddlewareStack
from channels.routing import ProtocolTypeRouter, URLRouter
from channels.security.websocket import AllowedHostsOriginValidator
from django.urls import path

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")
django.setup(set_prefix=False)

from dashboard.bodies import Handler  # noqa: E402 (these need the applications that the line above loads)
from dashboard.consumers import SourceConsumer, UploadsConsumer  # noqa: E402

websocket = URLRouter(
    [
        path("ws/uploads/", UploadsConsumer.as_asgi()),  # type: ignore[list-item, arg-type]
        path("ws/sources/<int:source_id>/", SourceConsumer.as_asgi()),  # type: ignore[list-item, arg-type]
    ]
)
application = ProtocolTypeRouter(
    {"http": Handler(), "websocket": AllowedHostsOriginValidator(AuthMiddlewareStack(websocket))}
)

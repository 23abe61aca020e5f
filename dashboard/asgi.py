"""The ASGI application: pages and API over HTTP, push over WebSockets."""

import os

from channels.auth import AuthMiddlewareStack
from channels.routing import ProtocolTypeRouter, URLRouter
from channels.security.websocket import AllowedHostsOriginValidator
from django.core.asgi import get_asgi_application
from django.urls import path

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")
http = get_asgi_application()

from dashboard.consumers import UploadsConsumer  # noqa: E402 (needs the applications that the line above loads)

websocket = URLRouter([path("ws/uploads/", UploadsConsumer.as_asgi())])  # type: ignore[list-item, arg-type]
application = ProtocolTypeRouter(
    {"http": http, "websocket": AllowedHostsOriginValidator(AuthMiddlewareStack(websocket))}
)

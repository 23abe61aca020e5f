"""WebSockets are for our own pages alone.

A browser lets any page open a socket to any host and sends the cookies along. It tells where the page is from in the
header Origin, which is held against the address that was asked for, with scheme and port, as Django does it for forms.
"""

from io import BytesIO
from typing import Any

from channels.security.websocket import WebsocketDenier
from django.core.exceptions import DisallowedHost
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpResponse
from django.middleware.csrf import CsrfViewMiddleware

_SCHEMES = {"ws": "http", "wss": "https"}
_forms: Any = CsrfViewMiddleware(lambda request: HttpResponse())


class OwnPagesOnly:
    """Refuses sockets of other sites, of other ports of our own host, and of hosts that we do not serve."""

    def __init__(self, application: Any) -> None:
        self._application = application
        self._refuse: Any = WebsocketDenier()

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> Any:
        return await (self._application if _is_own_page(scope) else self._refuse)(scope, receive, send)


def _is_own_page(scope: dict[str, Any]) -> bool:
    scheme = scope.get("scheme", "ws")
    request = ASGIRequest({**scope, "method": "GET", "scheme": _SCHEMES.get(scheme, scheme)}, BytesIO())
    try:
        request.get_host()
    except DisallowedHost:
        return False
    return "HTTP_ORIGIN" in request.META and bool(_forms._origin_verified(request))

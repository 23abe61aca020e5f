"""Accept WebSockets only from our own pages, and from programs that send an access token.

A browser lets any page open a socket to any host, and sends the cookies with it. The header Origin says where the page
is from. It is compared with the requested address, including scheme and port, as Django does it for forms.
"""

from io import BytesIO
from typing import Any

from channels.security.websocket import WebsocketDenier
from django.core.exceptions import DisallowedHost
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import CsrfViewMiddleware

from dashboard.access.tokens import tokens

_SCHEMES = {"ws": "http", "wss": "https"}
_forms: Any = CsrfViewMiddleware(lambda request: HttpResponse())


class OwnPagesOnly:
    """Refuse sockets from other sites, from other ports of our host, and for hosts that we do not serve.

    Only browsers send Origin, and only programs an access token.
    """

    def __init__(self, application: Any) -> None:
        self._application = application
        self._refuse: Any = WebsocketDenier()

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> Any:
        return await (self._application if _is_own_page(scope) else self._refuse)(scope, receive, send)


def from_own_page(request: HttpRequest) -> bool:
    """Return whether a request comes from a page of ours, or from no page at all: only browsers send Origin."""
    return "HTTP_ORIGIN" not in request.META or bool(_forms._origin_verified(request))


def _is_own_page(scope: dict[str, Any]) -> bool:
    scheme = scope.get("scheme", "ws")
    request = ASGIRequest({**scope, "method": "GET", "scheme": _SCHEMES.get(scheme, scheme)}, BytesIO())
    try:
        request.get_host()
    except DisallowedHost:
        return False
    if "HTTP_ORIGIN" not in request.META:
        return tokens.sent(request) is not None
    return bool(_forms._origin_verified(request))

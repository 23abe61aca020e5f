"""Serve MCP over HTTP at `/mcp`, in a web process. No state is kept between two requests, so any of several web
processes can answer any request.

A request has to be a POST for a host that we serve, and, if a browser sends it, from a page of ours: no page of another
site can reach it by a name that it lets point here. It has to carry a token. The tools then ask the API in this process
with the same token.
"""

from contextvars import ContextVar
from functools import cache
from io import BytesIO
from typing import Any

import httpx
import orjson
from asgiref.sync import sync_to_async
from django.core.exceptions import DisallowedHost
from django.core.handlers.asgi import ASGIRequest

from collectors.extras import missing
from dashboard.access import origins
from dashboard.access.signing_in import rights
from dashboard.access.tokens import tokens
from dashboard.access.trail import recording
from dashboard.agents.api import Api, Caller
from dashboard.metrics.requests import note_route

BYTES = 256 * 1024  # the most bytes of a request
_caller: ContextVar[Caller] = ContextVar("caller")


class Mcp:
    """Answer MCP requests, as an ASGI application. `pages` is the application that serves the API."""

    def __init__(self, pages: Any) -> None:
        self._pages = pages

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        note_route(scope, "mcp")
        request = ASGIRequest({**scope, "method": "GET"}, BytesIO())
        refused = await self._refusal(scope, request)
        if refused:
            await _refuse(send, *refused)
            return
        scheme, host = request.scheme or "http", request.get_host()
        _caller.set(Caller(f"{scheme}://{host}", request.headers.get("Authorization", "")))
        manager = await sync_to_async(_manager_for, thread_sensitive=False)(self._pages)
        async with manager.run():
            await manager.handle_request(scope, receive, send)

    async def _refusal(self, scope: dict[str, Any], request: ASGIRequest) -> tuple[int, str] | None:
        """Return status and sentence of the answer to a request that is not served; None if it is."""
        try:
            request.get_host()
        except DisallowedHost:
            return 421, "This host is not served here: see CAUSELINE_HOSTS."
        if not origins.from_own_page(request):
            return 403, "The request comes from a page of another site."
        if scope["method"] != "POST":
            return 405, "Send MCP requests with POST. There are no sessions, and no streams to listen to."
        if not await sync_to_async(_admitted)(request):
            return 401, "Send the header Authorization: Bearer with an access token for reading."
        if why := missing("mcp", "Answering agents over MCP", "mcp"):
            return 501, why
        return None


def _admitted(request: ASGIRequest) -> bool:
    """Return whether the request has a token that may read. Where nobody has to sign in, it need not have one."""
    if tokens.sent(request) is not None and not rights.by_script(request):
        token = tokens.holder(request, "read")
        if token is not None:
            recording.of_agent(request, tokens.actor_of(token))
        return token is not None
    return not rights.sign_in_required() or rights.by_script(request)


def _manager_for(pages: Any) -> Any:
    """Return what answers one request: nothing of it outlives the request."""
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    return StreamableHTTPSessionManager(
        _server(pages)._lowlevel_server, json_response=True, stateless=True, max_request_body_size=BYTES
    )


@cache
def _server(pages: Any) -> Any:
    """Return the server with its tools, which are made at the first request: to import them takes a second."""
    from dashboard.agents.tools import server

    return server(Api(_caller.get, httpx.ASGITransport(pages, raise_app_exceptions=False)))


async def _refuse(send: Any, status: int, detail: str) -> None:
    headers = [(b"content-type", b"application/problem+json")]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    if status == 405:
        headers.append((b"allow", b"POST"))
    body = orjson.dumps({"title": "Not possible", "detail": detail, "status": status})
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})

"""Ways to ask pages, the API and sockets as somebody: with an account, with the text of a token or of a link."""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any, cast

import httpx
from asgiref.sync import async_to_sync
from django.contrib.auth.models import User
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from django.test import Client
from django.urls import ResolverMatch, URLPattern, URLResolver, get_resolver
from django.utils import timezone

from dashboard.access.roles import needs
from dashboard.access.tokens import links, tokens
from dashboard.asgi import application
from dashboard.web.api import api
from timeline.models import Incident, Source

JSON = "application/json"


def signed_in(user: User, **more: Any) -> Client:
    client = Client(**more)
    client.force_login(user)
    return client


def in_days(days: float = 1) -> datetime:
    return timezone.now() + timedelta(days=days)


def issued(*scopes: str, name: str = "bot", days: float = 1, **more: Any) -> str:
    """Return the text of a token, of a program unless there is an owner."""
    text, row = tokens.issue(name, scopes or ["read"], expires=in_days(), **{"by": "alice", **more})
    row.expires = in_days(days)
    row.save()
    return text


def bearer(text: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {text}"}


def asked(path: str, text: str, method: str = "GET", body: Any = b"{}") -> int:
    """Return the status of an answer to a program with a token."""
    return Client().generic(method, path, body, JSON, headers=bearer(text)).status_code


def shown(path: str, text: str, method: str = "GET") -> int:
    """Return the status of an answer of the API to somebody with a link."""
    return Client().generic(method, path, b"{}", JSON, headers={links.HEADER: text}).status_code


def page(path: str, text: str | None, **query: str) -> httpx.Response:
    """Return the answer of the ASGI application to a page with the text of a link in its address."""

    async def ask() -> httpx.Response:
        transport = httpx.ASGITransport(app=cast("Any", application))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.get(path, params={**query, **({"view_token": text} if text else {})})

    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)  # as Django's own client does: the test's transaction goes on
    try:
        return async_to_sync(ask)()
    finally:
        for signal in (request_started, request_finished):
            signal.connect(close_old_connections)


def an_incident(source: Source) -> str:
    return str(Incident.objects.filter(source=source).values_list("identity", flat=True)[0])


def declared() -> dict[str, Mapping[str, needs.Need]]:
    """Return what each page and each operation of the API declares, by its route and its methods."""
    return dict(_declared(get_resolver().url_patterns))


def _declared(
    patterns: list[URLPattern | URLResolver], before: str = ""
) -> Iterator[tuple[str, Mapping[str, needs.Need]]]:
    for each in patterns:
        route = before + str(each.pattern)
        if isinstance(each, URLResolver):
            yield from _declared(each.url_patterns, route)
        else:
            yield route, needs.declared(ResolverMatch(each.callback, (), {}))


def routes() -> list[tuple[str, str]]:
    """Return method and address of each page and each operation of the API, with names in braces for its parts."""
    pages = [f"/{each.pattern}" for each in get_resolver().url_patterns if isinstance(each, URLPattern)]
    operations = [
        (method.upper(), path)
        for path, methods in api.get_openapi_schema()["paths"].items()
        for method in methods
        if method != "parameters"
    ]
    return [(method, re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", path)) for path in pages for method in ("GET", "POST")] + (
        operations
    )


def read_routes() -> list[str]:
    """Return the addresses that are read, except those that sign somebody out or are for monitoring."""
    return sorted({path for method, path in routes() if method == "GET"} - {"/logout/", "/metrics"})

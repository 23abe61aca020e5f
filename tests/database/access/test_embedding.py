"""These tests check embedded timelines: what a signed view shows, in whose frames, and that it shows no more."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any, cast
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx
import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.contrib.auth.models import AnonymousUser
from django.core import signing
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from django.test import Client
from pytest_django import Settings

from dashboard.access.signing_in import rights
from dashboard.access.tokens import embedding, links, tokens
from dashboard.asgi import application
from dashboard.environment.parsing import _ancestors
from dashboard.push.consumers import UNAUTHORISED
from tests.database.push.test_push import Page, nobody_listens, run
from tests.people import member
from timeline.models import Source

OTHER_SITE = "https://grafana.example.org"


@pytest.fixture(autouse=True)
def embeddable(settings: Settings) -> None:
    settings.LOGIN_REQUIRED, settings.TOKEN_REQUIRED = True, False
    settings.EMBED_ANCESTORS = [OTHER_SITE]


def view(source: int, seconds: float = 3600, query: str = "") -> str:
    """Return a signed view, as an older version has made it."""
    shown = {"source": source, "query": query, "until": int(datetime.now(UTC).timestamp() + seconds)}
    return signing.dumps(shown, salt=embedding.SALT, compress=True)


def asked(path: str, text: str, method: str = "GET") -> int:
    headers = {"Causeline-View": text}
    return Client().generic(method, path, b"{}", "application/json", headers=headers).status_code


def page(path: str, text: str | None, embed: str = "1") -> httpx.Response:
    """Return the answer of the ASGI application to a page with the signed view in its address."""

    async def ask() -> httpx.Response:
        transport = httpx.ASGITransport(app=cast("Any", application))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.get(path, params={"embed": embed, **({"view_token": text} if text else {})})

    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)  # as Django's own client does: the test's transaction goes on
    try:
        return async_to_sync(ask)()
    finally:
        for signal in (request_started, request_finished):
            signal.connect(close_old_connections)


@pytest.mark.django_db
def test_a_view_reads_its_source_and_nothing_else(sample: Source) -> None:
    text = view(sample.pk)
    for part in ("/overview", "/window", "/incidents", "/findings", "/logs", "/alerts?start=1&end=2"):
        assert asked(f"/api/sources/{sample.pk}{part}", text) == 200, part
    other = Source.objects.create(name="other", ready=True)
    everything = ("/api/sources", "/api/incidents", "/api/clusters", "/api/rules", "/api/resolve?pod=a")
    files = [f"/api/sources/{sample.pk}{part}" for part in ("", "/recording", "/entries", "/document", "/actors")]
    for path in (
        f"/api/sources/{other.pk}/overview",
        *everything,
        *files,
        f"/api/compare?bad={sample.pk}-1&good={other.pk}-1",
    ):
        assert asked(path, text) == 403, path


@pytest.mark.django_db
def test_a_view_changes_nothing_even_where_somebody_is_signed_in(sample: Source, admin_client: Client) -> None:
    text = view(sample.pk)
    for method, part in (("PATCH", ""), ("DELETE", ""), ("POST", "/acknowledgements"), ("POST", "/views")):
        assert asked(f"/api/sources/{sample.pk}{part}", text, method) == 403
        signed_in = admin_client.generic(method, f"/api/sources/{sample.pk}{part}", headers={"Causeline-View": text})
        assert signed_in.status_code == 403


@pytest.mark.django_db
def test_a_view_that_is_over_or_changed_shows_nothing(sample: Source, settings: Settings) -> None:
    path, good = f"/api/sources/{sample.pk}/overview", view(sample.pk)
    wrong = [view(sample.pk, -1), f"{good}x", f"x{good}", "", good.replace(good[5], "A" if good[5] != "A" else "B", 1)]
    assert [asked(path, each) for each in wrong] == [401] * len(wrong)
    settings.EMBED_ANCESTORS = []
    assert asked(path, good) == 401, "an operator ends all views"
    settings.EMBED_ANCESTORS, settings.SECRET_KEY = [OTHER_SITE], "another-key-another-key-another-key"
    assert asked(path, good) == 401


@pytest.mark.django_db
def test_the_page_may_be_framed_by_the_named_sites_alone(sample: Source, settings: Settings) -> None:
    path = f"/sources/{sample.pk}/"
    shown = page(path, view(sample.pk, query="start=1&end=2"))
    html = shown.text
    assert shown.status_code == 200 and 'data-query="start=1&amp;end=2"' in html and 'href="/incidents/"' not in html
    assert f"frame-ancestors {OTHER_SITE};" in f"{shown.headers['Content-Security-Policy']};"
    assert "X-Frame-Options" not in shown.headers and not shown.cookies
    assert (shown.headers["Referrer-Policy"], shown.headers["Cache-Control"]) == ("no-referrer", "no-store")
    over = page(path, view(sample.pk, -1))
    assert over.status_code == 403 and "This link is over" in over.text and OTHER_SITE in str(over.headers)
    settings.EMBED_ANCESTORS = []
    off = page(path, view(sample.pk))
    assert (off.status_code, off.headers["X-Frame-Options"]) == (403, "DENY") and "frame-ancestors 'none'" in str(
        off.headers
    )


@pytest.mark.django_db
def test_the_view_opens_no_other_page(sample: Source, admin_client: Client) -> None:
    other = Source.objects.create(name="other", ready=True)
    text = view(sample.pk)
    assert page(f"/sources/{other.pk}/", text).status_code == 403
    for path in ("/", f"/sources/{sample.pk}/coverage/", f"/sources/{sample.pk}/incidents/", "/clusters/"):
        assert page(path, text).status_code == 302, path
    assert page(f"/sources/{sample.pk}/", text, embed="0").status_code == 403
    assert page(f"/sources/{sample.pk}/", None).status_code == 302
    own = admin_client.get(f"/sources/{sample.pk}/?embed=1")
    assert (own.status_code, own["X-Frame-Options"]) == (200, "DENY"), "people who are signed in are not framed"


def test_the_text_leaves_the_address_before_anything_can_log_it() -> None:
    scope: dict[str, Any] = {"query_string": b"embed=1&view_token=a%3Ab&start=1"}
    rights.take_token(scope)
    assert (scope["query_string"], scope[rights.VIEW]) == (b"embed=1&start=1", "a:b")
    assert links.in_address(scope) == "a:b"


@pytest.mark.django_db
def test_the_owner_and_administrators_make_views(
    sample: Source, admin_client: Client, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    path, body = f"/api/sources/{sample.pk}/views", {"hours": 2, "query": "?start=1&end=2"}
    made = admin_client.post(path, body, "application/json").json()
    text = parse_qs(urlsplit(made["url"]).query)["view_token"][0]
    allowed = links.opened(text, AnonymousUser())
    assert allowed and (allowed.source, allowed.query) == (sample.pk, "start=1&end=2")
    left = allowed.until - datetime.now(UTC)
    assert timedelta(hours=1.9) < left < timedelta(hours=2.1)
    assert made["html"].startswith('<iframe src="http://testserver/sources/') and "&amp;view_token=" in made["html"]
    assert text not in caplog.text and "embedded" in caplog.text
    assert 'id="embed"' in admin_client.get(f"/sources/{sample.pk}/").content.decode()
    for hours in (0, 24 * 90 + 1):
        assert admin_client.post(path, {"hours": hours}, "application/json").status_code == 422
    bob = Client()
    bob.force_login(member("responder", name="bob"))
    assert bob.post(path, body, "application/json").status_code == 403
    assert 'id="embed"' not in bob.get(f"/sources/{sample.pk}/").content.decode()
    reader, _ = tokens.issue("r", ["read"], expires=datetime.now(UTC) + timedelta(days=1), by="")
    sent = {"Authorization": f"Bearer {reader}"}
    assert Client().post(path, body, "application/json", headers=sent).status_code == 403
    settings.EMBED_ANCESTORS = []
    assert admin_client.post(path, body, "application/json").status_code == 403


@pytest.mark.django_db(transaction=True)
def test_the_socket_of_the_page_ends_with_the_view() -> None:
    async def scenario() -> None:
        source = await sync_to_async(Source.objects.create)(name="prod", ready=True)
        other = await sync_to_async(Source.objects.create)(name="other", ready=True)
        refused = ((f"/ws/sources/{other.pk}/", view(source.pk)), (f"/ws/sources/{source.pk}/", view(source.pk, -1)),
                   ("/ws/uploads/", view(source.pk)), ("/ws/incidents/", view(source.pk)))  # fmt: skip
        for path, text in refused:
            socket = Page(path, urlencode({"view_token": text}))
            assert await socket.connect()
            assert (await socket.output())["code"] == UNAUTHORISED, path
        socket = Page(f"/ws/sources/{source.pk}/", urlencode({"cursor": 0, "view_token": view(source.pk, 1.5)}))
        assert await socket.connect()
        async with asyncio.timeout(30):
            assert await socket.code_of_end() == UNAUTHORISED
        await socket.leave()
        await nobody_listens()

    run(scenario)


@pytest.mark.parametrize(
    ("given", "good"),
    [
        ("https://grafana.example.org, http://localhost:3000", True), ("https://*.example.org:*", True), ("", True),
        ("*", False), ("https://a/b", False), ("grafana.example.org", False), ("https://a; script-src *", False),
        ("'self'", False), ("javascript:x", False), ("https://*", False),
    ],
)  # fmt: skip
def test_which_origins_an_operator_may_name(given: str, good: bool) -> None:
    if good:
        assert len(_ancestors(given)) == len([each for each in given.split(",") if each])
    else:
        with pytest.raises(ValueError, match="not an origin"):
            _ancestors(given)

"""These tests check embedded timelines: what a signed view shows, in whose frames, and that it shows no more."""

from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.contrib.auth.models import AnonymousUser
from django.core import signing
from django.test import Client
from pytest_django import Settings

from dashboard.access.signing_in import rights
from dashboard.access.tokens import embedding, links
from dashboard.environment.parsing import _ancestors
from tests.database.access.asking import JSON, bearer, issued, page, shown, signed_in
from tests.rows.people import member
from timeline.models import Source

OTHER_SITE = "https://grafana.example.org"
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def embeddable(settings: Settings) -> None:
    settings.EMBED_ANCESTORS = [OTHER_SITE]


def view(source: int, seconds: float = 3600, query: str = "") -> str:
    """Return a signed view, as an older version has made it."""
    shown = {"source": source, "query": query, "until": int(datetime.now(UTC).timestamp() + seconds)}
    return signing.dumps(shown, salt=embedding.SALT, compress=True)


def test_a_view_that_is_over_or_changed_shows_nothing(sample: Source, settings: Settings) -> None:
    path, good = f"/api/sources/{sample.pk}/overview", view(sample.pk)
    wrong = [view(sample.pk, -1), f"{good}x", f"x{good}", "", good.replace(good[5], "A" if good[5] != "A" else "B", 1)]
    assert [shown(path, each) for each in wrong] == [401] * len(wrong)
    settings.EMBED_ANCESTORS = []
    assert shown(path, good) == 401, "an operator ends all views"
    settings.EMBED_ANCESTORS, settings.SECRET_KEY = [OTHER_SITE], "another-key-another-key-another-key"
    assert shown(path, good) == 401


def test_the_page_may_be_framed_by_named_sites_alone(sample: Source, settings: Settings, admin_client: Client) -> None:
    path = f"/sources/{sample.pk}/"
    shown = page(path, view(sample.pk, query="start=1&end=2"), embed="1")
    html = shown.text
    assert shown.status_code == 200 and 'data-query="start=1&amp;end=2"' in html and 'href="/incidents/"' not in html
    assert f"frame-ancestors {OTHER_SITE};" in f"{shown.headers['Content-Security-Policy']};"
    assert "X-Frame-Options" not in shown.headers and not shown.cookies
    assert (shown.headers["Referrer-Policy"], shown.headers["Cache-Control"]) == ("no-referrer", "no-store")
    over = page(path, view(sample.pk, -1), embed="1")
    assert over.status_code == 403 and "This link is over" in over.text and OTHER_SITE in str(over.headers)
    settings.EMBED_ANCESTORS = []
    off = page(path, view(sample.pk), embed="1")
    assert (off.status_code, off.headers["X-Frame-Options"]) == (403, "DENY")
    assert "frame-ancestors 'none'" in str(off.headers)
    own = admin_client.get(f"{path}?embed=1")
    assert (own.status_code, own["X-Frame-Options"]) == (200, "DENY"), "people who are signed in are not framed"
    assert page(path, None, embed="1").status_code == 302


def test_the_text_leaves_the_address_before_anything_can_log_it() -> None:
    scope: dict[str, Any] = {"query_string": b"embed=1&view_token=a%3Ab&start=1"}
    rights.take_token(scope)
    assert (scope["query_string"], scope[rights.VIEW]) == (b"embed=1&start=1", "a:b")
    assert links.in_address(scope) == "a:b"


def test_the_owner_and_administrators_make_views(
    sample: Source, admin_client: Client, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    path, body = f"/api/sources/{sample.pk}/views", {"hours": 2, "query": "?start=1&end=2"}
    made = admin_client.post(path, body, JSON).json()
    text = parse_qs(urlsplit(made["url"]).query)["view_token"][0]
    allowed = links.opened(text, AnonymousUser())
    assert allowed and (allowed.source, allowed.query) == (sample.pk, "start=1&end=2")
    left = allowed.until - datetime.now(UTC)
    assert timedelta(hours=1.9) < left < timedelta(hours=2.1)
    assert made["html"].startswith('<iframe src="http://testserver/sources/') and "&amp;view_token=" in made["html"]
    assert text not in caplog.text and "embedded" in caplog.text
    assert 'id="embed"' in admin_client.get(f"/sources/{sample.pk}/").content.decode()
    for hours in (0, 24 * 90 + 1):
        assert admin_client.post(path, {"hours": hours}, JSON).status_code == 422
    bob = signed_in(member("responder", name="bob"))
    assert bob.post(path, body, JSON).status_code == 403
    assert 'id="embed"' not in bob.get(f"/sources/{sample.pk}/").content.decode()
    assert Client().post(path, body, JSON, headers=bearer(issued("read"))).status_code == 403
    settings.EMBED_ANCESTORS = []
    assert admin_client.post(path, body, JSON).status_code == 403


def test_which_origins_an_operator_may_name() -> None:
    named = "https://grafana.example.org, http://localhost:3000, https://*.example.org:*"
    assert (len(_ancestors(named)), _ancestors("")) == (3, [])
    for wrong in ("*", "https://a/b", "grafana.example.org", "https://a; script-src *", "'self'", "javascript:x"):
        with pytest.raises(ValueError, match="not an origin"):
            _ancestors(wrong)

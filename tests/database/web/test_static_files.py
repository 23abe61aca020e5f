"""These tests check how static files are answered: compressed, kept by browsers, and never mixed between versions."""

import asyncio
import gzip
import re
from typing import TYPE_CHECKING, Any

import pytest
import zstandard
from django.templatetags.static import static
from pytest_django import Settings

from dashboard.web import static_files

if TYPE_CHECKING:
    from collections.abc import Callable

NAME = "dashboard/js/timeline.js"
BODY = static_files.contents()[NAME]


class Answer:
    """What a browser gets for a request."""

    def __init__(self, path: str, method: str = "GET", scheme: str = "https", **headers: str) -> None:
        self.handed_on = False
        self.status, self.body = 0, b""
        self.headers: dict[str, str] = {}
        given = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
        scope = {"type": "http", "method": method, "path": path, "scheme": scheme, "headers": given}
        asyncio.run(static_files.StaticFiles(self._pages)(scope, None, self._send))

    async def _pages(self, scope: Any, receive: Any, send: Any) -> None:
        self.handed_on = True

    async def _send(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {name.decode(): value.decode() for name, value in message["headers"]}
        else:
            self.body += message["body"]


def test_the_address_in_a_page_is_kept_for_ever() -> None:
    address = static(NAME)
    assert re.fullmatch(rf"/static/[0-9a-f]{{16}}/{NAME}", address)
    answer = Answer(address)
    assert (answer.status, answer.body) == (200, BODY)
    assert answer.headers["cache-control"] == "max-age=31536000, public, immutable"
    assert answer.headers["content-type"] == 'text/javascript; charset="utf-8"'
    assert int(answer.headers["content-length"]) == len(BODY)


@pytest.mark.parametrize("address", [f"/static/{NAME}", f"/static/{'0' * 16}/{NAME}"])
def test_an_address_of_no_version_or_of_another_one_is_asked_for_again_soon(address: str) -> None:
    answer = Answer(address)
    assert (answer.status, answer.body) == (200, BODY)
    assert answer.headers["cache-control"] == "max-age=60, public"


@pytest.mark.parametrize(
    ("accepted", "coding"), [("gzip, deflate, br, zstd", "zstd"), ("gzip;q=1.0", "gzip"), ("br", ""), ("", "")]
)
def test_the_best_compression_that_the_browser_knows_is_used(accepted: str, coding: str) -> None:
    unpack: dict[str, Callable[[bytes], bytes]] = {"zstd": zstandard.decompress, "gzip": gzip.decompress, "": bytes}
    answer = Answer(static(NAME), accept_encoding=accepted)
    assert answer.headers.get("content-encoding", "") == coding
    assert answer.headers["vary"] == "Accept-Encoding"
    assert unpack[coding](answer.body) == BODY
    assert int(answer.headers["content-length"]) == len(answer.body)


def test_a_font_is_not_compressed_again() -> None:
    font = "dashboard/vendor/inter/inter-latin-wght-normal.woff2"
    answer = Answer(static(font), accept_encoding="gzip, zstd")
    assert "content-encoding" not in answer.headers
    assert answer.headers["content-type"] == "font/woff2"
    assert answer.body == static_files.contents()[font]


def test_what_the_browser_has_is_not_sent_again() -> None:
    tag = Answer(f"/static/{NAME}").headers["etag"]
    answer = Answer(f"/static/{NAME}", if_none_match=f'"other", W/{tag}')
    assert (answer.status, answer.body) == (304, b"")
    assert Answer(f"/static/{NAME}", if_none_match='"other"').status == 200


def test_a_head_has_no_body() -> None:
    answer = Answer(static(NAME), method="HEAD")
    assert (answer.status, answer.body) == (200, b"")
    assert int(answer.headers["content-length"]) == len(BODY)


@pytest.mark.parametrize(
    "path", ["/", "/static/", "/static/nothing.js", "/static/../settings.py", f"/static/0/{NAME}", f"/other/{NAME}"]
)
def test_everything_else_is_handed_on(path: str) -> None:
    assert Answer(path).handed_on
    assert Answer(static(NAME), method="POST").handed_on


def test_a_request_without_tls_is_handed_on_where_it_is_redirected(settings: Settings) -> None:
    settings.SECURE_SSL_REDIRECT = True
    assert Answer(static(NAME), scheme="http").handed_on
    assert Answer(static(NAME)).status == 200


def test_an_edited_file_is_served_at_once_while_debugging(settings: Settings) -> None:
    settings.DEBUG = True
    answer = Answer(static(NAME))
    assert (answer.body, answer.headers["cache-control"]) == (BODY, "no-cache")


def test_a_change_of_any_file_changes_the_version(monkeypatch: pytest.MonkeyPatch) -> None:
    before = static_files.version()
    changed = {**static_files.contents(), NAME: BODY + b" "}
    monkeypatch.setattr(static_files, "contents", lambda: changed)
    static_files.version.cache_clear()
    assert static_files.version() != before
    static_files.version.cache_clear()

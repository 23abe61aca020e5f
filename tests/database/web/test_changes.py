"""These tests check the log of changes: every route that may change something writes a line, and no name can forge
one."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import URLPattern, get_resolver
from django.urls.resolvers import URLResolver
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import Settings

from dashboard.access.signing_in import rights
from dashboard.access.trail import change_log
from dashboard.web.api import api
from tests.rows.people import PASSWORD, member
from timeline.models import Cluster

pytestmark = pytest.mark.django_db
PAIR = re.compile(r'(\w+)=("(?:[^"\\]|\\.)*"|-?\d+)(?: |$)')
CHANGING = ("POST", "PUT", "PATCH", "DELETE")
NUMBERS = re.compile(r"<[^>]*>|\{[^}]*\}")


def lines(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    """Return the lines that were logged, each as a dictionary of its pairs."""
    written = [each.getMessage() for each in caplog.records if each.name == "causeline.changes"]
    for each in written:
        assert "".join(match[0] for match in PAIR.finditer(each)) == each, "pairs, and nothing else"
    return [{key: json.loads(value) for key, value in PAIR.findall(each)} for each in written]


def pages(patterns: list[URLPattern | URLResolver], before: str = "/") -> list[str]:
    """Return the paths of all routes except the API's, with numbers in place of parameters."""
    found = []
    for each in patterns:
        path = before + str(each.pattern)
        if isinstance(each, URLResolver):
            found += [] if each.namespace else pages(each.url_patterns, path)
        else:
            found.append(re.sub(r"<slug:[^>]*>", "a", NUMBERS.sub(lambda m: "a" if "slug" in m[0] else "1", path)))
    return found


def operations() -> list[tuple[str, str]]:
    """Return method and path of each API operation that may change something."""
    paths = api.get_openapi_schema()["paths"]
    return [
        (method.upper(), NUMBERS.sub("1", path))
        for path, methods in paths.items()
        for method in methods
        if method.upper() in CHANGING
    ]


def test_every_route_that_may_change_something_writes_one_line(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    settings.LOGIN_REQUIRED = True
    client = Client(REMOTE_ADDR="192.0.2.7")
    client.force_login(member("admin", name="alice"))
    asked = operations() + [("POST", path) for path in pages(get_resolver().url_patterns) if path not in OWN]
    assert len(asked) > 15 and ("DELETE", "/api/sources/1") in asked and ("POST", "/clusters/1/") in asked
    for method, path in asked:
        caplog.clear()
        answer = client.generic(method, path, b"x" * 50, "application/octet-stream")
        (line,) = lines(caplog)
        about = (f"{method} {path}", "alice", "192.0.2.7", answer.status_code)
        assert (line["action"], line["by"], line["from"], line["status"]) == about


OWN = {"/login/", "/logout/", "/sources/1/report"}  # the last one changes nothing


def test_what_only_reads_writes_nothing(caplog: pytest.LogCaptureFixture, client: Client) -> None:
    for path in ("/", "/api/sources", "/rules/"):
        assert client.get(path).status_code == 200
    assert client.post("/sources/1/report", {"note": "Done."}).status_code == 404
    assert not lines(caplog)


def test_signing_in_failing_and_signing_out_are_reported(settings: Settings, caplog: pytest.LogCaptureFixture) -> None:
    settings.LOGIN_REQUIRED = True
    member("responder", name="alice")
    client = Client(REMOTE_ADDR="192.0.2.7")
    for password in ("wrong", PASSWORD):
        client.post("/login/", {"username": "alice", "password": password})
    client.post("/logout/")
    assert [tuple(each.items()) for each in lines(caplog)] == [
        (("action", "sign-in failed"), ("name", "alice"), ("from", "192.0.2.7")),
        (("action", "sign in"), ("by", "alice"), ("from", "192.0.2.7")),
        (("action", "sign out"), ("by", "alice"), ("from", "192.0.2.7")),
    ]


def test_the_start_up_token_is_listed_without_being_shown(settings: Settings, caplog: pytest.LogCaptureFixture) -> None:
    settings.TOKEN_REQUIRED = True
    token = rights.token()
    client = Client(REMOTE_ADDR="192.0.2.7")
    client.post("/login/", {"token": f"not{token}"})
    client.post("/login/", {"token": token})
    client.post("/clusters/1/", {"act": "pause"})
    logged = [(each["action"], each["by"], each["from"]) for each in lines(caplog)]
    assert logged == [
        ("sign-in failed", "start-up token", "192.0.2.7"),
        ("sign in", "start-up token", "192.0.2.7"),
        ("POST /clusters/1/", "start-up token", "192.0.2.7"),
    ]
    assert token not in caplog.text


def test_what_a_form_asks_for_is_reported_and_nothing_else_of_it(
    caplog: pytest.LogCaptureFixture, client: Client
) -> None:
    cluster = Cluster.objects.create(name="prod")
    client.post(f"/clusters/{cluster.pk}/", {"act": "disconnect", "kubeconfig": "token: planted-secret"})
    (line,) = lines(caplog)
    assert line["act"] == "disconnect"
    assert "planted-secret" not in caplog.text


def test_a_form_that_cannot_be_read_is_reported_too(caplog: pytest.LogCaptureFixture, client: Client) -> None:
    answer = client.generic("POST", "/api/uploads?name=a", b"x", "multipart/form-data; boundary=y")
    (line,) = lines(caplog)
    assert answer.status_code == line["status"] == 415


def test_a_new_upload_is_listed_with_its_number_and_name(caplog: pytest.LogCaptureFixture, client: Client) -> None:
    body = json.dumps({"name": "incident\naction=forged", "files": [{"name": "audit.log", "size": 5}]})
    payload = client.post("/api/uploads", body, content_type="application/json").json()
    (line,) = lines(caplog)
    assert (line["upload"], line["name"]) == (payload["id"], "incident\naction=forged")
    client.post(f"/api/uploads/{payload['id']}/cancel", content_type="application/octet-stream")


@given(st.text() | st.text(alphabet='\r\n\x00\x1b\x7f\x85\u2028\u202e\ud800"\\= '))
def test_no_value_ends_a_line_or_begins_a_pair(text: str) -> None:
    line = change_log.line("rename", name=text, by="alice")
    assert line.isascii() and line.isprintable()
    pairs = {key: json.loads(value) for key, value in PAIR.findall(line)}
    assert pairs["by"] == "alice" and set(pairs) <= {"action", "name", "by"}
    if text and len(text) < 200:
        assert pairs["name"] == text


def test_commands_tell_who_of_the_machine_ran_them(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.DATA_DIR = tmp_path
    monkeypatch.setenv("LOGNAME", "operator")
    monkeypatch.setenv("CAUSELINE_PASSWORD", "correct horse battery")
    call_command("causeline", "createuser", "ada", "--admin")
    Cluster.objects.create(name="prod")
    for act in ("pause", "resume", "disconnect"):
        call_command("causeline", act, "prod")
    with pytest.raises(SystemExit):
        call_command("causeline", "disconnect", "prod")  # fails, so nothing is changed
    line, *others = (tmp_path / "logs" / change_log.FILE).read_text().splitlines()
    assert [PAIR.findall(each)[0][1] for each in others] == ['"pause"', '"resume"', '"disconnect"']
    assert all('by="operator"' in each and 'name="prod"' in each for each in others)
    assert re.fullmatch(
        r'[-\d]+ [:,\d]+ INFO causeline\.changes: action="createuser" by="operator" at="command line" '
        r'user="ada" role="admin"',
        line,
    )

"""These tests check access tokens: what they open, what they never do, and that their text is stored nowhere."""

import base64
import io
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.test import Client, RequestFactory
from django.utils import timezone
from pytest_django import Settings

from dashboard.access.tokens import tokens
from dashboard.cli.servers import tokens as command_line
from dashboard.models import AccessToken
from dashboard.web.api import api
from tests.people import member
from timeline.models import Cluster, Source

pytestmark = pytest.mark.django_db
FAR = timedelta(days=30)


@pytest.fixture(autouse=True)
def accounts(settings: Settings) -> None:
    settings.LOGIN_REQUIRED = True
    settings.TOKEN_REQUIRED = False


def issued(*scopes: str, days: float = 30, **limit: Any) -> str:
    text, row = tokens.issue("grafana", scopes or ["read"], expires=timezone.now() + FAR, by="alice", **limit)
    AccessToken.objects.filter(pk=row.pk).update(expires=timezone.now() + timedelta(days=days))
    return text


def asked(path: str, text: str, method: str = "GET") -> int:
    answer = Client().generic(method, path, b"{}", "application/json", headers={"Authorization": f"Bearer {text}"})
    return answer.status_code


def test_a_token_reads_the_api_without_a_session(sample: Source) -> None:
    text = issued("read")
    for path in ("/api/sources", "/api/incidents", "/api/rules", f"/api/sources/{sample.pk}/overview"):
        assert asked(path, text) == 200, path
        assert Client().get(path).status_code == 401
    password = base64.b64encode(f"anybody:{text}".encode()).decode()
    assert Client().get("/api/sources", headers={"Authorization": f"Basic {password}"}).status_code == 200


def test_a_token_opens_no_page(sample: Source) -> None:
    for path in ("/", f"/sources/{sample.pk}/", "/tokens/", "/api/docs"):
        assert asked(path, issued("read")) == 302


@pytest.mark.parametrize("text", ["", "causeline_", "causeline_wrong", "causeline_\x7f", "causeline_é"])
def test_a_wrong_text_opens_nothing(text: str) -> None:
    right = issued("read")
    request = RequestFactory().get("/")
    assert tokens.holder(request, "read", given=text) is None
    assert tokens.holder(request, "read", given=f"{right[:-1]}{'A' if right[-1] != 'A' else 'B'}") is None
    assert tokens.holder(request, "read", given=f"{right} ") is None
    assert tokens.holder(request, "read", given=right) is not None


def test_tokens_of_a_deactivated_person_are_refused_until_the_person_is_activated(
    settings: Settings, tmp_path: Path
) -> None:
    settings.DATA_DIR = tmp_path
    member(name="alice")
    member(name="bob")
    hers = issued("read")
    others = [
        tokens.issue("script", ["read"], expires=timezone.now() + FAR, by=by)[0] for by in ("bob", "command line")
    ]
    out = io.StringIO()
    call_command("deactivate", "alice", stdout=out)
    assert "Access tokens that alice made are refused from now on: grafana." in out.getvalue()
    assert [asked("/api/sources", text) for text in (hers, *others)] == [401, 200, 200]
    boss = Client()
    boss.force_login(member("admin", name="root"))
    page = boss.get("/tokens/").content.decode()
    assert page.count("by alice, who is deactivated, so it is refused") == 1
    call_command("activate", "alice", stdout=out)
    assert asked("/api/sources", hers) == 200
    out = io.StringIO()
    call_command("deactivate", "bob", stdout=out)
    assert "script" in out.getvalue() and "grafana" not in out.getvalue()


def test_answers_say_that_a_token_expires_soon() -> None:
    def header(text: str) -> str | None:
        return Client().get("/api/rules", headers={"Authorization": f"Bearer {text}"}).get("Causeline-Token-Expires")

    soon = issued("read", days=6)
    assert header(soon) == f"{AccessToken.objects.get(prefix=soon[:16]).expires:%Y-%m-%dT%H:%M:%SZ}"
    assert header(issued("read", days=8)) is None


def test_an_expired_or_revoked_token_opens_nothing_even_where_nobody_signs_in(settings: Settings) -> None:
    settings.LOGIN_REQUIRED = False
    expired, revoked, other = issued("read", days=-0.001), issued("read"), issued("alerts", "audit")
    assert asked("/api/sources", revoked) == 200
    assert tokens.revoke(AccessToken.objects.get(prefix=revoked[:16]).pk)
    assert [asked("/api/sources", each) for each in (expired, revoked, other)] == [401] * 3


def test_no_operation_that_changes_something_accepts_a_token(sample: Source, admin_client: Client) -> None:
    text = issued("read", "alerts", "audit")
    operations = [
        (method.upper(), path)
        for path, methods in api.get_openapi_schema()["paths"].items()
        for method in methods
        if method != "get" and not path.startswith(("/api/receivers/", "/api/audit/"))
    ]
    assert len(operations) > 10
    for method, path in operations:
        path = path.replace("{source_id}", str(sample.pk)).replace("{identity}", "0" * 16)
        for name in ("upload_id", "track_id", "number"):
            path = path.replace(f"{{{name}}}", "1")
        assert asked(path, text, method) == 403, (method, path)
        signed_in = admin_client.generic(method, path, headers={"Authorization": f"Bearer {text}"})
        assert signed_in.status_code == 403, "the token decides, whoever is signed in"


def test_a_limited_token_reads_only_its_source(sample: Source) -> None:
    cluster = Cluster.objects.create(name="prod")
    other = Source.objects.create(name="other", ready=True, cluster=cluster)
    of_source, of_cluster = issued("read", source=sample), issued("read", cluster=cluster)
    assert asked(f"/api/sources/{sample.pk}/overview", of_source) == 200
    assert asked(f"/api/sources/{other.pk}/overview", of_source) == 403
    assert asked(f"/api/sources/{sample.pk}/overview", of_cluster) == 403
    assert asked(f"/api/sources/{other.pk}", of_cluster) == 200
    for wrong in ("abc", "1.0", "9" * 400):
        assert asked(f"/api/sources/{wrong}/overview", of_source) == 403
    everywhere = ["/api/incidents", "/api/clusters", "/api/uploads", "/api/silences"]
    compared = f"/api/compare?bad={sample.pk}-1&good={other.pk}-1"
    for path in (*everywhere, compared):
        assert asked(path, of_source) == asked(path, of_cluster) == 403, path
    assert asked("/api/rules", of_source) == 200
    assert set(tokens.readable(AccessToken.objects.get(prefix=of_cluster[:16]))) == {other}


def test_a_token_ends_with_the_cluster_that_it_is_limited_to() -> None:
    cluster = Cluster.objects.create(name="prod")
    text = issued("alerts", cluster=cluster)
    cluster.delete()
    assert tokens.holder(RequestFactory().get("/"), "alerts", given=text) is None


def test_the_text_is_stored_nowhere_and_its_last_use_at_most_once_a_minute() -> None:
    text = issued("read")
    with connection.cursor() as cursor:
        cursor.execute("SELECT row_to_json(dashboard_accesstoken)::text FROM dashboard_accesstoken")
        assert text[len(tokens.BEGIN) + 6 :] not in str(cursor.fetchall())
    assert asked("/api/rules", text) == 200
    first = AccessToken.objects.get().last_used
    assert first and timezone.now() - first < timedelta(minutes=1)
    asked("/api/rules", text)
    assert AccessToken.objects.get().last_used == first
    AccessToken.objects.update(last_used=first - timedelta(seconds=61))
    asked("/api/rules", text)
    assert (AccessToken.objects.get().last_used or first) > first


@pytest.mark.parametrize(
    ("name", "scopes", "days"), [("", ["read"], 1), ("x" * 101, ["read"], 1), ("x", [], 1), ("x", ["admin"], 1),
                                 ("x", ["read"], 0), ("x", ["read"], 2000)]
)  # fmt: skip
def test_what_no_token_can_be(name: str, scopes: list[str], days: int) -> None:
    with pytest.raises(tokens.Refused):
        tokens.issue(name, scopes, expires=timezone.now() + timedelta(days=days), by="alice")


def test_an_administrator_makes_a_token_whose_text_is_shown_once(
    admin_client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    form = {"act": "create", "name": "grafana", "scope": ["read", "alerts"], "days": "90"}
    made = admin_client.post("/tokens/", form)
    row = AccessToken.objects.get()
    text = next(each for each in made.content.decode().replace("<", ">").split(">") if each.startswith("causeline_"))
    assert "no-store" in made["Cache-Control"]
    assert timedelta(days=89) < row.expires - timezone.now() < timedelta(days=91)
    assert text not in admin_client.get("/tokens/").content.decode()
    assert "not used yet" in admin_client.get("/tokens/").content.decode()
    assert tokens.holder(RequestFactory().get("/"), "alerts", given=text) == row
    asks = admin_client.post("/tokens/", {"act": "revoke", "token": row.pk}).content.decode()
    assert "refused from then on" in asks and AccessToken.objects.exists()
    admin_client.post("/tokens/", {"act": "revoke", "token": row.pk, "confirmed": "yes"})
    assert not AccessToken.objects.exists()
    lines = [each.getMessage() for each in caplog.records if each.name == "causeline.changes"]
    assert any('name="grafana"' in each and 'scopes="read alerts"' in each and 'by="admin"' in each for each in lines)
    assert text[16:] not in caplog.text


@pytest.mark.parametrize(
    ("days", "words"),
    [(8, ""), (6.9, "expires in 6 days"), (1.5, "expires in 1 day"), (0.5, "expires within a day"), (-1, "")],
)
def test_the_page_warns_before_a_token_expires(admin_client: Client, days: float, words: str) -> None:
    issued(days=days)
    shown = admin_client.get("/tokens/").content.decode()
    assert (f'<span class="matcher">{words}</span>' in shown) if words else "expires in" not in shown


@pytest.mark.parametrize("wrong", [{"days": "0"}, {"days": "soon"}, {"scope": []}, {"limit": "source-0"}])
def test_a_form_that_is_not_possible_comes_back_with_what_was_filled_in(
    admin_client: Client, wrong: dict[str, Any]
) -> None:
    form = {"act": "create", "name": "grafana", "scope": ["read"], "days": "90"}
    answer = admin_client.post("/tokens/", form | wrong)
    assert answer.status_code == 400 and 'role="alert"' in answer.content.decode()
    assert 'value="grafana"' in answer.content.decode() and not AccessToken.objects.exists()


def test_only_administrators_see_the_page(client: Client) -> None:
    client.force_login(member("responder", name="bob"))
    assert client.get("/tokens/").status_code == client.post("/tokens/", {"act": "create"}).status_code == 403


def test_the_command_makes_lists_and_revokes(
    sample: Source, capsys: pytest.CaptureFixture[str], settings: Settings, tmp_path: Any
) -> None:
    settings.DATA_DIR = tmp_path
    assert tokens.SCOPES == command_line.SCOPES
    assert (tokens.USUAL_DAYS, tokens.MOST_DAYS) == (command_line.USUAL_DAYS, command_line.MOST_DAYS)
    call_command("tokens", "create", "--scope=read", f"--source={sample.name}", "--days=7", "--", "ci")
    text = capsys.readouterr().out.strip()
    assert asked(f"/api/sources/{sample.pk}/overview", text) == 200
    call_command("tokens", "list")
    shown = capsys.readouterr().out
    assert "ci (causeline_" in shown and f"the recording {sample.name}" in shown and text not in shown
    call_command("tokens", "revoke", "--yes", "--", "ci")
    assert asked(f"/api/sources/{sample.pk}/overview", text) == 401
    for wrong in (["revoke", "ci"], ["create", "--scope=read", "--cluster=none", "--", "x"],
                  ["create", "--scope=read", "--days=0", "--", "x"]):  # fmt: skip
        with pytest.raises(SystemExit):
            call_command("tokens", *wrong, stdout=io.StringIO())

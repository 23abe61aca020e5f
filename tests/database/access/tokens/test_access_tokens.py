"""These tests check access tokens: what they open, what they never do, and that their text is stored nowhere."""

import base64
import io
from datetime import timedelta
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
from tests.database.access.asking import asked, bearer, issued, signed_in
from tests.people import member
from timeline.models import Cluster, Source

pytestmark = pytest.mark.django_db


def test_a_token_reads_the_api_and_nothing_else_whoever_is_signed_in(sample: Source, admin_client: Client) -> None:
    text = issued("read", "alerts", "audit")
    for path in ("/api/sources", "/api/incidents", "/api/rules", f"/api/sources/{sample.pk}/overview"):
        assert asked(path, text) == 200, path
    password = base64.b64encode(f"anybody:{text}".encode()).decode()
    assert Client().get("/api/sources", headers={"Authorization": f"Basic {password}"}).status_code == 200
    for path in ("/", f"/sources/{sample.pk}/", "/tokens/", "/api/docs"):
        assert asked(path, text) == 302
    for client in (Client(), admin_client):
        assert client.delete(f"/api/sources/{sample.pk}", headers=bearer(text)).status_code == 403
        assert client.post("/api/uploads", {}, "application/json", headers=bearer(text)).status_code == 403


def test_a_wrong_expired_or_revoked_text_opens_nothing_even_where_nobody_signs_in(settings: Settings) -> None:
    settings.LOGIN_REQUIRED = False
    right, expired, revoked, other = issued(), issued(days=-0.001), issued(), issued("alerts", "audit")
    assert asked("/api/sources", right) == asked("/api/sources", revoked) == 200
    assert tokens.revoke(AccessToken.objects.get(prefix=revoked[:16]).pk)
    assert [asked("/api/sources", each) for each in (expired, revoked, other)] == [401] * 3
    changed = f"{right[:-1]}{'A' if right[-1] != 'A' else 'B'}"
    for text in ("", "causeline_", "causeline_wrong", "causeline_\x7f", "causeline_é", changed, f"{right} "):
        assert tokens.holder(RequestFactory().get("/"), "read", given=text) is None, text
    assert tokens.holder(RequestFactory().get("/"), "read", given=right) is not None


def test_tokens_of_a_deactivated_person_are_refused_until_the_person_is_activated() -> None:
    for name in ("alice", "bob"):
        member(name=name)
    hers, others = issued(name="grafana"), [issued(name="script", by=by) for by in ("bob", "command line")]
    out = io.StringIO()
    call_command("deactivate", "alice", stdout=out)
    assert "Access tokens that alice made are refused from now on: grafana." in out.getvalue()
    assert [asked("/api/sources", text) for text in (hers, *others)] == [401, 200, 200]
    page = signed_in(member("admin", name="root")).get("/tokens/").content.decode()
    assert page.count("by alice, who is deactivated, so it is refused") == 1
    call_command("activate", "alice", stdout=out)
    assert asked("/api/sources", hers) == 200


@pytest.mark.parametrize(
    ("days", "words"),
    [(8, ""), (6.9, "expires in 6 days"), (1.5, "expires in 1 day"), (0.5, "expires within a day"), (-1, "")],
)
def test_the_page_and_answers_warn_before_a_token_expires(admin_client: Client, days: float, words: str) -> None:
    text = issued(days=days)
    page = admin_client.get("/tokens/").content.decode()
    assert (f'<span class="matcher">{words}</span>' in page) if words else "expires in" not in page
    said = Client().get("/api/rules", headers=bearer(text)).get("Causeline-Token-Expires")
    assert said == (f"{AccessToken.objects.get().expires:%Y-%m-%dT%H:%M:%SZ}" if words else None)


def test_a_limited_token_reads_only_its_source_and_ends_with_it(sample: Source) -> None:
    cluster = Cluster.objects.create(name="prod")
    other = Source.objects.create(name="other", ready=True, cluster=cluster)
    of_source, of_cluster = issued(source=sample), issued(cluster=cluster)
    assert asked(f"/api/sources/{sample.pk}/overview", of_source) == 200
    assert asked(f"/api/sources/{other.pk}", of_cluster) == 200
    for wrong in (other.pk, "abc", "1.0", "9" * 400):
        assert asked(f"/api/sources/{wrong}/overview", of_source) == 403
    assert asked(f"/api/sources/{sample.pk}/overview", of_cluster) == 403
    everywhere = ["/api/incidents", "/api/clusters", "/api/uploads", "/api/silences"]
    for path in (*everywhere, f"/api/compare?bad={sample.pk}-1&good={other.pk}-1"):
        assert asked(path, of_source) == asked(path, of_cluster) == 403, path
    assert asked("/api/rules", of_source) == 200
    assert set(tokens.readable(AccessToken.objects.get(prefix=of_cluster[:16]))) == {other}
    cluster.delete()
    assert tokens.holder(RequestFactory().get("/"), "read", given=of_cluster) is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": ""}, {"name": "x" * 101}, {"scope": []}, {"scope": ["admin"]}, {"days": "0"}, {"days": "2000"},
        {"days": "soon"}, {"limit": "source-0"},
    ],
    ids=lambda wrong: str(wrong)[:30],
)  # fmt: skip
def test_what_no_token_can_be_is_refused_and_the_form_keeps_what_was_filled_in(
    admin_client: Client, wrong: dict[str, Any]
) -> None:
    form = {"act": "create", "name": "grafana", "scope": ["read"], "days": "90"} | wrong
    answer = admin_client.post("/tokens/", form)
    assert answer.status_code == 400 and 'role="alert"' in answer.content.decode()
    assert f'value="{form["name"]}"' in answer.content.decode() and not AccessToken.objects.exists()


def test_the_text_is_stored_nowhere_and_its_last_use_at_most_once_a_minute() -> None:
    text = issued()
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


def test_the_command_makes_lists_and_revokes(sample: Source, capsys: pytest.CaptureFixture[str]) -> None:
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

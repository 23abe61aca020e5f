"""These tests check access tokens of programs and of people: what they open and change, what they never do, and that
their text is stored nowhere."""

import asyncio
import base64
import re
from datetime import timedelta
from typing import Any, cast

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection
from django.test import Client, RequestFactory
from django.utils import timezone
from pytest_django import Settings

from dashboard.access import limits, origins
from dashboard.access.tokens import tokens
from dashboard.agents import http
from dashboard.cli.servers import tokens as command_line
from dashboard.models import AccessToken, AuditRecord, Grant
from dashboard.push.consumers import UNAUTHORISED
from tests.database.access.asking import an_incident, asked, bearer, issued, signed_in
from tests.database.push.sockets import in_a_loop, opened
from tests.rows.people import grant, member
from timeline.models import Acknowledgement, Cluster, Silence, Source, Upload
from timeline.storage.permitted.limits import Permitted

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


def test_tokens_of_a_deactivated_person_are_refused_until_the_person_is_activated(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name in ("alice", "bob"):
        member(name=name)
    hers, others = issued(name="grafana"), [issued(name="script", by=by) for by in ("bob", "command line")]
    call_command("causeline", "deactivate", "alice")
    assert "Access tokens that alice made are refused from now on: grafana." in capsys.readouterr().out
    assert [asked("/api/sources", text) for text in (hers, *others)] == [401, 200, 200]
    page = signed_in(member("admin", name="root")).get("/tokens/").content.decode()
    assert page.count("by alice, who is deactivated, so it is refused") == 1
    call_command("causeline", "activate", "alice")
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
def test_what_no_token_can_be_is_refused_and_stays_in_the_form(admin_client: Client, wrong: dict[str, Any]) -> None:
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


def test_a_token_is_made_and_its_text_shown_once(admin_client: Client, caplog: pytest.LogCaptureFixture) -> None:
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
    call_command("causeline", "tokens", "create", "--scope=read", f"--source={sample.name}", "--days=7", "--", "ci")
    text = capsys.readouterr().out.strip()
    assert asked(f"/api/sources/{sample.pk}/overview", text) == 200
    call_command("causeline", "tokens", "list")
    shown = capsys.readouterr().out
    assert "ci (causeline_" in shown and f"the recording {sample.name}" in shown and text not in shown
    call_command("causeline", "tokens", "revoke", "--yes", "--", "ci")
    assert asked(f"/api/sources/{sample.pk}/overview", text) == 401
    for wrong in (["revoke", "ci"], ["create", "--scope=read", "--cluster=none", "--", "x"],
                  ["create", "--scope=read", "--days=0", "--", "x"]):  # fmt: skip
        with pytest.raises(SystemExit):
            call_command("causeline", "tokens", *wrong)


def personal(owner: User, *scopes: str, **limit: Any) -> str:
    return issued(tokens.OWN, *scopes, name="ci", owner=owner, by=owner.username, **limit)


def acknowledges(text: str, source: Source) -> int:
    body = f'{{"incidents": ["{an_incident(source)}"], "note": "known"}}'
    return asked(f"/api/sources/{source.pk}/acknowledgements", text, "POST", body)


def silences(text: str, about: str = "") -> int:
    body = f'{{{about} "reason": "known", "hours": 1, "rule": "duplicate-name"}}'
    return asked("/api/silences", text, "POST", body)


def test_people_make_see_and_revoke_their_own_tokens() -> None:
    alice, bob = (member("viewer", name=name) for name in ("alice", "bob"))
    page = signed_in(alice).post("/tokens/mine/", {"name": "ci", "scope": "respond", "days": "30"}).content.decode()
    found = re.search(r'id="text">(causeline_[\w-]+)<', page)
    assert found and "reads and responds to what alice may" in page
    row = AccessToken.objects.get()
    assert (row.owner, row.scopes, row.created_by) == (alice, ["own", "respond"], "alice")
    again = signed_in(alice).get("/tokens/mine/").content.decode()
    assert row.prefix in again and found[1] not in again
    assert row.prefix not in signed_in(bob).get("/tokens/mine/").content.decode()
    assert signed_in(bob).post("/tokens/mine/", {"act": "revoke", "token": row.pk}).status_code == 404
    assert signed_in(alice).get("/tokens/").status_code == 403, "that page is about the tokens of programs"
    boss = signed_in(member("admin"))
    assert row.prefix in boss.get("/tokens/").content.decode()
    assert asked("/api/sources", found[1]) == 200
    signed_in(alice).post("/tokens/mine/", {"act": "revoke", "token": row.pk, "confirmed": "yes"})
    assert asked("/api/sources", found[1]) == 401
    assert AuditRecord.objects.filter(action="tokens", who="alice", details__token=row.pk).count() == 2


def test_somebody_who_sees_a_part_makes_tokens_that_see_and_silence_that_part(sample: Source) -> None:
    other = Source.objects.create(name="elsewhere", ready=True)
    alice = member("responder", on=sample, name="alice")
    for source, status in ((other, 400), (sample, 200)):  # she cannot see the first one
        form = {"name": "ci", "scope": "own", "days": "30", "limit": f"source-{source.pk}"}
        assert signed_in(alice).post("/tokens/mine/", form).status_code == status
    text = personal(alice, "respond")
    assert [asked(f"/api/sources/{each.pk}/overview", text) for each in (sample, other)] == [200, 404]
    listed = Client().get("/api/sources", headers=bearer(text)).content.decode()
    assert sample.name in listed and other.name not in listed
    answers = [silences(text, about) for about in (f'"source": {sample.pk},', f'"source": {other.pk},', "")]
    assert answers[0] == 201 and not {200, 201} & set(answers[1:]), answers
    bob = member("responder", on=sample, namespaces=["default", "vol-restart"])
    grant(bob, "viewer", on=other, namespaces=["a"])
    whole, part = (
        limits.seen_by(tokens.reader_of(AccessToken.objects.get(prefix=text[:16])))
        for text in (personal(bob), personal(bob, "respond", source=sample))
    )
    assert whole == limits.seen_by(bob)
    assert part == Permitted(namespaces={sample.pk: frozenset({"default", "vol-restart"})})
    assert asked(f"/api/sources/{sample.pk}/overview", personal(bob)) == 200


def test_the_scope_respond_changes_what_responders_change_and_nothing_else(sample: Source) -> None:
    mine, bot = personal(member("admin", name="boss"), "respond"), issued("respond")
    upload = '{"name": "a", "files": [{"name": "a.jsonl", "size": 3}]}'
    for text in (mine, bot):
        assert silences(text, f'"source": {sample.pk},') == 201
        assert asked("/api/uploads", text, "POST", upload) == 201
        for method, path in (
            ("DELETE", f"/api/sources/{sample.pk}"), ("PATCH", f"/api/sources/{sample.pk}"), ("POST", "/api/routes"),
            ("POST", f"/api/sources/{sample.pk}/views"), ("POST", f"/api/sources/{sample.pk}/links"),
            ("POST", "/api/destinations"), ("DELETE", "/api/destinations/1"),
        ):  # fmt: skip
            assert asked(path, text, method) == 403, path
    assert [getattr(each.owner, "username", None) for each in Upload.objects.order_by("pk")] == ["boss", None]
    assert Silence.objects.order_by("pk")[0].by == "boss"
    assert [acknowledges(each, sample) for each in (issued("read"), bot)] == [403, 200]
    assert "bot (causeline_" in Acknowledgement.objects.get(source=sample).by


def test_a_token_has_the_rights_that_its_owner_has_now(sample: Source, settings: Settings) -> None:
    alice = member("responder", name="alice")
    reads, responds = personal(alice), personal(alice, "respond")
    path = f"/api/sources/{sample.pk}/overview"
    assert [asked(path, reads), acknowledges(reads, sample), acknowledges(responds, sample)] == [200, 403, 200]
    noted = Acknowledgement.objects.get(source=sample)
    assert noted.by == "alice"
    assert AuditRecord.objects.filter(action="acknowledge", who="alice", way="token", outcome="done").count() == 1
    Grant.objects.filter(user=alice).update(role="viewer")
    assert [asked(path, responds), acknowledges(responds, sample)] == [200, 403]
    Grant.objects.filter(user=alice).delete()
    assert asked(path, responds) in {403, 404}
    grant(alice, "responder", on=sample)
    assert acknowledges(responds, sample) == 200
    User.objects.filter(pk=alice.pk).update(is_active=False)
    assert asked(path, responds) == 401
    User.objects.filter(pk=alice.pk).update(is_active=True)
    assert asked(path, responds) == 200
    User.objects.get(pk=alice.pk).delete()
    assert asked(path, responds) == 401 and not AccessToken.objects.exists()


def test_a_limited_token_responds_within_its_limit(sample: Source) -> None:
    other = Source.objects.create(name="elsewhere", ready=True)
    alice = member("responder", name="alice")
    for text in (issued("respond", source=other), personal(alice, "respond", source=other)):
        assert acknowledges(text, sample) == 403
        assert asked(f"/api/sources/{sample.pk}/overview", text) == 403
        assert silences(text) == 403
    for text in (issued("respond", source=sample), personal(alice, "respond", source=sample)):
        assert acknowledges(text, sample) == 200
    cluster = Cluster.objects.create(name="prod")
    live = Source.objects.create(name="prod", ready=True, cluster=cluster)
    text = personal(alice, cluster=cluster)
    assert [asked(f"/api/sources/{each.pk}", text) for each in (live, sample)] == [200, 403]


def test_a_person_has_only_so_many_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "MOST_OWN", 1)
    alice = member("viewer")
    personal(alice)
    with pytest.raises(tokens.TokenRefused, match="There are 1 tokens"):
        personal(alice)
    personal(member("viewer", name="bob"))


@pytest.mark.parametrize(
    ("headers", "let_in"),
    [
        ({"authorization": "Bearer causeline_x"}, True),  # whether it is valid is asked later
        ({"authorization": "Bearer other"}, False),
        ({}, False),
        ({"authorization": "Bearer causeline_x", "origin": "https://evil.example"}, False),
        ({"authorization": "Bearer causeline_x", "host": "evil.example"}, False),
    ],
)
def test_programs_open_sockets_without_an_origin_if_they_send_a_token(headers: dict[str, str], let_in: bool) -> None:
    sent = [(name.encode(), value.encode()) for name, value in {"host": "localhost", **headers}.items()]
    scope = {"type": "websocket", "path": "/ws/uploads/", "query_string": b"", "headers": sent}
    assert origins._is_own_page(scope) == let_in


def test_agents_ask_with_a_personal_token_and_an_older_version_refuses_it() -> None:
    text = personal(member("viewer", name="alice"), "respond")
    for given, admitted in ((text, True), (f"{text}x", False)):
        assert bool(http._admitted(cast("Any", RequestFactory().post("/mcp", headers=bearer(given))))) is admitted
    assert AuditRecord.objects.get(action="ask as an agent").who == "alice"
    assert not {"read", "alerts", "audit", "collect"} & set(AccessToken.objects.get().scopes)


@pytest.mark.django_db(transaction=True)
@in_a_loop
async def test_sockets_take_tokens_and_close_when_their_rights_change() -> None:
    source = await sync_to_async(Source.objects.create)(name="prod", ready=True)
    alice, path = await sync_to_async(member)("viewer"), f"/ws/sources/{source.pk}/"
    text, revoked = [await sync_to_async(personal)(alice) for _ in range(2)]
    limited = await sync_to_async(issued)("read", source=source)
    for wrong in (await sync_to_async(issued)("alerts"), f"{text}x"):
        assert await (await opened(path, authorization=f"Bearer {wrong}")).code_of_end() == UNAUTHORISED
    sockets = [await opened(path, authorization=f"Bearer {each}") for each in (text, revoked, limited)]
    await sync_to_async(AccessToken.objects.filter(prefix=revoked[:16]).delete)()
    await sync_to_async(grant)(alice, "viewer", on=source)
    await sync_to_async(AccessToken.objects.filter(prefix=limited[:16]).update)(expires=timezone.now())
    for socket in sockets:
        async with asyncio.timeout(30):
            assert await socket.code_of_end() == UNAUTHORISED
        await socket.leave()
    assert await AuditRecord.objects.filter(action="open socket", way="token").acount() == 2

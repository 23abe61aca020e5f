"""These tests check tokens that people make for themselves, and tokens that change something."""

import asyncio
import re
from typing import Any, cast

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.test import Client, RequestFactory
from django.utils import timezone
from pytest_django import Settings

from dashboard.access import limits, origins
from dashboard.access.tokens import tokens
from dashboard.agents import http
from dashboard.models import AccessToken, AuditRecord, Grant
from dashboard.push.consumers import UNAUTHORISED
from tests.database.access.asking import an_incident, asked, bearer, issued, signed_in
from tests.database.push.sockets import in_a_loop, opened
from tests.people import grant, member
from timeline.models import Acknowledgement, Cluster, Silence, Source, Upload
from timeline.storage.seen.limits import Seen

pytestmark = pytest.mark.django_db


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
    assert part == Seen(namespaces={sample.pk: frozenset({"default", "vol-restart"})})
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
    with pytest.raises(tokens.Refused, match="There are 1 tokens"):
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
    text = personal(member("viewer", name="alice"))
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

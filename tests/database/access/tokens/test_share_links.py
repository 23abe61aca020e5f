"""These tests check share links: what each kind opens, that it opens no more, and when it is over."""

import asyncio
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import AnonymousUser, User
from django.db import connection
from django.db.models import F
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from dashboard.access.tokens import links
from dashboard.models import AuditRecord, Grant, ShareLink
from dashboard.push.consumers import UNAUTHORISED
from tests.database.access.asking import JSON, an_incident, in_days, page, routes, shown, signed_in
from tests.database.access.tokens.test_embedding import OTHER_SITE, view
from tests.database.alerts.test_alerts import alert, send, token
from tests.database.push.sockets import in_a_loop, opened
from tests.database.queries.objects.widgets import imported, widgets
from tests.rows.people import grant, member
from timeline.models import Incident, Silence, Source, Symptom, Track
from timeline.storage.people import acknowledgements

NOBODY = AnonymousUser()
Change = Callable[[], object]
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def links_for_anybody(settings: Settings) -> None:
    settings.SHARE_LINKS, settings.SHARE_DAYS = "anybody", 30
    settings.EMBED_ANCESTORS = [OTHER_SITE]


def shared(source: Source, maker: User | None = None, *, incident: str = "", days: float = 1, query: str = "") -> str:
    """Return the text of a link that a responder has made."""
    kind = links.INCIDENT if incident else links.TIMELINE
    maker = maker or member("responder")
    return links.issue(kind, source, maker, maker.username, expires=in_days(days), incident=incident, query=query)[0]


def test_a_responder_makes_a_link_which_people_without_an_account_open(sample: Source) -> None:
    alice = signed_in(member("responder", name="alice"))
    body = {"hours": 2, "query": "?start=1&end=2"}
    made = alice.post(f"/api/sources/{sample.pk}/links", body, JSON).json()
    address = urlsplit(made["url"])
    (text,) = parse_qs(address.query)["view_token"]
    answer = page(address.path, text)
    assert answer.status_code == 200 and not answer.cookies
    assert 'data-query="start=1&amp;end=2"' in answer.text and "shared by <bdi>alice</bdi>" in answer.text
    assert answer.headers["Referrer-Policy"] == "no-referrer" and answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["X-Robots-Tag"] == "noindex, nofollow" and answer.headers["X-Frame-Options"] == "DENY"
    for part in ("overview", "window", "incidents", "findings", "logs"):
        assert shown(f"/api/sources/{sample.pk}/{part}", text) == 200, part
    row = ShareLink.objects.get()
    assert (row.used, row.kind, row.created_by) == (1, "timeline", "alice") and row.last_used
    with connection.cursor() as cursor:
        cursor.execute("SELECT row_to_json(dashboard_sharelink)::text FROM dashboard_sharelink")
        assert text not in cursor.fetchone()[0]
    records = [(each.action, each.who, each.way, each.details.get("link")) for each in AuditRecord.objects.all()]
    assert sorted(records)[:2] == [("see", "", "link", row.pk), ("share", "alice", "account", row.pk)]
    assert not AuditRecord.objects.filter(details__icontains=text).exists()


def test_a_link_to_an_incident_shows_its_page_without_links(sample: Source) -> None:
    identity = an_incident(sample)
    alice = signed_in(member("responder", name="alice"))
    made = alice.post(f"/api/sources/{sample.pk}/links", {"hours": 2, "incident": identity}, JSON).json()
    address = urlsplit(made["url"])
    answer = page(address.path, parse_qs(address.query)["view_token"][0])
    assert address.path == f"/sources/{sample.pk}/incidents/{identity}/"
    assert answer.status_code == 200 and "What proves it" in answer.text and answer.headers["X-Robots-Tag"]
    assert re.findall(r'<a [^>]*href="[^#"][^"]*"', answer.text) == []
    assert "<form" not in answer.text and "csrf" not in answer.text
    own = alice.get(address.path).content.decode()
    assert 'id="share-dialog"' in own and own.count('<a href="/') > 10
    none = alice.post(f"/api/sources/{sample.pk}/links", {"hours": 2, "incident": "0" * 16}, JSON)
    assert none.status_code == 404


def test_a_link_to_what_is_a_symptom_now_shows_the_incident_that_has_it(sample: Source) -> None:
    part = Symptom.objects.filter(source=sample).exclude(identity=F("incident"))[0]
    address = f"/sources/{sample.pk}/incidents/{part.identity}/"
    opened = page(address, shared(sample, member("responder"), incident=part.identity))
    assert (
        opened.status_code == 200 and Incident.objects.get(source=sample, identity=part.incident).title in opened.text
    )


@pytest.mark.parametrize("kind", ["timeline", "incident", "embedded"])
def test_a_link_opens_its_page_and_what_that_asks_for_alone(sample: Source, kind: str, admin_client: Client) -> None:
    identity = an_incident(sample)
    text = view(sample.pk) if kind == "embedded" else shared(sample, incident=identity if kind == "incident" else "")
    query = {"embed": "1"} if kind == "embedded" else {}
    parts = ("opening", "overview", "window", "incidents", f"incidents/{identity}", "findings", "measure", "alerts",
             "logs", "logs/marks", "logs/proof")  # fmt: skip
    reads = {f"/api/sources/{sample.pk}/{part}" for part in parts}
    public = {"/login/", "/login/code/", "/login/oidc/", "/login/oidc/callback/", "/logout/", "/healthz", "/livez",
              "/metrics"}  # fmt: skip
    values = {"source_id": sample.pk, "track_id": Track.objects.filter(source=sample)[0].number, "cluster_id": 1,
              "number": 1, "sequence": 1, "upload_id": 1, "log": 1, "identity": identity,
              "rule_id": "duplicate-name"}  # fmt: skip
    seen = set()
    for method, route in routes():
        path = route.format(**values)
        if path.startswith("/api/") and path not in {"/api/docs", "/api/openapi.json", "/api/"}:
            allowed = path in reads or re.search(r"/tracks/\d+/(change|copy)$|/logs/\d+/line$", path) is not None
            status = shown(path, text, method)
            assert (status not in {401, 403}) == (kind != "incident" and method == "GET" and allowed), (method, path)
        elif path not in public:
            status = page(path, text, **query).status_code if method == "GET" else posted(path, text)
            seen |= {path} if status == 200 else set()
            assert status in {200, 302, 401, 403, 404, 405}, (method, path, status)
    assert seen == {f"/sources/{sample.pk}/" + (f"incidents/{identity}/" if kind == "incident" else "")}
    other = Source.objects.create(name="other", ready=True)
    assert page(f"/sources/{other.pk}/", text, **query).status_code == 403
    for path in (f"/api/sources/{other.pk}/overview", f"/api/compare?bad={sample.pk}-1&good={other.pk}-1"):
        assert shown(path, text) == 403
    headers = {links.HEADER: text}
    assert admin_client.delete(f"/api/sources/{sample.pk}", headers=headers).status_code == 403


def posted(path: str, text: str) -> int:
    return Client().post(f"{path}?{urlencode({'view_token': text})}").status_code


def test_a_link_lives_while_its_maker_may_share(sample: Source, settings: Settings) -> None:
    alice = member("responder", on=sample, name="alice")
    text = shared(sample, alice, days=3)

    def opens() -> bool:
        alike = {page(f"/sources/{sample.pk}/", text).status_code, shown(f"/api/sources/{sample.pk}/overview", text)}
        assert alike in ({200}, {403}, {403, 401})
        return alike == {200}

    grants, account = Grant.objects.filter(user=alice), User.objects.filter(pk=alice.pk)
    assert opens()
    steps: list[tuple[Change, bool]] = [
        (lambda: grants.update(role="viewer"), False),
        (grants.delete, False),
        (lambda: grant(alice, "editor", on=sample), True),
        (lambda: account.update(is_active=False), False),
        (lambda: account.update(is_active=True), True),
        (lambda: ShareLink.objects.update(created=in_days(-2)), True),
        (lambda: setattr(settings, "SHARE_DAYS", 1), False),  # it holds for the links that there are
        (lambda: setattr(settings, "SHARE_DAYS", 30), True),
        (lambda: setattr(settings, "SHARE_LINKS", "off"), False),
        (lambda: setattr(settings, "SHARE_LINKS", "anybody"), True),
        (account.delete, False),
    ]
    for number, (change, then) in enumerate(steps):
        change()
        assert opens() == then, number
    assert not ShareLink.objects.exists()


def test_links_name_files_without_their_folders() -> None:
    proof = {"file": "acme/audit.log", "line": 3, "audit_id": "a"}
    names = ["/srv/acme/kcm.log", "C:\\acme\\kcm.log", "../acme/kcm.log", "kube-system/kube-vip-7d/kube-vip"]
    payload = {"findings": [{"proof": [proof]}], "logs": [{"log": 1, "name": each, "file": None} for each in names]}
    shown = links.public(payload)
    assert shown["findings"] == [{"proof": [{**proof, "file": "audit.log"}]}]
    assert [each["name"] for each in shown["logs"]] == ["kcm.log", "kcm.log", "kcm.log", names[-1]]


def test_wrong_and_expired_texts_open_nothing(sample: Source) -> None:
    good, late = shared(sample), shared(sample, days=-0.001)
    for text in (f"{good}x", good[:-1], f"{links.BEGIN}é", "", late, good.upper(), f"{links.BEGIN}\0"):
        assert links.opened(text, NOBODY) is None, text
    answer = page(f"/sources/{sample.pk}/", late)
    assert answer.status_code == 403 and "This link is over" in answer.text and sample.name not in answer.text
    assert answer.headers["Referrer-Policy"] == "no-referrer"


def test_links_can_be_kept_to_people_who_are_signed_in(sample: Source, settings: Settings) -> None:
    settings.SHARE_LINKS = "signed-in"
    text, stranger = shared(sample), member()
    answer = page(f"/sources/{sample.pk}/", text)
    assert answer.status_code == 403 and "Sign in first" in answer.text
    path, headers = f"/api/sources/{sample.pk}/overview", {"Causeline-View": text}
    assert Client().get(path, headers=headers).status_code == 401
    assert signed_in(stranger).get(path, headers=headers).status_code == 200
    record = AuditRecord.objects.filter(action="see", way="link", outcome="done").get()
    assert (record.who, record.account) == (stranger.username, stranger.pk)


def test_who_may_make_links_and_for_how_long(sample: Source, settings: Settings) -> None:
    path = f"/api/sources/{sample.pk}/links"

    def asks(user: User, **body: Any) -> int:
        return signed_in(user).post(path, {"hours": 1, **body}, JSON).status_code

    responder, viewer = member("responder", on=sample), member("viewer")
    assert [asks(each) for each in (responder, viewer)] == [200, 403]
    assert asks(member("responder", on=sample, namespaces=["default"])) in {403, 404}, "a part is not all of it"
    assert [asks(responder, hours=hours) for hours in (0, 30 * 24, 30 * 24 + 1)] == [422, 200, 422]
    assert [asks(responder, query="a" * length) for length in (2000, 2001)] == [200, 422]
    assert [asks(responder, incident=given) for given in ("no such", "g" * 16)] == [422, 422]
    offered = signed_in(responder).get(f"/sources/{sample.pk}/").content.decode()
    offered = offered.partition('id="share-hours"')[2].partition("</select>")[0]
    assert offered.count(" selected") == 1 and '"168" selected' in offered
    settings.SHARE_LINKS = "off"
    assert asks(responder) == 403
    assert 'id="share-dialog"' not in signed_in(responder).get(f"/sources/{sample.pk}/").content.decode()


def test_people_see_and_revoke_their_links_and_administrators_those_of_all(sample: Source) -> None:
    alice, bob = member("responder", name="alice"), member("responder", name="bob")
    text = shared(sample, alice, query="start=1&end=2")
    row = ShareLink.objects.get()
    own = signed_in(alice).get("/shared/").content.decode()
    assert row.prefix in own and "not opened yet" in own and f"/sources/{sample.pk}/?start=1&amp;end=2" in own
    assert text not in own and "Links of everybody" not in own
    assert row.prefix not in signed_in(bob).get("/shared/?all").content.decode()
    assert signed_in(bob).post("/shared/", {"link": row.pk, "confirmed": "yes"}).status_code == 404
    asks = signed_in(alice).post("/shared/", {"link": row.pk})
    assert asks.status_code == 200 and b"reads nothing with it from then on" in asks.content
    assert links.opened(text, NOBODY)
    boss = signed_in(member("admin", name="root"))
    assert row.prefix in boss.get("/shared/?all").content.decode()
    boss.post("/shared/", {"link": row.pk, "confirmed": "yes"})
    assert links.opened(text, NOBODY) is None
    record = AuditRecord.objects.get(action="revoke link", who="root", details__link=row.pk)
    assert record.source == sample.pk


def test_a_person_has_only_so_many_links(sample: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links, "MOST", 2)
    alice = member("responder")
    shared(sample, alice), shared(sample, alice)
    with pytest.raises(links.LinkRefused, match="2 links"):
        shared(sample, alice)
    ShareLink.objects.filter(maker=alice).update(expires=timezone.now() - timedelta(days=31))
    shared(sample, alice)
    assert ShareLink.objects.count() == 1, "what expired long ago is deleted"


def test_an_embedded_timeline_is_revoked_alone(sample: Source, settings: Settings) -> None:
    settings.SHARE_LINKS, path = "off", f"/sources/{sample.pk}/"
    boss = signed_in(member("admin", name="root"))
    made = [boss.post(f"/api{path}views", {"hours": 2}, JSON).json()["url"] for _ in range(2)]
    texts = [parse_qs(urlsplit(each).query)["view_token"][0] for each in made]

    def opens() -> list[int]:
        return [page(path, each, embed="1").status_code for each in texts]

    assert opens() == [200, 200]
    ShareLink.objects.filter(prefix=texts[0][:21]).delete()
    assert opens() == [403, 200]
    assert page(path, texts[1], embed="0").status_code == 403, "only in a frame"
    settings.EMBED_ANCESTORS = []
    assert opens() == [403, 403]


@pytest.mark.django_db(transaction=True)
@in_a_loop
async def test_sockets_close_when_a_link_is_over_and_open_for_nothing_else() -> None:
    source, other = [await sync_to_async(Source.objects.create)(name=name, ready=True) for name in ("prod", "other")]
    text, path = await sync_to_async(shared)(source), f"/ws/sources/{source.pk}/"
    of_incident = await sync_to_async(shared)(source, incident="0" * 16)
    ends_soon = await opened(path, urlencode({"cursor": 0, "view_token": view(source.pk, 5)}))
    embedded, late = view(source.pk), view(source.pk, -1)
    elsewhere = (f"/ws/sources/{other.pk}/", "/ws/uploads/", "/ws/incidents/")
    for where, given in (
        (path, of_incident), ("/ws/links/", ""), ("/ws/links/", f"{text}x"), (path, late),
        *((each, given) for each in elsewhere for given in (text, embedded)),
    ):  # fmt: skip
        socket = await opened(where, urlencode({"view_token": given}))
        assert await socket.code_of_end() == UNAUTHORISED, where
    sockets = [await opened(each, urlencode({"view_token": text})) for each in (path, "/ws/links/")]
    await sync_to_async(ShareLink.objects.exclude(incident="0" * 16).delete)()
    for socket in (*sockets, ends_soon):
        async with asyncio.timeout(30):
            assert await socket.code_of_end() == UNAUTHORISED
        await socket.leave()


def words_of(value: Any) -> set[str]:
    """Return all texts in a payload."""
    if isinstance(value, dict | list):
        return {word for each in (value.values() if isinstance(value, dict) else value) for word in words_of(each)}
    return {value} if isinstance(value, str) else set()


def test_a_link_does_not_show_what_people_and_other_programs_wrote(sample: Source) -> None:
    alice = member("responder", name="alice")
    acknowledgements.acknowledge_incidents(sample.pk, [an_incident(sample)], "bob", "see TICKET-7")
    others = list(Incident.objects.filter(source=sample).values_list("identity", flat=True))[1:]
    until = timezone.now() + timedelta(hours=1)
    Silence.objects.create(source=sample, owner="ring", reason="BECAUSE-8", by="carol", expires=until)
    job = Track.objects.get(source=sample, kind="Job", name="ring")
    begun = datetime.fromtimestamp(job.lifeline[0][0] / 1e6, tz=UTC)
    sent = alert(namespace=job.namespace, job_name=job.name) | {"startsAt": begun.isoformat()}
    assert send(token("alerts", name="the-token-of-alerts", source=sample), sent).status_code == 200
    signed, base = signed_in(alice), f"/api/sources/{sample.pk}"
    pod = Track.objects.filter(source=sample, kind="Pod")[0]
    span = "start=0&end=2000000000000000"
    reads = [f"{base}/{part}" for part in (
        "opening?hidden=1", "overview", f"window?{span}", "incidents?silenced=1&acknowledged=1", "findings", "logs",
        f"alerts?{span}", f"incidents/{an_incident(sample)}", f"incidents/{others[0]}",
        f"measure?start={job.lifeline[0][0]}&end={job.lifeline[-1][0]}", f"tracks/{pod.id}/change?at=0",
    )]  # fmt: skip
    secret = {"bob", "see TICKET-7", "carol", "BECAUSE-8", "the-token-of-alerts", "https://prometheus.example/graph"}
    asked = Client(headers={links.HEADER: shared(sample, alice)})
    whole: set[str] = set()
    for address in reads:
        theirs, ours = asked.get(address), signed.get(address)
        assert theirs.status_code == ours.status_code == 200, address
        assert not words_of(theirs.json()) & secret, address
        whole |= words_of(ours.json())
    assert secret <= whole
    for each in (an_incident(sample), *others):
        html = page(f"/sources/{sample.pk}/incidents/{each}/", shared(sample, alice, incident=each)).text
        assert not [word for word in secret if word in html] and "None" not in html


def test_a_link_shows_single_changes_and_no_whole_objects(tmp_path: Path) -> None:
    kept = {f"kept-{number}": "whole" for number in range(20)}
    with imported(widgets(tmp_path, [{**kept, "replicas": number} for number in range(3)])) as (source, track):
        asked = Client(headers={links.HEADER: shared(source)})
        base = f"/api/sources/{source.pk}/tracks/{track.id}"
        first, second, third = (asked.get(f"{base}/change?revision={number}").json() for number in (100, 101, 102))
        assert first["whole"] and first["lines"] == [] and "does not show whole objects" in first["nothing"]
        for each in (second, third):
            assert [text for sign, text in each["lines"] if sign == "+"] == [f"  replicas: {each['number'] - 1}"]
            assert "kept-0" not in str(each)
        for each in (first, second, third):
            assert (each["body"], each["revision_url"], each["texts"]) == (None, "", [])
        copy = f"{base}/copy?copied=100&stood=102"  # on which nobody acted
        assert asked.get(copy).status_code == 404 and signed_in(member("viewer")).get(copy).status_code == 200

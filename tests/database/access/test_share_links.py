"""These tests check share links: what each kind opens, that it opens no more, and when it is over."""

import asyncio
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import AnonymousUser, User
from django.db import connection
from django.test import Client
from django.urls import URLPattern, get_resolver
from django.utils import timezone
from pytest_django import Settings

from dashboard.access.tokens import links
from dashboard.models import AuditRecord, Grant, ShareLink
from dashboard.push.consumers import UNAUTHORISED
from dashboard.web.api import api
from tests.database.access.test_embedding import asked, page
from tests.database.alerts.test_alerts import alert, send, token
from tests.database.push.test_push import Page, nobody_listens, run
from tests.database.queries.objects.widgets import imported, widgets
from tests.people import grant, member
from timeline.models import Incident, Silence, Source, Track
from timeline.storage.people import acknowledgements

JSON = "application/json"
NOBODY = AnonymousUser()


@pytest.fixture(autouse=True)
def accounts(settings: Settings) -> None:
    settings.LOGIN_REQUIRED, settings.TOKEN_REQUIRED = True, False
    settings.SHARE_LINKS, settings.SHARE_DAYS = "anybody", 30


def shared(source: Source, maker: User | None = None, *, incident: str = "", days: float = 1, query: str = "") -> str:
    """Return the text of a link that a responder has made."""
    kind = links.INCIDENT if incident else links.TIMELINE
    expires = timezone.now() + timedelta(days=days)
    maker = maker or member("responder")
    return links.issue(kind, source, maker, maker.username, expires=expires, incident=incident, query=query)[0]


def an_incident(source: Source) -> str:
    return str(Incident.objects.filter(source=source).values_list("identity", flat=True)[0])


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


@pytest.mark.django_db
def test_a_responder_makes_a_link_which_people_without_an_account_open(sample: Source) -> None:
    alice = signed_in(member("responder", name="alice"))
    body = {"hours": 2, "query": "?start=1&end=2"}
    made = alice.post(f"/api/sources/{sample.pk}/links", body, JSON).json()
    address = urlsplit(made["url"])
    (text,) = parse_qs(address.query)["view_token"]
    answer = page(address.path, text, embed="")
    assert answer.status_code == 200 and not answer.cookies
    assert 'data-query="start=1&amp;end=2"' in answer.text and "shared by <bdi>alice</bdi>" in answer.text
    assert answer.headers["Referrer-Policy"] == "no-referrer" and answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["X-Robots-Tag"] == "noindex, nofollow" and answer.headers["X-Frame-Options"] == "DENY"
    for part in ("overview", "window", "incidents", "findings", "logs"):
        assert asked(f"/api/sources/{sample.pk}/{part}", text) == 200, part
    row = ShareLink.objects.get()
    assert (row.used, row.kind, row.created_by) == (1, "timeline", "alice") and row.last_used
    with connection.cursor() as cursor:
        cursor.execute("SELECT row_to_json(dashboard_sharelink)::text FROM dashboard_sharelink")
        assert text not in cursor.fetchone()[0]
    records = [(each.action, each.who, each.way, each.details.get("link")) for each in AuditRecord.objects.all()]
    assert sorted(records)[:2] == [("see", "", "link", row.pk), ("share", "alice", "account", row.pk)]
    assert not AuditRecord.objects.filter(details__icontains=text).exists()


@pytest.mark.django_db
def test_a_link_to_an_incident_shows_its_page_without_links(sample: Source) -> None:
    identity = an_incident(sample)
    alice = signed_in(member("responder", name="alice"))
    made = alice.post(f"/api/sources/{sample.pk}/links", {"hours": 2, "incident": identity}, JSON).json()
    address = urlsplit(made["url"])
    (text,) = parse_qs(address.query)["view_token"]
    assert address.path == f"/sources/{sample.pk}/incidents/{identity}/"
    answer = page(address.path, text, embed="")
    assert answer.status_code == 200 and "What proves it" in answer.text and answer.headers["X-Robots-Tag"]
    assert re.findall(r'<a [^>]*href="[^#"][^"]*"', answer.text) == []
    assert "<form" not in answer.text and "csrf" not in answer.text
    own = alice.get(address.path).content.decode()
    assert 'id="share-dialog"' in own and own.count('<a href="/') > 10
    none = alice.post(f"/api/sources/{sample.pk}/links", {"hours": 2, "incident": "0" * 16}, JSON)
    assert none.status_code == 404


def _addresses(source: Source) -> list[tuple[str, str]]:
    """Return method and address of each page and each operation of the API, for a source."""
    track = Track.objects.filter(source=source).values_list("number", flat=True)[0]
    numbers = {"source_id": source.pk, "track_id": track, "cluster_id": 1, "number": 1, "sequence": 1, "upload_id": 1,
               "log": 1, "identity": an_incident(source), "rule_id": "duplicate-name"}  # fmt: skip
    found = []
    for each in get_resolver().url_patterns:
        if isinstance(each, URLPattern):
            filled = re.sub(r"<(?:\w+:)?(\w+)>", lambda name: str(numbers[name[1]]), str(each.pattern))
            found += [("GET", f"/{filled}"), ("POST", f"/{filled}")]
    for path, methods in api.get_openapi_schema()["paths"].items():
        filled = re.sub(r"{(\w+)}", lambda name: str(numbers[name[1]]), path)
        found += [(method.upper(), filled) for method in methods]
    return found


@pytest.mark.django_db
@pytest.mark.parametrize("kind", ["timeline", "incident"])
def test_a_link_opens_nothing_but_its_page_and_what_that_asks_for(sample: Source, kind: str) -> None:
    identity = an_incident(sample)
    text = shared(sample, incident=identity if kind == "incident" else "")
    own = f"/sources/{sample.pk}/" if kind == "timeline" else f"/sources/{sample.pk}/incidents/{identity}/"
    parts = ("opening", "overview", "window", "incidents", f"incidents/{identity}", "findings", "measure", "alerts",
             "logs")  # fmt: skip
    reads = {f"/api/sources/{sample.pk}/{part}" for part in (*parts, "logs/marks")}
    reads |= {path for _, path in _addresses(sample) if re.search(r"/tracks/\d+/(change|copy)$|/logs/\d+/line$", path)}
    public = {"/login/", "/login/code/", "/login/oidc/", "/login/oidc/callback/", "/logout/", "/healthz", "/livez",
              "/metrics"}  # fmt: skip
    opened = set()
    for method, path in _addresses(sample):
        if path.startswith("/api/") and path not in {"/api/docs", "/api/openapi.json", "/api/"}:
            status = asked(path, text, method)
            allowed = kind == "timeline" and method == "GET" and path in reads
            assert (status not in {401, 403}) == allowed, (method, path, status)
        elif path not in public:
            status = asked_page(path, text, method)
            if status == 200:
                opened.add(path)
            else:
                assert status in {302, 401, 403, 404, 405}, (method, path, status)
    assert opened == {own}
    other = Source.objects.create(name="other", ready=True)
    assert page(f"/sources/{other.pk}/", text, embed="").status_code == 403
    assert asked(f"/api/sources/{other.pk}/overview", text) == 403


def asked_page(path: str, text: str, method: str) -> int:
    if method == "GET":
        return page(path, text, embed="").status_code
    return Client().generic(method, f"{path}?{urlencode({'view_token': text})}").status_code


@pytest.mark.django_db
def test_a_link_lives_while_its_maker_may_share(sample: Source, settings: Settings) -> None:
    alice = member("responder", on=sample, name="alice")
    text = shared(sample, alice, days=3)

    def opens() -> bool:
        alike = {page(f"/sources/{sample.pk}/", text, embed="").status_code == 200,
                 asked(f"/api/sources/{sample.pk}/overview", text) == 200}  # fmt: skip
        assert len(alike) == 1
        return alike.pop()

    assert opens()
    Grant.objects.filter(user=alice).update(role="viewer")
    assert not opens()
    Grant.objects.filter(user=alice).delete()
    assert not opens()
    grant(alice, "editor", on=sample)
    assert opens()
    User.objects.filter(pk=alice.pk).update(is_active=False)
    assert not opens()
    User.objects.filter(pk=alice.pk).update(is_active=True)
    ShareLink.objects.update(created=timezone.now() - timedelta(days=2))
    assert opens()
    settings.SHARE_DAYS = 1
    assert not opens(), "a shorter longest time holds for the links that there are"
    settings.SHARE_DAYS, settings.SHARE_LINKS = 30, "off"
    assert not opens()
    settings.SHARE_LINKS = "anybody"
    assert opens()
    User.objects.get(pk=alice.pk).delete()
    assert not opens() and not ShareLink.objects.exists()


def test_links_name_files_without_their_folders() -> None:
    proof = {"file": "acme/audit.log", "line": 3, "audit_id": "a"}
    names = ["/srv/acme/kcm.log", "C:\\acme\\kcm.log", "../acme/kcm.log", "kube-system/kube-vip-7d/kube-vip"]
    payload = {"findings": [{"proof": [proof]}], "logs": [{"log": 1, "name": each, "file": None} for each in names]}
    shown = links.public(payload)
    assert shown["findings"] == [{"proof": [{**proof, "file": "audit.log"}]}]
    assert [each["name"] for each in shown["logs"]] == ["kcm.log", "kcm.log", "kcm.log", names[-1]]


@pytest.mark.django_db
def test_wrong_and_expired_texts_open_nothing(sample: Source) -> None:
    good, late = shared(sample), shared(sample, days=-0.001)
    for text in (f"{good}x", good[:-1], f"{links.BEGIN}é", "", late, good.upper(), f"{links.BEGIN}\0"):
        assert links.opened(text, NOBODY) is None, text
    answer = page(f"/sources/{sample.pk}/", late, embed="")
    assert answer.status_code == 403 and "This link is over" in answer.text and sample.name not in answer.text
    assert answer.headers["Referrer-Policy"] == "no-referrer"


@pytest.mark.django_db
def test_links_can_be_kept_to_people_who_are_signed_in(sample: Source, settings: Settings) -> None:
    settings.SHARE_LINKS = "signed-in"
    text, stranger = shared(sample), member()
    answer = page(f"/sources/{sample.pk}/", text, embed="")
    assert answer.status_code == 403 and "Sign in first" in answer.text
    path, headers = f"/api/sources/{sample.pk}/overview", {"Causeline-View": text}
    assert Client().get(path, headers=headers).status_code == 401
    assert signed_in(stranger).get(path, headers=headers).status_code == 200
    record = AuditRecord.objects.filter(action="see", way="link", outcome="done").get()
    assert (record.who, record.account) == (stranger.username, stranger.pk)


@pytest.mark.django_db
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


@pytest.mark.django_db
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


@pytest.mark.django_db
def test_a_person_has_only_so_many_links(sample: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links, "MOST", 2)
    alice = member("responder")
    shared(sample, alice), shared(sample, alice)
    with pytest.raises(links.Refused, match="2 links"):
        shared(sample, alice)
    ShareLink.objects.filter(maker=alice).update(expires=timezone.now() - timedelta(days=31))
    shared(sample, alice)
    assert ShareLink.objects.count() == 1, "what expired long ago is deleted"


@pytest.mark.django_db
def test_an_embedded_timeline_is_revoked_alone(sample: Source, admin_client: Client, settings: Settings) -> None:
    settings.EMBED_ANCESTORS, settings.SHARE_LINKS = ["https://grafana.example.org"], "off"
    boss = signed_in(member("admin", name="root"))
    texts = []
    for _ in range(2):
        made = boss.post(f"/api/sources/{sample.pk}/views", {"hours": 2}, JSON).json()
        texts.append(parse_qs(urlsplit(made["url"]).query)["view_token"][0])
    assert [page(f"/sources/{sample.pk}/", each).status_code for each in texts] == [200, 200]
    ShareLink.objects.filter(prefix=texts[0][:21]).delete()
    assert [page(f"/sources/{sample.pk}/", each).status_code for each in texts] == [403, 200]
    assert page(f"/sources/{sample.pk}/", texts[1], embed="0").status_code == 403, "only in a frame"
    settings.EMBED_ANCESTORS = []
    assert page(f"/sources/{sample.pk}/", texts[1]).status_code == 403


@pytest.mark.django_db(transaction=True)
def test_sockets_close_when_a_link_is_revoked_and_open_for_nothing_else() -> None:
    async def scenario() -> None:
        source = await sync_to_async(Source.objects.create)(name="prod", ready=True)
        other = await sync_to_async(Source.objects.create)(name="other", ready=True)
        text = await sync_to_async(shared)(source)
        of_incident = await sync_to_async(shared)(source, incident="0" * 16)
        refused = ((f"/ws/sources/{other.pk}/", text), (f"/ws/sources/{source.pk}/", of_incident), ("/ws/links/", ""),
                   ("/ws/uploads/", text), ("/ws/incidents/", text), ("/ws/links/", f"{text}x"))  # fmt: skip
        for path, given in refused:
            socket = Page(path, urlencode({"view_token": given}))
            assert await socket.connect()
            assert (await socket.output())["code"] == UNAUTHORISED, path
        sockets = [Page(path, urlencode({"view_token": text})) for path in (f"/ws/sources/{source.pk}/", "/ws/links/")]
        for socket in sockets:
            assert await socket.connect()
        await sync_to_async(ShareLink.objects.exclude(incident="0" * 16).delete)()
        for socket in sockets:
            async with asyncio.timeout(30):
                assert await socket.code_of_end() == UNAUTHORISED
            await socket.leave()
        await nobody_listens()

    run(scenario)


def words_of(value: Any) -> set[str]:
    """Return all texts in a payload."""
    if isinstance(value, dict):
        return {word for each in value.values() for word in words_of(each)}
    if isinstance(value, list):
        return {word for each in value for word in words_of(each)}
    return {value} if isinstance(value, str) else set()


@pytest.mark.django_db
def test_a_link_does_not_show_what_people_and_other_programs_wrote(sample: Source) -> None:
    alice = member("responder", name="alice")
    acknowledgements.acknowledge_incidents(sample.pk, [an_incident(sample)], "bob", "see TICKET-7")
    others = list(Incident.objects.filter(source=sample).values_list("identity", flat=True))[1:]
    until = timezone.now() + timedelta(hours=1)
    Silence.objects.create(source=sample, rule="service-gap", reason="BECAUSE-8", by="carol", expires=until)
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
        html = page(f"/sources/{sample.pk}/incidents/{each}/", shared(sample, alice, incident=each), embed="").text
        assert not [word for word in secret if word in html] and "None" not in html


@pytest.mark.django_db
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

"""These tests walk all pages, operations of the API and sockets as somebody who may see one recording, and look for
words of another one. Somebody who sees everything does find these words, so the tests can fail."""

from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import URLPattern, get_resolver
from django.utils import timezone
from pytest_django import DjangoDbBlocker, Settings

from dashboard.access.tokens import tokens
from dashboard.models import Grant
from dashboard.web.api import api
from tests.database.push.test_push import Page, nobody_listens, notify, run
from tests.recordings import SAMPLE, observations_of
from timeline.history.world.world import World
from timeline.models import Alert, Cluster, Finding, Incident, Silence, Source, Track, Upload
from timeline.pipeline import ingest
from timeline.storage import store
from timeline.storage.entries import chunks
from timeline.storage.seen.limits import Seen, seeing

CANARY = "canarygull"  # in all that belongs to what is hidden


@pytest.fixture(scope="module")
def hidden(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Source]:
    with django_db_blocker.unblock():
        source = store.open_source(f"{CANARY} recording")
        ingest(source, World(), observations_of(SAMPLE))
        store.show_source(source)
    yield source
    with django_db_blocker.unblock():
        store.discard_source(source)


@pytest.fixture(autouse=True)
def accounts(settings: Settings) -> None:
    settings.LOGIN_REQUIRED, settings.TOKEN_REQUIRED = True, False


def about(hidden: Source) -> None:
    """Name what is hidden wherever lists over all sources could name it."""
    cluster = Cluster.objects.create(name=f"{CANARY}-cluster")
    Source.objects.create(name=f"{CANARY}-live", ready=True, cluster=cluster)
    Upload.objects.create(name=f"{CANARY}-upload", source=hidden)
    until = timezone.now() + timedelta(days=1)
    Silence.objects.create(source=hidden, namespace=CANARY, reason=CANARY, by=CANARY, expires=until)
    more = {"namespace": "default", "objects_named": [], "labels": {"a": CANARY}, "annotations": {}, "url": ""}
    times = {"started": timezone.now(), "seen": timezone.now()}
    Alert.objects.create(receiver=CANARY, cluster=CANARY, identity="1" * 32, name=CANARY, **more, **times)


def addresses(source: Source) -> list[str]:
    """Return the address of each page and of each operation of the API that reads, for a source."""
    track = Track.objects.filter(source=source, kind="Pod").first()
    incident = Incident.objects.filter(source=source).first()
    found = Finding.objects.filter(source=source, withdrawn=False).first()
    assert track and incident and found
    values = {
        "source_id": source.pk,
        "track_id": track.id,
        "sequence": 1,
        "number": 1,
        "cluster_id": 1,
        "upload_id": 1,
        "log": 1,
    }
    pages = [
        f"/{each.pattern}" for each in get_resolver().url_patterns if isinstance(each, URLPattern)
    ]  # fmt: skip
    paths = [path for path, methods in api.get_openapi_schema()["paths"].items() if "get" in methods]
    made = []
    for path in {*pages, *paths, "/compare/?bad={source_id}-{track_id}&good={source_id}-{track_id}"}:
        identity = found.identity if "findings" in path else incident.identity
        for before, after in (("<int:", "{"), ("<slug:", "{"), (">", "}")):
            path = path.replace(before, after)
        made.append(path.format(**values, identity=identity, rule_id="orphan-pod"))
    return [path for path in made if path not in {"/logout/", "/metrics"}]


def somebody(source: Source | None) -> Client:
    """Return the browser of somebody who may see this source, or everything."""
    user = User.objects.create_user("reader")
    Grant.objects.create(user=user, source=source, role=Grant.Role.VIEWER)
    client = Client()
    client.force_login(user)
    return client


def text_of(client: Client, path: str, **headers: str) -> str:
    answer = client.get(path, headers=headers)
    assert answer.status_code < 500, path
    if answer.streaming:  # see `test_each_query_of_a_limited_reader_leaves_out_the_rest`
        return ""
    return answer.content.decode(errors="replace")


@pytest.mark.django_db
def test_whoever_sees_one_recording_finds_no_word_of_another(sample: Source, hidden: Source) -> None:
    about(hidden)
    client = somebody(sample)
    for path in (*addresses(sample), *addresses(hidden)):
        assert CANARY not in text_of(client, path), path
    for path in addresses(hidden):
        if f"/sources/{hidden.pk}" in path:
            assert client.get(path).status_code >= 400, path


@pytest.mark.django_db
def test_whoever_sees_everything_finds_these_words(sample: Source, hidden: Source) -> None:
    about(hidden)
    client = somebody(None)
    found = {path for path in addresses(hidden) if CANARY in text_of(client, path)}
    assert found >= {"/", "/alerts/", "/clusters/", "/silences/", "/api/sources", "/api/clusters"}
    assert f"/sources/{hidden.pk}/" in found


@pytest.mark.django_db
def test_a_limited_token_finds_no_word_of_another_recording(sample: Source, hidden: Source) -> None:
    about(hidden)
    text, _ = tokens.issue("bot", ["read"], expires=timezone.now() + timedelta(days=1), by="a", source=sample)
    for path in (*addresses(sample), *addresses(hidden)):
        if path.startswith("/api/"):
            assert CANARY not in text_of(Client(), path, Authorization=f"Bearer {text}"), path


@pytest.mark.django_db(transaction=True)
def test_a_socket_tells_nothing_of_what_is_hidden() -> None:
    seen, other = (Source.objects.create(name=name, ready=True) for name in ("seen", CANARY))
    shown = Upload.objects.create(name="shown", source=seen)
    secret = Upload.objects.create(name=CANARY, source=other)
    cookie = f"causeline_session={somebody(seen).cookies['causeline_session'].value}"

    async def scenario() -> None:
        uploads, incidents = Page(cookie=cookie), Page("/ws/incidents/", cookie=cookie)
        assert await uploads.connect() and await incidents.connect()
        assert (await uploads.news())["type"] == "refetch"  # by then, PostgreSQL is listened to for both
        for upload in (secret, shown):
            await notify(upload=upload.pk)
        for source in (other, seen):
            await notify(incidents=1, source=source.pk)
        assert (await uploads.news())["upload"]["name"] == "shown"
        while (told := await incidents.news())["type"] != "incidents":
            pass
        assert told["source"] == seen.pk
        for number in (other.pk, 2**40):  # one that does not exist is answered alike
            page = Page(f"/ws/sources/{number}/", cookie=cookie)
            assert await page.connect()
            while (told := await page.news())[
                "type"
            ] == "alerts":  # all pages are told so when PostgreSQL is listened to
                pass
            assert told["type"] == "gone"
            await page.leave()
        for each in (uploads, incidents):
            await each.leave()
        await nobody_listens()

    run(scenario)


@pytest.mark.django_db
def test_each_query_of_a_limited_reader_leaves_out_the_rest(sample: Source, hidden: Source) -> None:
    with seeing(Seen(whole=frozenset({sample.pk}))):
        assert list(chunks.lines(sample.pk)) and not list(chunks.lines(hidden.pk))
        assert {*Track.objects.values_list("source", flat=True).distinct()} == {sample.pk}
        assert {*Finding.objects.values_list("source", flat=True).distinct()} == {sample.pk}

"""These tests walk all pages, operations of the API and sockets as somebody who may see one recording, and look for
words of another one. Somebody who sees everything does find these words, so the tests can fail."""

from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoDbBlocker

from tests.database.access.asking import bearer, issued, read_routes, signed_in
from tests.database.push.sockets import cookie_of, in_a_loop, listening, notify, opened
from tests.people import member
from tests.recordings import SAMPLE, observations_of
from timeline.history.world.world import World
from timeline.models import Alert, Cluster, Finding, Incident, Silence, Source, Track, Upload
from timeline.pipeline import ingest
from timeline.storage import store
from timeline.storage.entries import chunks
from timeline.storage.seen.limits import Seen, seeing

CANARY = "canarygull"  # in all that belongs to what is hidden
pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def hidden(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Source]:
    with django_db_blocker.unblock():
        source = store.open_source(f"{CANARY} recording")
        ingest(source, World(), observations_of(SAMPLE))
        store.show_source(source)
    yield source
    with django_db_blocker.unblock():
        store.discard_source(source)


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
    values = {"source_id": source.pk, "track_id": track.id, "rule_id": "orphan-pod"}
    values |= dict.fromkeys(("sequence", "number", "cluster_id", "upload_id", "log"), 1)
    compared = "/compare/?bad={source_id}-{track_id}&good={source_id}-{track_id}"
    return [
        path.format(**values, identity=found.identity if "findings" in path else incident.identity)
        for path in (*read_routes(), compared)
    ]


def text_of(client: Client, path: str) -> str:
    answer = client.get(path)
    assert answer.status_code < 500, path
    if answer.streaming:  # see `test_each_query_of_a_limited_reader_leaves_out_the_rest`
        return ""
    return answer.content.decode(errors="replace")


@pytest.mark.parametrize("reader", ["person", "token"])
def test_whoever_sees_one_recording_finds_no_word_of_another(sample: Source, hidden: Source, reader: str) -> None:
    about(hidden)
    limited = Client(headers=bearer(issued("read", source=sample)))
    client = signed_in(member("viewer", on=sample)) if reader == "person" else limited
    for path in (*addresses(sample), *addresses(hidden)):
        if reader == "person" or path.startswith("/api/"):
            assert CANARY not in text_of(client, path), path
            assert f"/sources/{hidden.pk}" not in path or client.get(path).status_code >= 400, path


def test_whoever_sees_everything_finds_these_words(sample: Source, hidden: Source) -> None:
    about(hidden)
    client = signed_in(member("viewer"))
    for path in (
        "/",
        "/alerts/",
        "/clusters/",
        "/silences/",
        "/api/sources",
        "/api/clusters",
        f"/sources/{hidden.pk}/",
    ):
        assert path in addresses(hidden) and CANARY in text_of(client, path), path


@pytest.mark.django_db(transaction=True)
def test_a_socket_tells_nothing_of_what_is_hidden() -> None:
    seen, other = (Source.objects.create(name=name, ready=True) for name in ("seen", CANARY))
    shown = Upload.objects.create(name="shown", source=seen)
    secret = Upload.objects.create(name=CANARY, source=other)
    cookie = cookie_of(member("viewer", on=seen))

    @in_a_loop
    async def scenario() -> None:
        incidents, uploads = await opened("/ws/incidents/", cookie=cookie), await listening(cookie=cookie)
        for upload in (secret, shown):
            await notify(upload=upload.pk)
        for source in (other, seen):
            await notify(incidents=1, source=source.pk)
        assert (await uploads.news())["upload"]["name"] == "shown"
        assert (await incidents.news("incidents"))["source"] == seen.pk
        for each in (uploads, incidents):
            await each.leave()
        for number in (other.pk, 2**40):  # one that does not exist is answered alike
            page = await opened(f"/ws/sources/{number}/", cookie=cookie)
            while (told := await page.news())["type"] == "alerts":  # as all pages are when PostgreSQL is listened to
                pass
            assert told["type"] == "gone"
            await page.leave()

    scenario()


def test_each_query_of_a_limited_reader_leaves_out_the_rest(sample: Source, hidden: Source) -> None:
    with seeing(Seen(whole=frozenset({sample.pk}))):
        assert list(chunks.lines(sample.pk)) and not list(chunks.lines(hidden.pk))
        assert {*Track.objects.values_list("source", flat=True).distinct()} == {sample.pk}
        assert {*Finding.objects.values_list("source", flat=True).distinct()} == {sample.pk}

"""People and the clock pull windows of a connected cluster's audit log from its log store."""

import json
import socket
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from collectors import tasks as imports
from collectors.hosts import allowed_hosts
from collectors.stores import all_kinds, loki, pulling
from collectors.stores.kinds import Transient, Window
from collectors.stores.pulling import cursor_path, unfinished
from collectors.uploads import pulls
from dashboard import tasks
from dashboard.access import log_stores
from dashboard.celery import app
from tests.events import items_of
from tests.following import Followed
from tests.people import member
from tests.stores import Answer, LokiServer, Record, serving
from timeline.core.entries import Entry
from timeline.models import Gap, LogStore, Pull, Source, Track, Upload

pytestmark = pytest.mark.django_db(transaction=True)
NOW = 0  # seconds since 1970 when a test begins, see _present
QUEUES = {"estimate_pull": "periodic", "pull_window": "imports"}
SECRET = "the password of the tests"


@pytest.fixture(autouse=True)
def _present(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the present be that of the test: a long run imports this module long before it comes to it."""
    monkeypatch.setattr(f"{__name__}.NOW", int(time.time()))


def record(second: float, place: int) -> Record:
    return Record(int(second * 1000) * 1_000_000, f"{place:08x}-0000")


@pytest.fixture
def store(settings: Settings) -> Iterator[LokiServer]:
    with serving(LokiServer()) as server:
        settings.LOG_STORE_HOSTS = allowed_hosts([server.url])
        server.records = [record(NOW - 3_000 + place, place) for place in range(10)]
        yield server


@pytest.fixture
def followed(store: LokiServer) -> Followed:
    """A cluster of which the first Pod of the log was seen."""
    found = Followed()
    first = items_of(json.loads(store.records[0].event()), bodies=True)
    found.commit([each for each in first if isinstance(each, Entry)])
    found.source.refresh_from_db()
    found.cluster.refresh_from_db()
    return found


@pytest.fixture(autouse=True)
def queued(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """What was handed to workers, which these tests do themselves."""
    found: list[tuple[str, int]] = []
    monkeypatch.setattr("dashboard.access.log_stores._send", lambda task, number: found.append((task, number)))
    monkeypatch.setattr(imports.import_upload, "delay", lambda number: found.append(("import_upload", number)))
    return found


def work(queued: list[tuple[str, int]]) -> None:
    """Do what was handed to workers."""
    while queued:
        task, number = queued.pop(0)
        {"import_upload": imports.import_upload}.get(task, getattr(tasks, task, None))(number)  # type: ignore[misc]


def configured(client: Client, followed: Followed, store: LokiServer, **more: str) -> str:
    page = f"/clusters/{followed.cluster.pk}/log-store/"
    form = {"act": "configure", "kind": "loki", "field-url": store.url, "field-query": '{job="audit"}', **more}
    answer = client.post(page, form)
    assert answer.status_code == 302, answer.content.decode()
    return page


def text(second: float) -> str:
    return f"{datetime.fromtimestamp(second, UTC):%Y-%m-%d %H:%M:%S}"


def asked(client: Client, page: str, since: float, until: float, **more: str) -> Pull:
    answer = client.post(page, {"act": "ask", "since": text(since), "until": text(until), **more})
    assert answer.status_code == 302, answer.content.decode()
    return Pull.objects.latest("pk")


def test_a_window_is_asked_for_and_added_once(
    client: Client, followed: Followed, store: LokiServer, queued: list[tuple[str, int]]
) -> None:
    page = configured(client, followed, store)
    for repeated in range(2):
        pull = asked(client, page, NOW - 3_000, NOW - 2_995)
        work(queued)
        shown = client.get(page).content.decode()
        assert "waits for you" in shown and "5 records" in shown
        client.post(page, {"act": "confirm", "pull": str(pull.pk)})
        work(queued)
        followed.add()
        pull.refresh_from_db()
        assert (pull.state, pull.records, pull.error) == ("done", 5, "")
        assert pull.upload and pull.upload.state == Upload.State.DONE
        assert pull.upload.entries == (0 if repeated else 4)  # the first one was seen before
    uids = set(Track.objects.filter(source=followed.source).values_list("uid", flat=True))
    assert uids == {each.audit_id for each in store.records[:5]}
    assert f"/sources/{followed.source.pk}/" in client.get(page).content.decode()


def test_a_window_can_be_a_recording_of_its_own(
    client: Client, followed: Followed, store: LokiServer, queued: list[tuple[str, int]]
) -> None:
    page = configured(client, followed, store)
    pull = asked(client, page, NOW - 3_000, NOW, alone="on")
    work(queued)
    client.post(page, {"act": "confirm", "pull": str(pull.pk)})
    work(queued)
    made = Source.objects.exclude(pk=followed.source.pk).get()
    assert made.entries == 10 and made.name.startswith("prod 20")


def test_secrets_are_encrypted_and_never_shown(
    client: Client, followed: Followed, store: LokiServer, settings: Settings
) -> None:
    page = configured(client, followed, store, **{"field-password": SECRET, "field-username": "reader"})
    row = LogStore.objects.get()
    assert row.secret and SECRET.encode() not in bytes(row.secret) and SECRET not in json.dumps(row.fields)
    assert SECRET not in client.get(page).content.decode()
    configured(client, followed, store, **{"field-username": "reader"})  # an empty one stays
    assert pulls._secrets(LogStore.objects.get()) == {"password": SECRET}
    settings.LOG_STORE_HOSTS = allowed_hosts(["http://localhost:9"])
    form = {"act": "configure", "kind": "loki", "field-url": "http://localhost:9", "field-query": "{}"}
    refused = client.post(page, form)  # the password is not sent to another host
    assert refused.status_code == 400 and "Fill in again: Password." in refused.content.decode()
    assert LogStore.objects.get().fields["url"] == store.url
    assert client.post(page, {**form, "field-password": "another"}).status_code == 302


def test_secrets_can_be_read_with_a_new_key_alone_after_they_were_encrypted_again(
    client: Client, followed: Followed, store: LokiServer, settings: Settings
) -> None:
    settings.CREDENTIALS_KEYS = ["the old key of the tests, 32 characters"]
    configured(client, followed, store, **{"field-password": SECRET, "field-username": "reader"})
    settings.CREDENTIALS_KEYS = ["the new key of the tests, 32 characters", *settings.CREDENTIALS_KEYS]
    call_command("clusters", "renew-secrets")
    settings.CREDENTIALS_KEYS = settings.CREDENTIALS_KEYS[:1]
    assert pulls._secrets(LogStore.objects.get()) == {"password": SECRET}


def test_a_store_whose_name_leads_elsewhere_after_it_was_checked_is_not_connected_to(
    client: Client, followed: Followed, store: LokiServer, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers, resolve = ["127.0.0.1"], socket.getaddrinfo

    def resolved(host: str, *rest: Any, **more: Any) -> Any:
        given = answers.pop(0) if answers else "169.254.169.254"
        return resolve(given if host == "rebinding.example" else host, *rest, **more)

    monkeypatch.setattr(socket, "getaddrinfo", resolved)
    url = store.url.replace("127.0.0.1", "rebinding.example")
    settings.LOG_STORE_HOSTS = allowed_hosts([url])
    log_stores.check(url)
    with pytest.raises(socket.gaierror, match="link-local"):
        socket.getaddrinfo("rebinding.example", 80)
    opened = all_kinds()["loki"].open({"url": url, "query": "{}", "tenant": "", "token": "", "username": ""})
    with pytest.raises(Transient, match="link-local"):
        opened.page(Window(0, 1), None)
    opened.close()


def test_only_hosts_that_are_allowed_are_connected_to(
    client: Client, followed: Followed, store: LokiServer, settings: Settings
) -> None:
    page = f"/clusters/{followed.cluster.pk}/log-store/"
    form = {"act": "configure", "kind": "loki", "field-query": "{}"}
    for address in ("http://169.254.169.254/", "https://loki.example.org"):
        answer = client.post(page, {**form, "field-url": address})
        assert answer.status_code == 400 and "CAUSELINE_LOG_STORE_HOSTS" in answer.content.decode()
    for address in (
        "file:///etc/passwd",
        f"http://evil.example\\@{store.url[7:]}",
        f"http://user:secret@{store.url[7:]}",
    ):
        assert client.post(page, {**form, "field-url": address}).status_code == 400
    assert not LogStore.objects.exists()
    configured(client, followed, store)
    settings.LOG_STORE_HOSTS = []
    pull = asked(client, page, NOW - 10, NOW - 5)
    tasks.estimate_pull(pull.pk)
    pull.refresh_from_db()
    assert pull.state == "failed" and not store.asked


def test_people_ask_and_administrators_configure(
    followed: Followed, store: LokiServer, settings: Settings, admin_client: Client
) -> None:
    settings.LOGIN_REQUIRED = True
    page = configured(admin_client, followed, store)
    person = Client()
    person.force_login(member("responder", name="ann"))
    shown = person.get(page).content.decode()
    assert "Get this window" in shown and "Forget this log store" not in shown and store.url in shown
    assert person.post(page, {"act": "configure", "kind": "loki"}).status_code == 403
    assert person.post(page, {"act": "remove"}).status_code == 403
    of_cluster = Client()  # who could point the credentials of the workers at the audit log of another cluster
    of_cluster.force_login(member("editor", on=followed.cluster))
    assert of_cluster.post(page, {"act": "configure", "kind": "loki", "field-url": store.url}).status_code == 403
    assert "Forget this log store" not in of_cluster.get(page).content.decode()
    pull = asked(person, page, NOW - 3_000, NOW)
    other = Client()
    other.force_login(member("responder", name="bob"))
    assert other.post(page, {"act": "cancel", "pull": str(pull.pk)}).status_code == 403
    assert other.post(page, {"act": "ask", "since": text(NOW - 9), "until": text(NOW)}).status_code == 400
    assert person.post(page, {"act": "cancel", "pull": str(pull.pk)}).status_code == 302
    assert Pull.objects.get().state == "cancelled"


@pytest.mark.parametrize(("since", "until"), [(10, 20), (20, -3_600), (40 * 86_400, 10)])
def test_a_window_that_cannot_be_is_refused(
    client: Client, followed: Followed, store: LokiServer, since: int, until: int
) -> None:
    page = configured(client, followed, store)
    answer = client.post(page, {"act": "ask", "since": text(NOW - since), "until": text(NOW - until)})
    assert answer.status_code == 400 and not Pull.objects.exists()


def test_a_pull_whose_worker_died_goes_on_with_the_next_page(
    client: Client,
    followed: Followed,
    store: LokiServer,
    queued: list[tuple[str, int]],
    monkeypatch: pytest.MonkeyPatch,
    settings: Settings,
) -> None:
    monkeypatch.setattr(loki, "LINES", 2)
    page = configured(client, followed, store)
    pull = asked(client, page, NOW - 3_000, NOW)
    work(queued)
    client.post(page, {"act": "confirm", "pull": str(pull.pk)})
    queued.clear()
    saved, save = [], pulling._save

    def dies(path: Path, progress: pulling.Progress) -> None:
        save(path, progress)
        saved.append(progress)
        if len(saved) == 4:  # the beginning and three pages
            raise SystemExit

    with monkeypatch.context() as patch, pytest.raises(SystemExit):
        patch.setattr(pulling, "_save", dies)
        tasks.pull_window(pull.pk)
    path = settings.PULL_DIR / str(pull.pk) / "audit.jsonl"
    progress = unfinished(path)
    assert progress and progress.pages == 3 and not progress.done
    Pull.objects.filter(pk=pull.pk).update(seen=timezone.now() - timedelta(hours=1))
    store.asked.clear()
    tasks.take_up_pulls()
    assert queued == [("pull_window", pull.pk)]
    work(queued)
    followed.add()
    pull.refresh_from_db()
    assert (pull.state, pull.records, pull.attempt) == ("done", 10, 2)
    begins = [int(each.query["start"]) for each in store.asked if each.path.endswith("query_range")]
    assert min(begins) >= store.records[3].time  # the finished pages were not fetched again
    assert not cursor_path(path).exists() and not path.exists()


def _die(number: int) -> None:
    from django.db import connections

    try:
        tasks.pull_window(number)
    finally:
        connections.close_all()


def test_what_is_cancelled_stops(
    client: Client, followed: Followed, store: LokiServer, queued: list[tuple[str, int]], settings: Settings
) -> None:
    page = configured(client, followed, store)
    pull = asked(client, page, NOW - 3_000, NOW)
    work(queued)
    client.post(page, {"act": "confirm", "pull": str(pull.pk)})
    store.faults = [Answer(429, b"slow down", (("Retry-After", "600"),))]
    worker = threading.Thread(target=_die, args=[pull.pk])
    worker.start()
    client.post(page, {"act": "cancel", "pull": str(pull.pk)})
    worker.join(60)  # it was told to wait for ten minutes
    assert not worker.is_alive()
    assert Pull.objects.get().state == "cancelled"
    assert not (settings.PULL_DIR / str(pull.pk)).exists() and not Upload.objects.exists()


def test_a_cluster_is_pulled_continuously_and_late_records_are_found(
    client: Client, followed: Followed, store: LokiServer, queued: list[tuple[str, int]]
) -> None:
    page = configured(client, followed, store, continuous="on")
    LogStore.objects.update(reached=datetime.fromtimestamp(NOW - 2_995, UTC))
    store.records = [each for each in store.records if each.audit_id != record(0, 2).audit_id]
    tasks.pull_continuously()
    work(queued)
    followed.add()
    late = record(NOW - 2_996, 99)
    store.records.append(late)  # it has arrived after the window of its time was pulled
    LogStore.objects.update(reached=datetime.fromtimestamp(NOW - 2_500, UTC))
    tasks.pull_continuously()
    tasks.pull_continuously()  # one is open
    assert Pull.objects.count() == 2
    work(queued)
    followed.add()
    uids = set(Track.objects.filter(source=followed.source).values_list("uid", flat=True))
    assert uids == {each.audit_id for each in store.records}
    row = LogStore.objects.get()
    assert row.reached and row.reached >= Pull.objects.earliest("pk").until and not row.error
    assert "pulled continuously" in client.get(page).content.decode()


def test_a_window_that_somebody_asked_for_does_not_stop_continuous_pulls(
    client: Client, followed: Followed, store: LokiServer, queued: list[tuple[str, int]]
) -> None:
    page = configured(client, followed, store, continuous="on")
    LogStore.objects.update(reached=datetime.fromtimestamp(NOW - 2_000, UTC))
    window = asked(client, page, NOW - 3_000, NOW - 2_995)
    work(queued)  # it waits to be confirmed
    tasks.pull_continuously()
    tasks.pull_continuously()  # one is open
    assert Pull.objects.filter(continuous=True).count() == 1
    work(queued)
    assert Pull.objects.get(continuous=True).state == "done" and not Gap.objects.exists()
    tasks.take_up_pulls()
    assert Pull.objects.get(pk=window.pk).state == "ready"
    Pull.objects.filter(pk=window.pk).update(seen=timezone.now() - timedelta(minutes=61))
    tasks.take_up_pulls()
    assert Pull.objects.get(pk=window.pk).state == "cancelled"
    assert "Nobody confirmed it within an hour." in client.get(page).content.decode()
    assert not LogStore.objects.get().error


def test_what_a_window_costs_is_asked_beside_imports_by_two_threads_at_most(
    client: Client, followed: Followed, store: LokiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    queues = {name: app.amqp.router.route({}, f"dashboard.tasks.{name}")["queue"].name for name in QUEUES}
    assert queues == QUEUES
    later: list[int] = []
    monkeypatch.setattr(tasks.estimate_pull, "apply_async", lambda arguments, countdown: later.extend(arguments))
    pull = asked(client, configured(client, followed, store), NOW - 3_000, NOW)
    with tasks._asking, tasks._asking:
        tasks.estimate_pull(pull.pk)
    assert later == [pull.pk] and Pull.objects.get().state == "asking"
    tasks.estimate_pull(pull.pk)
    assert Pull.objects.get().state == "ready"


def test_a_short_window_with_nothing_of_use_is_no_failure(
    client: Client, followed: Followed, store: LokiServer, queued: list[tuple[str, int]]
) -> None:
    configured(client, followed, store, continuous="on")
    store.records = [record(NOW - 100, 77)]  # of a Pod that nobody has seen
    LogStore.objects.update(reached=datetime.fromtimestamp(NOW - 2_000, UTC))
    tasks.pull_continuously()
    work(queued)
    followed.add()
    assert Upload.objects.get().state == Upload.State.DONE
    assert Track.objects.filter(uid=record(0, 77).audit_id).exists()


def test_what_a_continuous_pull_has_missed_is_a_gap(
    client: Client, followed: Followed, store: LokiServer, queued: list[tuple[str, int]], settings: Settings
) -> None:
    page = configured(client, followed, store, continuous="on")
    LogStore.objects.update(reached=datetime.fromtimestamp(NOW - 3_000, UTC))
    store.faults = [Answer(403, b"no such right")]
    tasks.pull_continuously()
    work(queued)
    row = LogStore.objects.get()
    assert "403" in row.error and "403" in client.get(page).content.decode() and not Gap.objects.exists()
    settings.LIVE_MEMORY = timedelta(minutes=30)  # what is older cannot be added any more
    tasks.pull_continuously()
    work(queued)
    gap = Gap.objects.get(source=followed.source)
    assert gap.kind == "Event" and "403" in gap.reason
    assert abs((gap.until - gap.since).total_seconds() - 1_200) < 120
    assert gap.reason in client.get(f"/sources/{followed.source.pk}/coverage/").content.decode()

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
from django.db import connections
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
from tests.inputs.events import items_of
from tests.rows.following import Followed
from tests.rows.people import member
from tests.servers.stores import Answer, LokiServer, Record, serving
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


def text(second: float) -> str:
    return f"{datetime.fromtimestamp(second, UTC):%Y-%m-%d %H:%M:%S}"


class Scene:
    """This is a cluster with its log store, and somebody who looks at its page."""

    def __init__(self, client: Client, followed: Followed, store: LokiServer, queued: list[tuple[str, int]]) -> None:
        self.client, self.followed, self.store, self.queued = client, followed, store, queued
        self.page = f"/clusters/{followed.cluster.pk}/log-store/"
        self.form = {"act": "configure", "kind": "loki", "field-url": store.url, "field-query": '{job="audit"}'}

    def configure(self, **more: str) -> None:
        answer = self.client.post(self.page, {**self.form, **more})
        assert answer.status_code == 302, answer.content.decode()

    def shown(self) -> str:
        return self.client.get(self.page).content.decode()

    def ask(self, since: float, until: float, client: Client | None = None, **more: str) -> Pull:
        form = {"act": "ask", "since": text(since), "until": text(until), **more}
        answer = (client or self.client).post(self.page, form)
        assert answer.status_code == 302, answer.content.decode()
        return Pull.objects.latest("pk")

    def confirm(self, pull: Pull) -> None:
        """Confirm a pull once it is known what it costs."""
        self.work()
        self.client.post(self.page, {"act": "confirm", "pull": str(pull.pk)})

    def work(self) -> None:
        """Do what was handed to workers."""
        while self.queued:
            task, number = self.queued.pop(0)
            {"import_upload": imports.import_upload}.get(task, getattr(tasks, task, None))(number)  # type: ignore[misc]

    def work_and_add(self) -> None:
        self.work()
        self.followed.add()

    def pull_continuously(self, reached: float | None = None) -> None:
        """Begin what is due for a cluster whose log was pulled up to some second."""
        if reached is not None:
            LogStore.objects.update(reached=datetime.fromtimestamp(reached, UTC))
        tasks.pull_continuously()

    def uids(self) -> set[str]:
        return set(Track.objects.filter(source=self.followed.source).values_list("uid", flat=True))


@pytest.fixture
def scene(client: Client, followed: Followed, store: LokiServer, queued: list[tuple[str, int]]) -> Scene:
    return Scene(client, followed, store, queued)


@pytest.fixture
def configured(scene: Scene) -> Scene:
    scene.configure()
    return scene


def test_a_window_is_asked_for_and_added_once(configured: Scene) -> None:
    for repeated in range(2):
        pull = configured.ask(NOW - 3_000, NOW - 2_995)
        configured.work()
        assert "waits for you" in configured.shown() and "5 records" in configured.shown()
        configured.confirm(pull)
        configured.work_and_add()
        pull.refresh_from_db()
        assert (pull.state, pull.records, pull.error) == ("done", 5, "")
        assert pull.upload and pull.upload.state == Upload.State.DONE
        assert pull.upload.entries == (0 if repeated else 4)  # the first one was seen before
    assert configured.uids() == {each.audit_id for each in configured.store.records[:5]}
    assert f"/sources/{configured.followed.source.pk}/" in configured.shown()


def test_a_window_can_be_a_recording_of_its_own(configured: Scene) -> None:
    configured.confirm(configured.ask(NOW - 3_000, NOW, alone="on"))
    configured.work()
    made = Source.objects.exclude(pk=configured.followed.source.pk).get()
    assert made.entries == 10 and made.name.startswith("prod 20")


def test_secrets_are_encrypted_and_never_shown(scene: Scene, settings: Settings) -> None:
    scene.configure(**{"field-password": SECRET, "field-username": "reader"})
    row = LogStore.objects.get()
    assert row.secret and SECRET.encode() not in bytes(row.secret) and SECRET not in json.dumps(row.fields)
    assert SECRET not in scene.shown()
    scene.configure(**{"field-username": "reader"})  # an empty one stays
    assert pulls._secrets(LogStore.objects.get()) == {"password": SECRET}
    settings.LOG_STORE_HOSTS = allowed_hosts(["http://localhost:9"])
    elsewhere = scene.form | {"field-url": "http://localhost:9"}
    refused = scene.client.post(scene.page, elsewhere)  # the password is not sent to another host
    assert refused.status_code == 400 and "Fill in again: Password." in refused.content.decode()
    assert LogStore.objects.get().fields["url"] == scene.store.url
    assert scene.client.post(scene.page, {**elsewhere, "field-password": "another"}).status_code == 302


def test_secrets_can_be_read_with_a_new_key_alone_after_they_were_encrypted_again(
    scene: Scene, settings: Settings
) -> None:
    settings.CREDENTIALS_KEYS = ["the old key of the tests, 32 characters"]
    scene.configure(**{"field-password": SECRET, "field-username": "reader"})
    settings.CREDENTIALS_KEYS = ["the new key of the tests, 32 characters", *settings.CREDENTIALS_KEYS]
    call_command("causeline", "clusters", "--renew-secrets")
    settings.CREDENTIALS_KEYS = settings.CREDENTIALS_KEYS[:1]
    assert pulls._secrets(LogStore.objects.get()) == {"password": SECRET}


def test_a_store_whose_name_leads_elsewhere_after_it_was_checked_is_not_connected_to(
    store: LokiServer, settings: Settings, monkeypatch: pytest.MonkeyPatch
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


def test_only_hosts_that_are_allowed_are_connected_to(scene: Scene, settings: Settings) -> None:
    place = scene.store.url[7:]
    for address, words in (
        ("http://169.254.169.254/", "CAUSELINE_LOG_STORE_HOSTS"),
        ("https://loki.example.org", "CAUSELINE_LOG_STORE_HOSTS"),
        ("file:///etc/passwd", ""),
        (f"http://evil.example\\@{place}", ""),
        (f"http://user:secret@{place}", ""),
    ):
        answer = scene.client.post(scene.page, {**scene.form, "field-url": address})
        assert answer.status_code == 400 and words in answer.content.decode()
    assert not LogStore.objects.exists()
    scene.configure()
    settings.LOG_STORE_HOSTS = []
    pull = scene.ask(NOW - 10, NOW - 5)
    tasks.estimate_pull(pull.pk)
    pull.refresh_from_db()
    assert pull.state == "failed" and not scene.store.asked


def test_people_ask_and_administrators_configure(scene: Scene, settings: Settings, admin_client: Client) -> None:
    settings.LOGIN_REQUIRED = True
    scene.client = admin_client
    scene.configure()
    person, other, of_cluster = Client(), Client(), Client()
    person.force_login(member("responder", name="ann"))
    other.force_login(member("responder", name="bob"))
    # An editor could point the credentials of the workers at the audit log of another cluster.
    of_cluster.force_login(member("editor", on=scene.followed.cluster))
    shown = person.get(scene.page).content.decode()
    assert "Get this window" in shown and "Forget this log store" not in shown and scene.store.url in shown
    for client, form in ((person, {**scene.form}), (person, {"act": "remove"}), (of_cluster, {**scene.form})):
        assert client.post(scene.page, form).status_code == 403
    assert "Forget this log store" not in of_cluster.get(scene.page).content.decode()
    cancel = {"act": "cancel", "pull": str(scene.ask(NOW - 3_000, NOW, person).pk)}
    assert other.post(scene.page, cancel).status_code == 403
    assert other.post(scene.page, {"act": "ask", "since": text(NOW - 9), "until": text(NOW)}).status_code == 400
    assert person.post(scene.page, cancel).status_code == 302
    assert Pull.objects.get().state == "cancelled"


@pytest.mark.parametrize(("since", "until"), [(10, 20), (20, -3_600), (40 * 86_400, 10)])
def test_a_window_that_cannot_be_is_refused(configured: Scene, since: int, until: int) -> None:
    form = {"act": "ask", "since": text(NOW - since), "until": text(NOW - until)}
    assert configured.client.post(configured.page, form).status_code == 400 and not Pull.objects.exists()


def test_a_pull_whose_worker_died_goes_on_with_the_next_page(
    configured: Scene, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    monkeypatch.setattr(loki, "LINES", 2)
    store, queued = configured.store, configured.queued
    pull = configured.ask(NOW - 3_000, NOW)
    configured.confirm(pull)
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
    configured.work_and_add()
    pull.refresh_from_db()
    assert (pull.state, pull.records, pull.attempt) == ("done", 10, 2)
    begins = [int(each.query["start"]) for each in store.asked if each.path.endswith("query_range")]
    assert min(begins) >= store.records[3].time  # the finished pages were not fetched again
    assert not cursor_path(path).exists() and not path.exists()


def _pull(number: int) -> None:
    try:
        tasks.pull_window(number)
    finally:
        connections.close_all()


def test_what_is_cancelled_stops(configured: Scene, settings: Settings) -> None:
    pull = configured.ask(NOW - 3_000, NOW)
    configured.confirm(pull)
    configured.store.faults = [Answer(429, b"slow down", (("Retry-After", "600"),))]
    worker = threading.Thread(target=_pull, args=[pull.pk])
    worker.start()
    configured.client.post(configured.page, {"act": "cancel", "pull": str(pull.pk)})
    worker.join(60)  # it was asked to wait for ten minutes
    assert not worker.is_alive()
    assert Pull.objects.get().state == "cancelled"
    assert not (settings.PULL_DIR / str(pull.pk)).exists() and not Upload.objects.exists()


def test_a_cluster_is_pulled_continuously_and_late_records_are_found(scene: Scene) -> None:
    scene.configure(continuous="on")
    store = scene.store
    store.records = [each for each in store.records if each.audit_id != record(0, 2).audit_id]
    scene.pull_continuously(NOW - 2_995)
    scene.work_and_add()
    store.records.append(record(NOW - 2_996, 99))  # it has arrived after the window of its time was pulled
    scene.pull_continuously(NOW - 2_500)
    scene.pull_continuously()  # one is open
    assert Pull.objects.count() == 2
    scene.work_and_add()
    assert scene.uids() == {each.audit_id for each in store.records}
    row = LogStore.objects.get()
    assert row.reached and row.reached >= Pull.objects.earliest("pk").until and not row.error
    assert "pulled continuously" in scene.shown()


def test_a_window_that_somebody_asked_for_does_not_stop_continuous_pulls(scene: Scene) -> None:
    scene.configure(continuous="on")
    window = scene.ask(NOW - 3_000, NOW - 2_995)
    scene.work()  # it waits to be confirmed
    scene.pull_continuously(NOW - 2_000)
    scene.pull_continuously()  # one is open
    assert Pull.objects.filter(continuous=True).count() == 1
    scene.work()
    assert Pull.objects.get(continuous=True).state == "done" and not Gap.objects.exists()
    for minutes, state in ((0, "ready"), (61, "cancelled")):
        Pull.objects.filter(pk=window.pk).update(seen=timezone.now() - timedelta(minutes=minutes))
        tasks.take_up_pulls()
        assert Pull.objects.get(pk=window.pk).state == state
    assert "Nobody confirmed it within an hour." in scene.shown()
    assert not LogStore.objects.get().error


def test_what_a_window_costs_is_asked_beside_imports_by_two_threads_at_most(
    configured: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    queues = {name: app.amqp.router.route({}, f"dashboard.tasks.{name}")["queue"].name for name in QUEUES}
    assert queues == QUEUES
    later: list[int] = []
    monkeypatch.setattr(tasks.estimate_pull, "apply_async", lambda arguments, countdown: later.extend(arguments))
    pull = configured.ask(NOW - 3_000, NOW)
    with tasks._asking, tasks._asking:
        tasks.estimate_pull(pull.pk)
    assert later == [pull.pk] and Pull.objects.get().state == "asking"
    tasks.estimate_pull(pull.pk)
    assert Pull.objects.get().state == "ready"


def test_a_short_window_with_nothing_of_use_is_no_failure(scene: Scene) -> None:
    scene.configure(continuous="on")
    scene.store.records = [record(NOW - 100, 77)]  # of a Pod that nobody has seen
    scene.pull_continuously(NOW - 2_000)
    scene.work_and_add()
    assert Upload.objects.get().state == Upload.State.DONE
    assert record(0, 77).audit_id in scene.uids()


def test_what_a_continuous_pull_has_missed_is_a_gap(scene: Scene, settings: Settings) -> None:
    scene.configure(continuous="on")
    scene.store.faults = [Answer(403, b"no such right")]
    scene.pull_continuously(NOW - 3_000)
    scene.work()
    assert "403" in LogStore.objects.get().error and "403" in scene.shown() and not Gap.objects.exists()
    settings.LIVE_MEMORY = timedelta(minutes=30)  # what is older cannot be added any more
    scene.pull_continuously()
    scene.work()
    source = scene.followed.source
    gap = Gap.objects.get(source=source)
    assert gap.kind == "Event" and "403" in gap.reason
    assert abs((gap.until - gap.since).total_seconds() - 1_200) < 120
    assert gap.reason in scene.client.get(f"/sources/{source.pk}/coverage/").content.decode()

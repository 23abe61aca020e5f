"""These tests throw from every step of ingesting one observation: the cluster lives, everything else is stored, and
what was set aside is counted and shown."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.db import InternalError, OperationalError
from django.test import Client
from msgspec.structs import replace

import collectors.formats.audit as audit_format
from collectors import gate
from collectors.formats import Limits, Skipped, read
from collectors.replay import serve
from collectors.watch import cluster_watcher
from collectors.watch.storing.dividing import STREAK, Dividing
from collectors.watch.streams import decoding
from collectors.watch.streams.decoding import ObjectDecoder
from collectors.watch.streams.resources import Resource
from tests.database.watch.collector import ITEMS, Sent, Worker
from tests.inputs.events import event, pod
from tests.inputs.objects import made
from tests.inputs.recordings import SAMPLE as RECORDING
from tests.patience import eventually
from tests.rows.followed import by_path, changes_of, connected, expected, taped, watched
from tests.servers.collecting import awaited
from timeline import judge
from timeline.core import times
from timeline.core.entries import Change, Clock, Entry
from timeline.history.ledger import learning, ledger
from timeline.judging.rulebook import Rule
from timeline.models import ActorFeed, AuditBatch, Cluster, Gap, Source, Stream, Upload, Way
from timeline.storage import leases, store
from timeline.storage.entries import additions, chunks, inbox

pytestmark = pytest.mark.django_db(transaction=True)
NAME = "poison"
SAMPLE = next(each for each in ITEMS if isinstance(each, Entry) and each.change is Change.CREATED)
POISON = replace(SAMPLE, ref=replace(SAMPLE.ref, name=NAME, uid=NAME), resource_version=5_000_000, owner=None)
LOGGED = replace(POISON, clock=Clock.AUDIT, arrived=0, staged=POISON.received + 10, identity=NAME)


@pytest.fixture
def worker() -> Worker:
    sent = Sent(awaited())
    sent.lease()
    return Worker(sent)


def fails(original: Callable[..., Any], where: Callable[..., bool], error: Exception) -> Callable[..., Any]:
    def failing(*given: Any, **more: Any) -> Any:
        if where(*given):
            raise error
        return original(*given, **more)

    return failing


STEPS: dict[str, tuple[Any, str, Callable[..., bool]]] = {
    "learn": (learning, "identity", lambda entry: entry.ref.name == NAME),
    "tracks": (ledger.Ledger, "_lives", lambda self, name, *_: name.name == NAME),
    "rows": (store, "track_rows", lambda source, world, lane, *_: lane.tracks[0].ref.name == NAME),
    "chunks": (chunks, "line_of", lambda each: isinstance(each, Entry) and each.ref.name == NAME),
}


@pytest.mark.parametrize("step", STEPS)
def test_an_observation_that_cannot_be_stored_costs_itself_alone(
    step: str, worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert worker.sent.batch(1, ITEMS[:1]) == 200
    worker.work(lambda: Stream.objects.exists())
    where, name, condition = STEPS[step]
    monkeypatch.setattr(where, name, fails(getattr(where, name), condition, OverflowError("date value out of range")))
    assert worker.sent.batch(2, [*ITEMS[1:30], POISON, *ITEMS[30:]]) == 200
    assert worker.sent.batch(3, ITEMS[:2]) == 200
    worker.work()
    stored = changes_of(worker.source)
    assert stored == Counter(changed(ITEMS))
    assert worker.source.skipped == 1 and "Pod" in worker.source.skips[0][2] and NAME in worker.source.skips[0][2]
    assert "OverflowError: date value out of range" in worker.source.skips[0][2]
    assert "set aside" in Gap.objects.get().reason
    assert worker.shown == "live"
    assert worker.sent.batch(4, [POISON]) == 200  # it comes again, as in a list
    failures = worker.failures
    worker.work()
    assert worker.failures == failures and worker.source.skipped == 1


def changed(items: Sequence[object]) -> Iterator[object]:
    """Yield what `changes_of` counts."""
    entries = (each for each in items if isinstance(each, Entry) and each.change is not Change.OBSERVED)
    return ((each.ref.uid, each.resource_version, each.change.value) for each in entries)


@pytest.mark.parametrize("step", ["learn", "chunks"])
def test_an_audit_event_that_cannot_be_stored_costs_itself_alone(
    step: str, worker: Worker, monkeypatch: pytest.MonkeyPatch, admin_client: Client
) -> None:
    assert worker.sent.batch(1, ITEMS) == 200
    worker.work()
    where, name, condition = STEPS[step]
    monkeypatch.setattr(where, name, fails(getattr(where, name), condition, KeyError("x")))
    logged = [logged_of(each) for each in ITEMS if isinstance(each, Entry) and each.change is Change.CREATED]
    for batch in (logged[:2], [logged[2], LOGGED, logged[3]], logged[4:]):
        digest = inbox.digest_of(each.identity for each in batch)
        inbox.accept(worker.sent.cluster.pk, Way.AUDIT, inbox.Batch(digest, additions.packed(batch), len(batch)), 10**9)
    worker.work(lambda: not AuditBatch.objects.filter(lines__isnull=False).exists())
    known = {each.entry.identity for each in chunks.entries(worker.source.pk) if each.entry.clock is Clock.AUDIT}
    assert known == {each.identity for each in logged}
    feed = ActorFeed.objects.get()
    assert feed.unread == 1 and NAME in feed.problem and "set aside" in feed.problem
    page = admin_client.get(f"/clusters/{worker.sent.cluster.pk}/").content.decode()
    assert "was set aside" in page


def test_what_a_collector_sends_beyond_the_bounds_costs_itself_alone(worker: Worker) -> None:
    far = replace(POISON, received=times.LATEST + 1)
    long = replace(POISON, ref=replace(POISON.ref, name="x" * 2_000_000, uid="long"))
    nul = replace(POISON, ref=replace(POISON.ref, name="a\0b", uid="nul"))
    assert worker.sent.batch(1, [*ITEMS[:9], far, long, nul, *ITEMS[9:]]) == 200
    worker.work()
    assert changes_of(worker.source) == Counter(changed(ITEMS)) and worker.failures == 0
    assert worker.source.skipped == 3 and Gap.objects.count() >= 1


def logged_of(entry: Entry) -> Entry:
    return replace(
        entry,
        clock=Clock.AUDIT,
        arrived=0,
        staged=entry.received + 10,
        identity=f"log {entry.ref.uid}",
        actor="someone",
    )


def test_a_part_of_an_added_log_that_cannot_be_stored_costs_its_observation_alone(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert worker.sent.batch(1, ITEMS) == 200
    worker.work()
    where, name, condition = STEPS["learn"]
    monkeypatch.setattr(where, name, fails(getattr(where, name), condition, TypeError("x")))
    upload = Upload.objects.create(name="log", state="adding", source=worker.source, cluster=worker.sent.cluster)
    logged = [logged_of(each) for each in ITEMS if isinstance(each, Entry) and each.change is Change.CREATED]
    additions.write(worker.source, upload, [*logged[:3], LOGGED, *logged[3:]])
    worker.work(lambda: additions.first_part(worker.source) is None)
    upload.refresh_from_db()
    assert (upload.state, upload.skipped) == ("done", 1)
    known = {each.entry.identity for each in chunks.entries(worker.source.pk) if each.entry.clock is Clock.AUDIT}
    assert known == {each.identity for each in logged}


def test_an_object_of_a_watch_that_cannot_be_stored_costs_its_changes_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    resources = {"pods", "services"}
    tape = taped(RECORDING)
    service = next(commit for commit in tape.commits if commit.resource.name == "services")
    monkeypatch.setattr(cluster_watcher, "PAUSES", (0.01, 0.02))
    original = ledger.Ledger._lives
    where = fails(original, lambda self, name, *_: name[2:] == (service.namespace, service.name), KeyError("x"))
    monkeypatch.setattr(ledger.Ledger, "_lives", where)
    with serve(tape, speed=100_000, paused=True, bookmark_seconds=0.5) as replay:
        cluster = connected(replay, tmp_path)
        (lease,) = leases.take("here", 1)
        watcher = cluster_watcher.ClusterWatcher(lease, by_path)
        watcher.start()
        try:
            eventually(lambda: watched(cluster) >= resources)
            replay.control(step=tape.commits.index(service) + 20)
            eventually(lambda: replay.status()["playing"] is False)
            end = int(replay.status()["place"])
            wanted = Counter(
                {each: n for each, n in expected(tape, resources, 0, end).items() if each[0] != service.uid}
            )
            eventually(lambda: wanted <= changes_of(Source.objects.get(current_of=cluster)), 3)
            eventually(lambda: Source.objects.get(current_of=cluster).skipped > 0, 30)
            eventually(lambda: Cluster.objects.get().state == "live", 20)
        finally:
            watcher.stop()
            watcher.join(20)
    assert service.name in Source.objects.get(current_of=cluster).skips[0][2]
    assert Gap.objects.filter(kind="Service").exists()


def unreadable(raw: bytes, *_: Any) -> bool:
    return NAME.encode() in raw


def test_an_object_that_cannot_be_read_or_redacted_costs_itself_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def events() -> Iterator[object]:
        decoder = ObjectDecoder(Resource("", "v1", "Pod", "pods", True), {})
        for number, name in enumerate(("a", NAME, "b"), 1):
            line = json.dumps({"type": "ADDED", "object": made(name, number)}).encode()
            entry = decoder.event(line, 1, 0)
            for each in gate.admit([entry], Limits()).used(decoder.refuse) if isinstance(entry, Entry) else ():
                yield each.ref.name if isinstance(each, Entry) else each
        yield decoder.unusable

    assert [*events()] == ["a", NAME, "b", 0]
    for module, name, condition in (
        (decoding, "observed_object", unreadable),
        (gate, "without_credentials", lambda entry: entry.ref.name == NAME),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(module, name, fails(getattr(module, name), condition, AttributeError("x")))
            assert [*events()] == ["a", "b", 1]


@pytest.mark.parametrize("step", ["entries_of", "without_credentials"])
def test_a_line_of_a_file_that_cannot_be_read_or_redacted_costs_itself_alone(
    step: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "log"
    lines = [event(auditID=name, responseObject=pod(name=name, uid=name)) for name in ("a", NAME, "b")]
    for each in lines:
        each["objectRef"]["name"] = each["auditID"]
    path.write_text("".join(json.dumps(each) + "\n" for each in lines))
    module = {"entries_of": audit_format, "without_credentials": gate}[step]
    monkeypatch.setattr(
        module, step, fails(getattr(module, step), lambda each, *_: NAME in str(each), AttributeError("secret"))
    )
    found = [*read([(path, "log")], bodies=True)]
    assert [each.ref.name for each in found if isinstance(each, Entry)] == ["a", "b"]
    skipped = [str(each) for each in found if isinstance(each, Skipped)]
    assert skipped == ["log line 2: it cannot be read (AttributeError)"]


@pytest.mark.parametrize(
    "error", [OperationalError("the server is gone"), InternalError("read only"), store.Overtaken(), leases.Lost()]
)
def test_what_is_wrong_with_the_database_or_the_lease_sets_nothing_aside(
    error: Exception, worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    if isinstance(error, InternalError):
        error.__cause__ = psycopg.errors.ReadOnlySqlTransaction()
    dividing = Dividing()

    def commit(part: Any, whole: bool) -> None:
        raise error

    for _ in range(10):
        with suppress(type(error)):
            dividing.commit("a", [POISON, SAMPLE], commit)
    assert not dividing.divides and not dividing.aside and dividing.kept([POISON]) == [POISON]


def test_everything_but_the_faults_is_committed_with_few_attempts() -> None:
    """Each fault costs about twice the logarithm of the size of its batch."""
    dividing, bad, stored, attempts = Dividing(), {7, 8, 500}, list[int](), 0

    def commit(part: Any, whole: bool) -> None:
        nonlocal attempts
        attempts += 1
        if any(each.resource_version in bad for each in part):
            raise KeyError
        stored.extend(each.resource_version for each in part)

    observed = [replace(POISON, resource_version=number) for number in range(1000)]
    whole = False
    while not whole:
        with suppress(KeyError):
            whole = dividing.commit("a", dividing.kept(observed), commit)
    assert {*stored} == {*range(1000)} - bad and attempts < 70
    assert [each.observation.resource_version for each in dividing.aside] == [7, 8, 500]  # type: ignore[union-attr]


def test_what_goes_wrong_with_every_observation_sets_few_aside() -> None:
    dividing = Dividing()

    def commit(part: Any, whole: bool) -> None:
        raise KeyError

    observed = [replace(POISON, resource_version=number) for number in range(200)]
    for _ in range(2000):
        with suppress(KeyError):
            dividing.commit("a", dividing.kept(observed), commit)
    assert len(dividing.aside) == STREAK


def test_a_rule_that_fails_on_a_subject_is_shown_and_stops_nothing(
    worker: Worker, monkeypatch: pytest.MonkeyPatch, admin_client: Client
) -> None:
    broken = next(rule for rule in judge.rulebook() if "Pod" in rule.judges)
    original = judge._rules_for

    def failing(track: Any, world: Any) -> Any:
        if track.ref.name == NAME:
            raise ZeroDivisionError("secret text")
        return broken.judge(track, world)

    def rules_for(group: str, kind: str) -> tuple[tuple[Rule, int], ...]:
        return tuple(
            (replace(rule, judge=failing) if rule.id == broken.id else rule, bit) for rule, bit in original(group, kind)
        )

    monkeypatch.setattr(judge, "_rules_for", rules_for)
    assert worker.sent.batch(1, [*ITEMS, POISON]) == 200
    worker.work()
    assert worker.failures == 0 and worker.source.skipped == 0
    row = next(each for each in worker.source.document["rules"] if each["rule"] == broken.id)
    assert f"its judgement failed on 1 object, such as Pod {POISON.ref.namespace}/{NAME}" in row["why"]
    assert "ZeroDivisionError" in row["why"] and "secret" not in row["why"]
    page = admin_client.get(f"/sources/{worker.source.pk}/coverage/").content.decode()
    assert "its judgement failed on 1 object" in page

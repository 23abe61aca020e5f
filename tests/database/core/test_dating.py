"""These tests state times in the future: they are kept with a mark, and move nothing. What an earlier version let them
move heals by itself."""

import json
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.db import connection
from django.test import Client
from msgspec.structs import replace

from collectors.formats import Limits
from collectors.uploads.recordings import Count, import_into
from tests.inputs.events import event, pod
from tests.rows.following import Followed
from timeline.core import times
from timeline.core.dating import Present, of_recording
from timeline.core.entries import Change, Clock, Entry, Mark, MarkType, ObjectRef, Observation, Request, microseconds
from timeline.history.snapshot import Snapshot, healed
from timeline.kinds.pod import PodFacts
from timeline.models import ActorFeed, Source, Track, Way
from timeline.storage import live, store
from timeline.storage.entries import additions, chunks, inbox

NOW = time.time_ns() // 1000
MINUTE = 60_000_000
FAR = times.instant("9999-01-01T00:00:00Z")
HOUR = 60 * MINUTE
POD = ObjectRef("", "v1", "Pod", "n", "p", "u")
LATEST = datetime.now(UTC) + timedelta(hours=1)


def logged(number: int, at: int, **more: object) -> Entry:
    ref = replace(POD, name=f"p{number}", uid=f"u{number}")
    facts = PodFacts(at // 1_000_000 * 1_000_000)
    made = Entry(ref, Change.CREATED, 1000 + number, Clock.AUDIT, at, at + 10, facts, identity=f"a{number}", actor="a")
    return replace(made, **more)


def seen(number: int, at: int, **more: object) -> Entry:
    changed = {"clock": Clock.OBJECT, "identity": "", "actor": "", "arrived": at + 1_000, "staged": 2**62}
    return replace(logged(number, at), **{**changed, **more})


def marks(at: int) -> list[Observation]:
    return [Mark("", "v1", "Pod", MarkType.LISTED, at, 1000)]


def test_a_time_in_the_future_is_bounded_by_what_is_certain() -> None:
    present = Present(NOW, NOW + 5 * MINUTE, NOW - HOUR)
    good = logged(1, NOW + MINUTE)
    assert present.dated(good) is good  # clocks differ a little
    bad = present.dated(logged(1, FAR))
    assert (bad.received, bad.staged, bad.misdated, bad.dated) == (NOW - HOUR, NOW, FAR, False)
    late = present.dated(replace(logged(1, NOW - MINUTE), staged=FAR))
    assert (late.received, late.staged, late.misdated) == (NOW - MINUTE, NOW, 0)
    arrived = present.dated(seen(1, FAR))
    assert (arrived.received, arrived.arrived, arrived.misdated) == (NOW - HOUR, NOW, FAR)
    assert present.dated(arrived) == arrived
    mark = present.dated(Mark("", "v1", "Pod", MarkType.GAP, FAR, since=FAR - 1))
    assert (mark.since, mark.time) == (NOW, NOW)
    request = present.dated(Request(POD, "get", 200, FAR, FAR + 1))
    assert (request.received, request.staged, request.misdated) == (NOW - HOUR, NOW, FAR)


def test_what_lies_in_the_future_of_a_recording_comes_last_within_the_time_of_the_rest() -> None:
    observed = [logged(1, FAR), logged(2, NOW - HOUR), logged(3, NOW - MINUTE)]
    found = [(each.received, each.misdated) for each in of_recording(observed, NOW + 5 * MINUTE)]  # type: ignore[union-attr]
    assert found == [(NOW - HOUR, 0), (NOW - MINUTE, 0), (NOW - HOUR, FAR)]
    future = [logged(number, FAR + number) for number in range(3)]
    assert [*of_recording([*future, *observed[1:]], NOW)] == [*observed[1:], *future]  # its clock is another one
    snapshot = Snapshot(1, 2, 0, 0, 0, [], [], [], [], [])
    assert healed(snapshot, Present(NOW, NOW, NOW), 1) is snapshot  # which nothing has moved


@pytest.mark.django_db(transaction=True)
class TestLive:
    @pytest.fixture
    def followed(self) -> Followed:
        made = Followed()
        made.commit([*marks(NOW - HOUR), seen(1, NOW - HOUR)])
        return made

    def test_it_moves_no_clock(self, followed: Followed) -> None:
        long_ago = seen(4, NOW, received=1_000_000)  # an object that is older than Kubernetes
        followed.commit([seen(2, FAR), seen(3, NOW - MINUTE), long_ago])
        world = followed.world
        assert world.first >= NOW - HOUR and world.last <= NOW + HOUR
        drawn = {track.ref.name: track.first.time for track in world.tracks()}
        assert NOW - HOUR <= drawn["p2"] <= drawn["p3"] <= NOW + HOUR
        followed.go_on(followed.source)  # which writes the description of the source
        row = Source.objects.get(pk=followed.source.pk)
        assert row.last and row.last < LATEST
        assert any("in the future" in each for each in row.document["clocks"])

    def test_later_audit_events_are_not_too_long_ago(self, followed: Followed, admin_client: Client) -> None:
        send(followed, [logged(2, FAR)])
        followed.forget_with_the_next_commit()
        send(followed, [logged(3, NOW - MINUTE)])
        send(followed, [logged(4, NOW - MINUTE + 1)])
        feed = ActorFeed.objects.get()
        assert (feed.added, feed.late) == (3, 0)
        assert followed.world.remembered <= NOW
        page = admin_client.get(f"/api/sources/{followed.source.pk}/overview").json()
        assert page["last"] < NOW + HOUR

    def test_a_poisoned_cluster_heals_by_itself(self, followed: Followed, monkeypatch: pytest.MonkeyPatch) -> None:
        with monkeypatch.context() as before:  # as the last version did
            before.setattr(live.Live, "dated", lambda self, batch: batch)
            before.setattr(live, "healed", lambda snapshot, *_: snapshot)
            followed.commit([seen(2, FAR), logged(3, FAR + HOUR), seen(4, NOW)])
            followed.forget_with_the_next_commit()
            followed.commit([seen(5, NOW + 1)])
            assert followed.world.last >= FAR and followed.world.remembered > NOW
            assert Source.objects.filter(pk=followed.source.pk, last__year=9999).exists()
        followed.go_on(Source.objects.get(pk=followed.source.pk))
        world = followed.world
        assert world.last <= microseconds(LATEST) and world.remembered <= microseconds(LATEST)
        assert all(moment.time <= microseconds(LATEST) for track in world.tracks() for moment in track.moments)
        row = Source.objects.get(pk=followed.source.pk)
        assert row.last and row.last < LATEST and row.first and row.first < LATEST
        lives = Track.objects.filter(source=row).values_list("life", "changed")
        assert lives and all(life.lower < LATEST and changed and changed < LATEST for life, changed in lives)
        with connection.cursor() as cursor:
            cursor.execute("SELECT max(last) FROM timeline_chunk WHERE source_id = %s", [row.pk])
            assert cursor.fetchone()[0] < LATEST
        now = time.time_ns() // 1000
        send(followed, [logged(6, now)])
        assert ActorFeed.objects.get().late == 0
        assert world.last <= microseconds(LATEST)
        followed.go_on(Source.objects.get(pk=followed.source.pk))
        assert {track.ref.name for track in followed.world.tracks()} >= {"p4", "p5", "p6"}


def send(followed: Followed, batch: Sequence[Entry]) -> None:
    """Let a batch of audit events arrive, and the worker take it."""
    packed = inbox.Batch(inbox.digest_of(each.identity for each in batch), additions.packed(batch), len(batch))
    inbox.accept(followed.cluster.pk, Way.AUDIT, packed, 10**9)
    followed.add()


@pytest.mark.django_db(transaction=True)
def test_a_recording_with_one_event_of_the_year_9999_is_usable(tmp_path: Path) -> None:
    path = tmp_path / "log"
    lines = [
        event(
            auditID=f"a{number}",
            objectRef={"resource": "pods", "namespace": "n", "name": f"p{number}", "apiVersion": "v1"},
            responseObject=pod(name=f"p{number}", uid=f"u{number}", resourceVersion=str(100 + number)),
            requestReceivedTimestamp=at,
            stageTimestamp=at,
        )
        for number, at in enumerate(("2026-11-21T07:52:00Z", "9999-12-31T23:59:59Z", "2026-11-21T07:52:10Z"))
    ]
    path.write_text("".join(json.dumps(each) + "\n" for each in lines))
    source = store.open_source("log")
    import_into(source, [(path, "log")], Limits(), Count())
    source.refresh_from_db()
    assert source.first and source.last and source.last - source.first < timedelta(minutes=1)
    assert source.entries == 3 and any("in the future" in each for each in source.document["clocks"])
    stored = {each.entry.ref.name: each.entry.misdated for each in chunks.entries(source.pk)}
    assert stored == {"p0": 0, "p1": times.LATEST // 1_000_000 * 1_000_000, "p2": 0}

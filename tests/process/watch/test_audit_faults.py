"""These tests send the audit log of a replayed cluster in batches while its watches are followed, and kill everything
meanwhile: what is known in the end is what the upload of both gives."""

import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from collectors.replay import Replay, serve
from collectors.uploads import importing
from dashboard.access.tokens import tokens
from tests.database.watch.test_audit_webhook import listed
from tests.inputs.recordings import SAMPLE, lines_of
from tests.patience import eventually
from tests.process.watch.scenes import Web, clear
from tests.rows.followed import connected, found, taped, watched
from tests.servers.watching import Servers, Workers
from timeline.core.entries import Clock, Entry, Request, microseconds
from timeline.models import AuditBatch, Cluster, Source, Upload
from timeline.storage.entries import chunks

pytestmark = pytest.mark.django_db(transaction=True)
LINES = lines_of(SAMPLE)[:900]
SIZE = 130  # events in a batch


class Scene:
    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.servers = Servers()
        stack.callback(self.servers.stop)
        stack.enter_context(self.servers.used())
        stack.callback(clear)
        self.workers = Workers(folder, CAUSELINE_LEASE_SECONDS="4")
        stack.callback(self.workers.stop_all)
        self.workers.start("a")
        self.web = Web(folder)
        stack.callback(self.web.kill)
        recording = folder / "audit.jsonl"
        recording.write_bytes(b"\n".join(LINES))
        self.tape = taped(recording)
        self.replays: list[Replay] = []
        self.clusters: list[Cluster] = []
        for name in ("sent", "uploaded"):
            replay = stack.enter_context(serve(self.tape, speed=100_000, paused=True, bookmark_seconds=0.5))
            self.replays.append(replay)
            self.clusters.append(connected(replay, folder, name))

    def play(self, commits: int) -> None:
        for replay in self.replays:
            replay.control(step=commits)

    def seen(self) -> bool:
        with suppress(Exception):
            last = {"resource": "pods", "watermark__gte": self.tape.commits[-1].revision}
            return all(Source.objects.get(current_of=each).stream_set.filter(**last).exists() for each in self.clusters)
        connection.close()
        return False

    def taken(self) -> bool:
        with suppress(Exception):
            return not AuditBatch.objects.filter(lines__isnull=False).exists()
        connection.close()
        return False


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    with ExitStack() as stack:
        began = Scene(tmp_path, stack)
        eventually(lambda: all(watched(each) >= {"pods", "services"} for each in began.clusters), 60)
        yield began


def test_batches_give_what_an_upload_gives_whatever_is_killed(client: Client, scene: Scene) -> None:
    sent, uploaded = (Cluster.objects.get(pk=each.pk) for each in scene.clusters)
    expires = timezone.now() + timedelta(days=1)
    token, _ = tokens.issue("API server", ["audit"], expires=expires, cluster=sent, by="test")
    chance = random.Random(7)
    batches = [listed(*LINES[at : at + SIZE]) for at in range(0, len(LINES), SIZE)]
    chance.shuffle(batches)
    kills: dict[int, Callable[[], None]] = {
        1: scene.web.kill,
        2: lambda: scene.workers.kill("a"),
        4: lambda: scene.servers.kill("postgres"),
        5: lambda: scene.servers.kill("valkey"),
    }
    for number, batch in enumerate(batches):
        scene.play(150)
        if kill := kills.get(number):
            kill()
        if number == 3:
            scene.workers.start("a")
        if number == 1:
            assert not scene.web.posted(token, batch)
            scene.web.start()
        eventually(lambda body=batch: scene.web.posted(token, body), 60)  # type: ignore[misc]
        if number % 4 == 0:
            eventually(lambda body=batch: scene.web.posted(token, body), 60)  # type: ignore[misc]
    scene.play(100_000)
    eventually(scene.seen, 60)
    upload = client.post(f"/api/uploads?name=a&cluster={uploaded.pk}", b"\n".join(LINES), "application/octet-stream")
    taken = importing.take_up(upload.json()["id"])
    assert taken
    importing.run(taken)
    eventually(lambda: Upload.objects.get().state == "done" and scene.taken(), 60)
    first, second = (Source.objects.get(current_of=each) for each in (sent, uploaded))
    began = max(microseconds(each) for source in (first, second) for each in lists(source))
    assert logged(first, began) == logged(second, began)
    eventually(lambda: found(first) == found(second), 30)


def lists(source: Source) -> list[datetime]:
    """Return when each kind was listed. Which earlier events are kept depends on when they came."""
    return [each for each in source.stream_set.values_list("listed_at", flat=True) if each]


def logged(source: Source, began: int) -> set[tuple[str, str, str]]:
    """Return the observations of the audit log that are stored, from a time on (µs since 1970). The start of a watch is
    stored only before its end."""
    known = (each for each in chunks.observations(source.pk) if isinstance(each, Entry | Request))
    shown = (each for each in known if isinstance(each, Request) or each.clock is Clock.AUDIT)
    return {(each.identity, each.ref.name, each.actor) for each in shown if each.received >= began}

"""This test kills, freezes and promotes each part of a highly available Causeline while clusters are watched, sockets
are open and a browser looks on: nothing is lost or stored twice, and everything comes back by itself."""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from collectors.replay import Replay, serve
from tests.clients.onlookers import Listener, Onlooker, listening
from tests.clients.visitor import Visitor
from tests.inputs.recordings import SAMPLE
from tests.patience import eventually, patient
from tests.process.watch.scenes import RESOURCES, TAPE
from tests.rows.followed import changes_of, connected, doubled, expected, found, found_anew, watched
from tests.servers.available import WEB, WORKERS, Available, available, happened
from timeline.models import Cluster, Delta, Gap, Source

pytestmark = pytest.mark.django_db(transaction=True)
SOCKETS = 6
STEP, PAUSE = 4, 0.25  # commits that each cluster makes at once, and seconds between
PROMISED = 15  # seconds at most from a promotion to the first commit that sockets show


class Player(threading.Thread):
    """This thread lets the clusters go on until it is stopped, or until little of the recording is left."""

    def __init__(self, replays: list[Replay]) -> None:
        super().__init__(daemon=True)
        self._replays = replays
        self._stopped = threading.Event()
        self.played = 0

    def run(self) -> None:
        while not self._stopped.wait(PAUSE):
            if self.played + 10 * STEP < len(TAPE.commits):
                self.step(STEP)

    def step(self, commits: int) -> None:
        for replay in self._replays:
            replay.control(step=commits)
        self.played = min(self.played + commits, len(TAPE.commits))

    def stop(self) -> None:
        self._stopped.set()
        self.join()

    def finish(self) -> None:
        self.stop()
        self.step(len(TAPE.commits) - self.played)


class Scene:
    def __init__(self, parts: Available, clusters: list[Cluster], player: Player, listeners: list[Listener]) -> None:
        self.parts, self.clusters, self.player, self.listeners = parts, clusters, player, listeners

    @property
    def first(self) -> Source:
        """Return the source that sockets and a browser follow."""
        return self.source(self.clusters[0])

    def source(self, cluster: Cluster) -> Source:
        return Source.objects.get(current_of=cluster)

    def holder(self) -> str:
        """Return which worker holds the first cluster, "" if none does."""
        holder, until = Cluster.objects.values_list("holder", "expires_at").get(pk=self.clusters[0].pk)
        return holder.partition("@")[0] if until and until.timestamp() > time.time() else ""

    def fail_over(self) -> float:
        """Kill the primary and promote its stand-by; return the seconds until all sockets show a commit of that one."""
        self.parts.postgres.fail_over()
        connection.close()
        return self.all_hear_of_what_is_committed_now()

    def all_hear_of_what_is_committed_now(self) -> float:
        """Wait until each socket shows a commit that is made from now on; return the seconds until all have."""
        now, began = time.time(), time.monotonic()
        shown: dict[int, float] = {}

        def heard() -> bool:
            for number, listener in enumerate(self.listeners):
                later = [each.at for each in listener.reported if each.committed and each.committed > now]
                shown.setdefault(number, later[0]) if later else None
            return len(shown) == len(self.listeners)

        eventually(heard, PROMISED)
        return max(shown.values()) - began

    def stored(self, cluster: Cluster) -> bool:
        return expected(TAPE, RESOURCES, 0, self.player.played) <= changes_of(self.source(cluster))


@contextmanager
def staged(folder: Path) -> Iterator[Scene]:
    with ExitStack() as stack:
        parts = stack.enter_context(available(folder))
        options: dict[str, Any] = {"speed": 100_000, "paused": True, "bookmark_seconds": 1}
        replays = [stack.enter_context(serve(TAPE, **options)) for _ in range(2)]
        clusters = [connected(replay, folder, f"cluster-{number}") for number, replay in enumerate(replays)]
        eventually(lambda: all(watched(cluster) >= RESOURCES for cluster in clusters), 60)
        source = Source.objects.get(current_of=clusters[0])
        listeners = stack.enter_context(listening(parts.address, source.pk, SOCKETS))
        player = Player(replays)
        stack.callback(player.stop)
        player.start()
        yield Scene(parts, clusters, player, listeners)


def test_nothing_is_lost_while_each_part_fails_in_turn(
    tmp_path: Path, record_property: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    began = time.monotonic()

    def say(text: str) -> None:
        with capsys.disabled():
            print(f"\n{time.monotonic() - began:6.1f} s: {text}", end="", flush=True)

    with staged(tmp_path) as scene:
        parts = scene.parts
        assert parts.pooling()["pool_mode"] == "transaction"
        say("all run")
        onlooker = Onlooker(parts.address, scene.first.pk)
        onlooker.start()
        scene.all_hear_of_what_is_committed_now()
        onlooker.shows(1)  # from here on the page has to help itself; one that has not loaded is loaded again by hand
        say("sockets and a browser follow")

        parts.kill("valkey")
        visitor = Visitor(parts.address)
        status, upload = visitor.ask("POST", "/api/uploads?name=volcano-restart.jsonl.zst", SAMPLE.read_bytes())
        assert status == 201
        scene.all_hear_of_what_is_committed_now()
        parts.start("valkey")
        say("Valkey was killed and is back; watching went on")

        before = [listener.connections for listener in scene.listeners]
        parts.kill(WEB[0])
        eventually(lambda: any(now.connections > then for now, then in zip(scene.listeners, before, strict=True)))
        scene.all_hear_of_what_is_committed_now()
        parts.start(WEB[0])
        say("a web process was killed; its sockets came back")

        holder = scene.holder()
        parts.send(holder, signal.SIGSTOP)
        eventually(lambda: scene.holder() not in {holder, ""})
        parts.send(holder, signal.SIGCONT)
        scene.all_hear_of_what_is_committed_now()
        say("a worker was frozen; another one took over")

        seconds = scene.fail_over()
        record_property("seconds_after_promotion", seconds)
        say(f"PostgreSQL was killed; the stand-by's commits were seen {seconds:.1f} s after its promotion")
        assert seconds < patient(PROMISED)
        killed = scene.holder() or WORKERS[0]
        parts.kill(killed)
        parts.start(killed)

        eventually(lambda: visitor.ask("GET", f"/api/uploads/{upload['id']}")[1]["state"] == "done", 30)
        parts.postgres.add_standby(synchronous=False)
        parts.postgres.cut_replication()
        scene.all_hear_of_what_is_committed_now()
        heard = scene.listeners[0].sequences[-1]
        seconds = scene.fail_over()
        assert not Delta.objects.filter(source=scene.first, sequence=heard).exists(), "nothing was lost"
        say(f"an older stand-by was promoted; its commits were seen {seconds:.1f} s later")

        scene.player.finish()
        for cluster in scene.clusters:
            eventually(lambda cluster=cluster: happened(lambda: scene.stored(cluster)), 30)  # type: ignore[misc]
            source = scene.source(cluster)
            assert not doubled(source)
            eventually(lambda source=source: found(source) == found_anew(source) != set(), 30)  # type: ignore[misc]
        assert not Gap.objects.exists()
        say("everything is stored once, and judged as if nothing had happened")
        last = scene.first.sequence
        eventually(lambda: all(each.knows(last) for each in scene.listeners))
        for listener in scene.listeners:
            assert listener.sequences == sorted(listener.sequences), "a socket was led back"
        onlooker.shows(last)
        onlooker.stop()
        say("sockets and the browser show the last commit; the upload is imported\n")

"""Kill, freeze, cut and restart everything at random for as long as one likes, and count what was lost or doubled.

    python -m bench.soak [--minutes 60] [--seed 1]

A highly available Causeline runs with real processes: two web processes behind HAProxy, three workers, beat,
PgBouncer, PostgreSQL with a synchronous stand-by, and Valkey. It watches three replays of the sample at a time, to
the end and then anew under other names, while sockets and a browser follow one of them and recordings are uploaded.
API servers, too, misbehave. After each round, what is stored is compared with what the replays played. It exits with
1 if anything is wrong.
"""

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.error import URLError

from bench.figures import SAMPLE

if TYPE_CHECKING:
    from collectors.replay import Replay
    from tests.clients.onlookers import Listener, Onlooker
    from tests.servers.available import Available
    from timeline.models import Cluster, Source

_CLUSTERS, _SOCKETS = 3, 4
_STEP = 25  # commits between two chances of a fault
_AGAIN = 120  # seconds after which all must be stored: a watch that hangs is noticed after at most 75
_FROZEN = 8.0  # seconds at most that a process is frozen
_ORDERS: list[dict[str, Any]] = [
    {"faults": [{"kind": "reset", "count": 3}]},
    {"faults": [{"kind": "half-line", "count": 3}]},
    {"faults": [{"kind": "hang", "count": 1}]},
    {"faults": [{"kind": "gone-in-stream", "count": 2}]},
    {"faults": [{"kind": "throttle", "count": 4, "seconds": 1}], "disconnect": True},
    {"faults": [{"kind": "error", "count": 8}], "disconnect": True},
    {"faults": [{"kind": "duplicate", "count": 10}, {"kind": "delay", "seconds": 1}]},
    {"compact": True, "disconnect": True},
    {"away": 3},
]


class Chaos:
    """Disturb one part at a time, and count how often each was done."""

    def __init__(self, parts: "Available", chance: random.Random) -> None:
        from tests.servers.available import WEB, WORKERS

        self._parts, self._chance = parts, chance
        self._all = (*WORKERS, *WEB, "beat", "haproxy", "pgbouncer", "valkey")
        self._stoppable = (*WORKERS, *WEB)
        self.done: Counter[str] = Counter()

    def disturb(self) -> None:
        chance, parts, postgres = self._chance, self._parts, self._parts.postgres
        deed = chance.choice(("kill", "kill", "freeze", "stop", "fail over", "restart primary", "restart stand-by"))
        match deed:
            case "kill":
                name = chance.choice(self._all)
                parts.kill(name)
                time.sleep(chance.uniform(0, 2))
                parts.start(name)
            case "freeze":
                name = chance.choice(self._all)
                parts.send(name, signal.SIGSTOP)
                time.sleep(chance.uniform(1, _FROZEN))
                parts.send(name, signal.SIGCONT)
            case "stop":
                name = chance.choice(self._stoppable)
                parts.send(name, signal.SIGTERM)
                parts.processes.pop(name).wait(30)
                parts.start(name)
            case "fail over":
                name = "PostgreSQL"
                postgres.fail_over()
                time.sleep(chance.uniform(0, 2))
                postgres.add_standby(synchronous=True)
            case _:
                name = "PostgreSQL"
                server = postgres.primary if deed == "restart primary" else postgres.standby
                server.kill()
                time.sleep(chance.uniform(0, 2))
                server.start()
        self.done[f"{deed} {name}"] += 1


def until(happens: Callable[[], object], seconds: float) -> bool:
    """Wait until something happens, whatever fails meanwhile; return whether it did in time."""
    from tests.servers.available import happened

    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with suppress(OSError, URLError):  # a replay or a web process is away at the moment
            if happened(happens):
                return True
        time.sleep(0.1)
    return False


def nothing_missing(source: "Source", played: Counter[Any], kinds: dict[str, str]) -> bool:
    """Return whether everything that was played is stored, or in a gap that is shown. `kinds` has the kind of each
    UID."""
    from tests.rows.followed import changes_of
    from timeline.models import Gap

    gaps = [(gap.kind, gap.since_revision or 0, gap.revision or 0) for gap in Gap.objects.filter(source=source)]
    return all(
        any(kinds[uid] == kind and low < (revision or 0) <= high for kind, low, high in gaps)
        for uid, revision, _ in played - changes_of(source)
    )


def judged_as_at_once(source: "Source") -> bool:
    """Return whether the stored findings are those that all stored entries give at once, and whether there are some."""
    from tests.rows.followed import found, found_anew

    return found(source) == found_anew(source) != set()


def memory(parts: "Available") -> dict[str, int]:
    """Return the resident memory of each process that runs, in MB."""
    found = {}
    for name, process in parts.processes.items():
        with suppress(OSError, IndexError):
            children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
            pids = [process.pid, *map(int, children)]
            pages = sum(int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in pids)
            found[name] = pages * os.sysconf("SC_PAGE_SIZE") >> 20
    return found


class Round:
    """One round: replays of the whole sample, each as a cluster of its own."""

    def __init__(self, parts: "Available", chaos: Chaos, chance: random.Random, number: int) -> None:
        self._parts, self._chaos, self._chance, self._number = parts, chaos, chance, number
        self.wrong: list[str] = []
        self.commits = 0
        self.seconds = 0.0  # until everything was stored after the last fault

    def run(self) -> None:
        from collectors.replay import serve
        from tests.clients.onlookers import Onlooker, listening
        from tests.rows.followed import connected, taped, watched

        tape = taped(SAMPLE)
        options: dict[str, Any] = {"speed": 100_000, "paused": True, "bookmark_seconds": 1}
        with ExitStack() as stack:
            replays = [stack.enter_context(serve(tape, **options)) for _ in range(_CLUSTERS)]
            clusters = [
                connected(replay, self._parts.folder, f"round-{self._number}-{place}")
                for place, replay in enumerate(replays)
            ]
            self._must(lambda: all(len(watched(each)) > 10 for each in clusters), 60, "the clusters are watched")
            resources = [watched(each) for each in clusters]
            followed = self._source(clusters[0])
            listeners = stack.enter_context(listening(self._parts.address, followed.pk, _SOCKETS))
            onlooker = Onlooker(self._parts.address, followed.pk)
            onlooker.start()
            stack.callback(onlooker.stop)
            upload = self._upload()
            for _ in range(0, len(tape.commits), _STEP):
                self._play(replays)
            self._compare(clusters, resources, listeners, onlooker)
            self._must(lambda: self._state(upload) == "done", 90, "the upload is imported")
            for cluster in clusters:
                until(cluster.delete, 30)

    def _play(self, replays: "list[Replay]") -> None:
        for replay in replays:
            until(partial(replay.control, step=_STEP), 30)
        self.commits += len(replays) * _STEP
        time.sleep(self._chance.uniform(0, 1))
        if self._chance.random() < 0.2:
            self._chaos.disturb()
        elif self._chance.random() < 0.3:
            order, replay = self._chance.choice(_ORDERS), self._chance.choice(replays)
            until(partial(replay.control, **order), 30)
            self._chaos.done["API server misbehaves"] += 1

    def _compare(
        self,
        clusters: "list[Cluster]",
        resources: list[set[str]],
        listeners: "list[Listener]",
        onlooker: "Onlooker",
    ) -> None:
        from tests.rows.followed import doubled, expected, taped

        tape = taped(SAMPLE)
        kinds = {commit.uid: commit.resource.kind for commit in tape.commits}
        began = time.monotonic()
        for cluster, names in zip(clusters, resources, strict=True):
            source = self._source(cluster)
            whole = partial(nothing_missing, source, expected(tape, names), kinds)
            self._must(whole, _AGAIN, f"{cluster.name}: nothing is lost")
            if twice := doubled(source):
                self.wrong.append(f"{cluster.name}: stored twice: {twice[:5]}")
            self._must(partial(judged_as_at_once, source), 60, f"{cluster.name}: it is judged as at once")
        self.seconds = time.monotonic() - began
        last = self._source(clusters[0]).sequence
        for listener in listeners:
            self._must(partial(listener.knows, last), 60, "a socket shows the end")
            if listener.sequences != sorted(listener.sequences):
                self.wrong.append("a socket was led back")
        if not until(partial(onlooker.shown_after, last), 60):
            self.wrong.append(f"the browser shows {onlooker.shown}, not the end, {last}: {onlooker.complaints}")

    def _must(self, happens: Callable[[], object], seconds: float, what: str) -> None:
        if not until(happens, seconds):
            self.wrong.append(f"it did not happen within {seconds} s that {what}")

    def _source(self, cluster: "Cluster") -> "Source":
        from timeline.models import Cluster

        found: list[Source] = []

        def read() -> bool:
            found.extend(filter(None, [Cluster.objects.select_related("source").get(pk=cluster.pk).source]))
            return bool(found)

        self._must(read, 60, "the cluster has a source")
        return found[0]

    def _upload(self) -> int:
        from tests.clients.visitor import Visitor

        sent: list[int] = []

        def send() -> bool:
            status, answer = Visitor(self._parts.address).ask(
                "POST", "/api/uploads?name=a.jsonl.zst", SAMPLE.read_bytes()
            )
            if status == 201:
                sent.append(answer["id"])
            return bool(sent)

        self._must(send, 60, "an upload is taken")
        return sent[0] if sent else 0

    def _state(self, upload: int) -> str:
        from timeline.models import Upload

        return Upload.objects.values_list("state", flat=True).get(pk=upload)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    os.environ["DJANGO_SETTINGS_MODULE"] = "dashboard.settings"
    os.environ.setdefault("CAUSELINE_SECRET_KEY", "only for the soak of Causeline, which signs nothing")
    os.environ |= {"DATABASE_URL": "postgresql:///replaced-below", "REDIS_URL": "redis://replaced-below"}
    import django

    django.setup()
    from tests.servers.available import available

    chance = random.Random(options.seed)
    rounds: list[Round] = []
    most: Counter[str] = Counter()
    end = time.monotonic() + 60 * options.minutes
    with tempfile.TemporaryDirectory(prefix="causeline-soak-") as folder, available(Path(folder)) as parts:
        chaos = Chaos(parts, chance)
        while time.monotonic() < end:
            each = Round(parts, chaos, chance, len(rounds) + 1)
            each.run()
            rounds.append(each)
            used = memory(parts)
            most |= Counter(used)
            print(
                f"round {len(rounds)}: {each.commits} commits, {chaos.done.total()} faults so far, everything there"
                f" after {each.seconds:.1f} s, {used} MB",
                *each.wrong,
                sep="\n  ",
                flush=True,
            )
    wrong = sum(bool(each.wrong) for each in rounds)
    print(f"faults: {dict(chaos.done.most_common())}")
    print(f"memory at most after a round: {dict(most)} MB")
    print(f"{len(rounds)} rounds, {sum(each.commits for each in rounds)} commits, {wrong} rounds wrong")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()

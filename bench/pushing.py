"""Measure how quickly a commit of a live source is drawn, with many sockets open.

    python -m bench.pushing [--rate 500] [--sockets 200] [--seconds 30] [--pods 400] [--browser PATH]

The bench starts a Causeline of its own. A writer invents a cluster (Pods that become ready and not ready, and every
second some that are deleted and created again) and makes ten commits a second; a real browser shows the source's
timeline, and more sockets follow it. The bench prints the milliseconds from each commit to the frame that shows it, how
many messages the sockets got, and the processor time of the processes.
"""

import argparse
import asyncio
import contextlib
import http.cookiejar
import itertools
import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from bisect import bisect_left
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from bench.figures import Figure, loop, percentile, show
from dashboard.cli.terminal import say
from dashboard.services import Supervisor
from dashboard.services.launcher import served

BROWSERS = ("chromium-headless-shell", "google-chrome", "chromium", "chromium-browser")
PORT = 8765
TICK = 0.1  # seconds between two commits
_PARTS = 3  # of a run, whose percentiles are compared
# This runs in the page. It records each sequence that a frame shows, and the time of the frame.
WATCH = """
  window.shown = [];
  new MutationObserver(() => {
    const sequence = Number(document.getElementById("figure").dataset.edge);
    requestAnimationFrame(() => shown.push([sequence, performance.timeOrigin + performance.now()]));
  }).observe(document, { attributes: true, subtree: true, attributeFilter: ["data-edge"] });
"""


def door(path: str) -> str:
    """Return the address with the start-up token that redirects to the path."""
    return f"http://127.0.0.1:{PORT}{path}?token={os.environ['CAUSELINE_TOKEN']}"


def pod(number: int, life: int, revision: int, ready: bool, now: float) -> bytes:
    """Return the JSON of a Pod of a Job, as a watch shows it."""
    born = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now - 2 if life else now - 600))
    job = f"job-{number // 10}"
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": job, "uid": f"uid-{job}", "controller": True}
    metadata = {
        "name": f"{job}-{number % 10}",
        "namespace": "bench",
        "uid": f"uid-{number}-{life}",
        "resourceVersion": str(revision),
        "creationTimestamp": born,
        "ownerReferences": [owner],
    }
    conditions = [{"type": "Ready", "status": str(ready), "lastTransitionTime": born}]
    status = {"phase": "Running", "conditions": conditions}
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"nodeName": "node-1"}, "status": status}
    return json.dumps(body).encode()


def write(rate: int, pods: int) -> None:
    """Commit until the process is ended. Print the source's id, then [sequence, ms, entries] of each commit."""
    import django

    django.setup(set_prefix=False)
    from msgspec.structs import replace

    from collectors.gate import Limits, admit
    from collectors.normalise.objects import observed_object
    from timeline import pipeline
    from timeline.core.entries import Change, Entry, moment
    from timeline.models import Cluster
    from timeline.storage import live

    cluster = Cluster.objects.create(name="bench", state="live", expires_at=moment(4 * 10**15))
    held = live.open_again(live.begin(cluster))
    print(json.dumps(held.source.pk), flush=True)
    revisions = itertools.count(1000)
    lives, ready = [0] * pods, [False] * pods

    def entry(number: int, change: Change) -> Entry:
        now = time.time()
        seen = observed_object(
            pod(number, lives[number], next(revisions), ready[number], now), change, None, bodies=True
        )
        (admitted,) = admit([replace(seen.entry, received=int(now * 1e6), arrived=int(now * 1e6))], Limits())
        assert isinstance(admitted, Entry)
        return admitted

    pipeline.follow(held, [entry(number, Change.OBSERVED) for number in range(pods)])
    numbers = itertools.cycle(range(pods))
    due = time.monotonic()
    for tick in itertools.count():
        batch = []
        for number in itertools.islice(numbers, int(rate * TICK)):
            ready[number] = not ready[number]
            batch.append(entry(number, Change.MODIFIED))
        if tick % 10 == 0:
            number = next(numbers)
            batch.append(entry(number, Change.DELETED))
            lives[number] += 1
            batch.append(entry(number, Change.CREATED))
        commit = pipeline.follow(held, batch)
        print(json.dumps([commit.sequence, time.time() * 1000, len(batch)]), flush=True)
        due += TICK
        time.sleep(max(0.0, due - time.monotonic()))


def listen(source: int, sockets: int) -> None:
    """Open sockets and read them until the process is ended; then print how many messages and bytes came."""
    import signal

    from websockets.asyncio.client import connect

    got = [0, 0]

    cookies = http.cookiejar.CookieJar()
    urllib.request.build_opener(urllib.request.HTTPCookieProcessor(cookies)).open(door("/healthz")).close()
    known = {"Cookie": "; ".join(f"{cookie.name}={cookie.value}" for cookie in cookies)}

    async def one() -> None:
        address = f"ws://127.0.0.1:{PORT}/ws/sources/{source}/"
        own: Any = {"origin": f"http://127.0.0.1:{PORT}", "additional_headers": known}
        async with connect(address, compression=None, max_size=None, **own) as socket:
            async for message in socket:
                got[0] += 1
                got[1] += len(message)

    async def all_of_them() -> None:
        tasks: list[asyncio.Task[None]] = [asyncio.create_task(one()) for _ in range(sockets)]
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, lambda: [task.cancel() for task in tasks])
        await asyncio.gather(*tasks, return_exceptions=True)

    asyncio.run(all_of_them())
    print(json.dumps(got), flush=True)


@contextlib.contextmanager
def beside(*command: str, **options: Any) -> Iterator["subprocess.Popen[str]"]:
    process = subprocess.Popen([sys.executable, "-m", *command], text=True, **options)
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


def spent(process: "subprocess.Popen[str]") -> float:
    """Return the CPU seconds of a process so far."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(options: argparse.Namespace) -> Iterator[Figure]:
    """Yield the figures of one run."""
    subprocess.run([sys.executable, "-m", "dashboard.cli", "manage", "migrate", "-v0"], check=True)
    web_command = ("dashboard.web", "--port", str(PORT))
    me = ("bench.pushing", "--rate", str(options.rate), "--pods", str(options.pods))
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with contextlib.ExitStack() as stack:
        web = stack.enter_context(beside(*web_command, **quiet))
        writer = stack.enter_context(beside(*me, "--part", "write", stdout=subprocess.PIPE))
        assert writer.stdout
        source = int(writer.stdout.readline())
        while True:
            with contextlib.suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{PORT}/healthz"):
                break
            time.sleep(0.2)
        listening = ("--part", "listen", "--source", str(source), "--sockets", str(options.sockets))
        sockets = stack.enter_context(beside(*me, *listening, stdout=subprocess.PIPE))
        parts = {"web": web, "writer": writer, "sockets": sockets}
        before: dict[str, float] = {}
        frames = watched(options, source, lambda: before.update({name: spent(each) for name, each in parts.items()}))
        cost = {name: spent(each) - before[name] for name, each in parts.items()}
        sockets.terminate()
        assert sockets.stdout
        messages, size = json.loads(sockets.stdout.read())
        writer.terminate()
        commits = [json.loads(line) for line in writer.stdout]
    yield from report(options, commits, frames, cost, messages / max(1, options.sockets), size)


def watched(options: argparse.Namespace, source: int, begin: Callable[[], None]) -> list[tuple[int, float]]:
    """Return sequence and time of each frame that a browser shows in `options.seconds`, after it has warmed up."""
    path = options.browser or next(filter(None, map(shutil.which, BROWSERS)), None)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.add_init_script(WATCH)
        page.goto(door(f"/sources/{source}/"))
        while page.evaluate("shown.length") < 20:
            page.wait_for_timeout(200)
        page.wait_for_timeout(3_000)
        page.evaluate("shown.length = 0")
        begin()
        page.wait_for_timeout(options.seconds * 1000)
        frames = [(sequence, at) for sequence, at in page.evaluate("shown")]
        browser.close()
    return frames


def report(
    options: argparse.Namespace,
    commits: list[tuple[int, float, int]],
    frames: list[tuple[int, float]],
    cost: dict[str, float],
    messages: float,
    size: int,
) -> Iterator[Figure]:
    """Yield the figures of the run in thirds, so that they have a spread."""
    sequences = [sequence for sequence, _ in frames]
    shown = [each for each in commits if sequences[0] < each[0] <= sequences[-1]]
    took = [frames[bisect_left(sequences, sequence)][1] - at for sequence, at, _ in shown]
    third = len(took) // _PARTS
    parts = [took[number * third : (number + 1) * third] for number in range(_PARTS)]
    entries = sum(count for _, _, count in shown) / ((shown[-1][1] - shown[0][1]) / 1000)
    load, loops = f"{options.sockets} sockets, about {options.rate} entries/s", (loop(),) * _PARTS
    for part, asked in ((0.5, 80), (0.99, 200)):
        values = tuple(percentile(each, part) for each in parts)
        yield Figure(f"commit to drawn, {load}, p{100 * part:.0f}", values, "ms", asked, at_most=True, loops=loops)
    yield Figure("commit to drawn, entries a second", (entries,))
    yield Figure("messages for each socket", (messages,))
    yield Figure("bytes of a message", (size / max(1, messages * options.sockets),), at_most=True)
    for name, seconds in cost.items():
        yield Figure(f"processor time of {name}, a part of one core", (seconds / options.seconds,), at_most=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=int, default=500)
    parser.add_argument("--sockets", type=int, default=200)
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--pods", type=int, default=400)
    parser.add_argument("--browser", help="Chrome or Chromium; else one in PATH, else Playwright's own")
    parser.add_argument("--part", choices=["write", "listen"], help=argparse.SUPPRESS)
    parser.add_argument("--source", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.part == "write":
        return write(options.rate, options.pods)
    if options.part == "listen":
        return listen(options.source, options.sockets)
    with (
        tempfile.TemporaryDirectory(prefix="causeline-bench-") as folder,
        Supervisor(say) as supervisor,
        served(Path(folder, "data").absolute(), supervisor, join=True) as variables,
    ):
        os.environ.update(variables, CAUSELINE_LOGIN="token", DJANGO_SETTINGS_MODULE="dashboard.settings")
        os.environ["CAUSELINE_TOKEN"] = secrets.token_hex(32)
        show(measure(options))
    return None


if __name__ == "__main__":
    main()

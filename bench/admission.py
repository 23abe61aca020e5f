"""Measure how quickly a web process answers an admission webhook.

    python -m bench.admission [--rate 200] [--seconds 30] [--connections 8]

A real web process, on servers of its own, is asked about updates of Pods at a steady rate. The bench prints the time
that the server took (its header Server-Timing) and the time until the answer arrived, and compares what was stored with
what was sent. It exits with 1 if 99 of 100 answers did not take less than 5 ms of server time.
"""

import argparse
import asyncio
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

from bench.importing import servers

_ROOT = Path(__file__).resolve().parent.parent
_LIMIT = 0.005  # seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rate", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--connections", type=int, default=8)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="causeline-bench-") as folder, servers(Path(folder, "data")) as variables:
        os.environ.update(variables)
        subprocess.run([sys.executable, "manage.py", "migrate", "--verbosity", "0"], cwd=_ROOT, check=True)
        import django

        django.setup()
        token = _token()
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        command = [sys.executable, "-m", "dashboard.web", "--port", str(port)]
        with subprocess.Popen(command, cwd=_ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as web:
            try:
                _await(f"http://127.0.0.1:{port}/healthz")
                path = f"/api/admission/{token}"
                asyncio.run(_ask(port, path, 50, 1, options.connections))  # what is loaded once is not measured
                took = asyncio.run(_ask(port, path, options.rate, options.seconds, options.connections))
                time.sleep(3)
            finally:
                web.terminate()
        served, arrived = zip(*took, strict=True)
        print(f"{len(took)} reviews, {options.rate}/s")
        for name, times in (("server time", served), ("until the answer", arrived)):
            parts = statistics.quantiles(times, n=1000)
            text = ", ".join(f"p{q / 10:g} {1000 * parts[q - 1]:.2f}" for q in (500, 900, 990, 999))
            print(f"{name}: {text}, most {1000 * max(times):.2f} ms")
        from timeline.models import ActorFeed

        feed = ActorFeed.objects.get()
        print(f"stored {feed.events}, dropped {feed.dropped}")
        sys.exit(statistics.quantiles(served, n=100)[98] >= _LIMIT or feed.events + feed.dropped < len(took))


def _token() -> str:
    from django.utils import timezone

    from dashboard.access.tokens import tokens
    from timeline.models import Cluster, Source

    now = timezone.now()
    source = Source.objects.create(name="bench", ready=True, first=now, last=now)
    cluster = Cluster.objects.create(name="bench", source=source)
    return tokens.issue("bench", ["audit"], expires=now + timedelta(days=1), cluster=cluster, by="bench")[0]


def _review(number: int) -> bytes:
    """Return the review of an update of a Pod with as many fields as usual."""
    metadata = {
        "name": f"p-{number % 50}",
        "namespace": "n",
        "uid": f"uid-{number % 50}",
        "resourceVersion": str(number + 1),
    }
    containers: list[dict[str, Any]] = [
        {
            "name": f"c{at}",
            "image": f"registry.example.com/team/app:{number}",
            "env": [{"name": f"VARIABLE_{n}", "value": f"value {n} of {at}"} for n in range(20)],
            "resources": {"limits": {"cpu": "1", "memory": "1Gi"}},
            "volumeMounts": [{"name": f"v{n}", "mountPath": f"/mnt/{n}"} for n in range(5)],
        }
        for at in range(3)
    ]
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": containers}}
    request = {
        "uid": f"review-{number}",
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "name": metadata["name"],
        "namespace": "n",
        "operation": "UPDATE",
        "userInfo": {"username": "system:serviceaccount:n:robot"},
        "object": pod,
        "oldObject": pod,
    }
    return json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}).encode()


async def _ask(port: int, path: str, rate: int, seconds: float, connections: int) -> list[tuple[float, float]]:
    """Return of each review how long the server took, and how long it took until the answer arrived, in seconds."""
    took: list[tuple[float, float]] = []
    numbers = iter(range(int(rate * seconds)))
    began = time.perf_counter()

    async def ask() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for number in numbers:
            body = _review(number)
            await asyncio.sleep(max(0, began + number / rate - time.perf_counter()))
            head = f"POST {path} HTTP/1.1\r\nHost: causeline\r\nContent-Type: application/json\r\n"
            sent = time.perf_counter()
            writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
            answer = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            assert " 200 " in answer.partition("\r\n")[0], answer
            await reader.readexactly(int(answer.partition("content-length: ")[2].partition("\r\n")[0]))
            server = float(answer.partition("app;dur=")[2].partition("\r\n")[0]) / 1000
            took.append((server, time.perf_counter() - sent))
        writer.close()

    await asyncio.gather(*(ask() for _ in range(connections)))
    return took


def _await(address: str) -> None:
    for _ in range(600):
        with suppress(OSError), urllib.request.urlopen(address, timeout=5):
            return
        time.sleep(0.1)
    raise TimeoutError(f"{address} does not answer")


if __name__ == "__main__":
    main()

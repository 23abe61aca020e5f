"""Let a real API server send its audit log to Causeline while its watches are followed, and compare both.

    python -m bench.control_plane --programs FOLDER [--seconds 90] [--kill] [--admission]

FOLDER has `kube-apiserver` and `kube-controller-manager`; `etcd` and `kubectl` are on the path. The bench starts them
and a Causeline of its own, behind a proxy that ends TLS, since an API server sends no token without. It makes objects
for some seconds, and compares what Causeline then knows with the audit log that the API server wrote into a file. With
`--kill`, web, worker, PostgreSQL and Valkey are killed meanwhile. With `--admission`, the API server sends admission
reviews and no audit events. It exits with 1 if an entry of the log is missing or has another actor.
"""

import argparse
import asyncio
import contextlib
import json
import os
import re
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from collectors.formats import read
from collectors.watch.webhook_files import admission_manifest, audit_policy, kubeconfig
from timeline.core.entries import Change, Clock, Entry
from timeline.history.world.world import World

_TOKEN = "the-token-of-the-administrator"
_WORK = """
apiVersion: batch/v1
kind: Job
metadata: {{name: job-{n}, namespace: work}}
spec:
  parallelism: 3
  completions: 3
  template: {{spec: {{restartPolicy: Never, containers: [{{name: a, image: b}}]}}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {{name: web-{m}, namespace: work}}
spec:
  replicas: {r}
  selector: {{matchLabels: {{a: web-{m}}}}}
  template:
    metadata: {{labels: {{a: web-{m}}}, annotations: {{n: "{n}"}}}}
    spec: {{containers: [{{name: a, image: "b:{n}"}}]}}
"""


class Plane:
    """The control plane, with its Causeline, in a folder."""

    def __init__(self, folder: Path, programs: Path, port: int) -> None:
        self.folder, self.programs, self.port = folder, programs, port
        self.api = f"https://127.0.0.1:{port}"
        self.web = f"http://127.0.0.1:{port + 1}"
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.written = folder / "audit.log"
        _run("openssl", "genrsa", "-out", str(folder / "sa.key"), "2048")
        _run("openssl", "rsa", "-in", str(folder / "sa.key"), "-pubout", "-out", str(folder / "sa.pub"))
        (folder / "tokens.csv").write_text(f'{_TOKEN},admin,1,"system:masters"\n')
        (folder / "policy.yaml").write_text(audit_policy())
        (folder / "admin.yaml").write_text(json.dumps(_kubeconfig(self.api, _TOKEN)))

    def start(self, name: str, *command: str) -> None:
        with (self.folder / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(["nice", *command], stdout=log, stderr=log, cwd=self.folder)

    def stop(self, name: str) -> None:
        process = self.processes.pop(name)
        ends = {"kube-apiserver": signal.SIGKILL}  # which would wait for its watches
        process.send_signal(ends.get(name, signal.SIGTERM))
        process.wait(60)

    def causeline(self, *command: str) -> str:
        options = ["--data-dir", str(self.folder / "data")]
        program = [sys.executable, "-m", "dashboard.cli", command[0], *command[1:]]
        at = 4 + (command[0] == "tokens")
        return subprocess.run(
            [*program[:at], *options, *program[at:]], check=True, capture_output=True, text=True
        ).stdout

    def start_etcd(self) -> None:
        client, peer = (f"http://127.0.0.1:{self.port + number}" for number in (2, 3))
        urls = ["--listen-client-urls", client, "--advertise-client-urls", client, "--listen-peer-urls", peer]
        peers = ["--initial-advertise-peer-urls", peer, "--initial-cluster", f"default={peer}"]
        self.start("etcd", "etcd", "--data-dir", str(self.folder / "etcd"), *urls, *peers)

    def start_api(self, *more: str) -> None:
        self.written.unlink(missing_ok=True)
        options = {
            "etcd-servers": f"http://127.0.0.1:{self.port + 2}",
            "secure-port": self.port,
            "bind-address": "127.0.0.1",
            "cert-dir": self.folder / "certs",
            "token-auth-file": self.folder / "tokens.csv",
            "service-account-issuer": "https://issuer",
            "service-account-key-file": self.folder / "sa.pub",
            "service-account-signing-key-file": self.folder / "sa.key",
            "authorization-mode": "RBAC",
            "service-cluster-ip-range": "10.0.0.0/16",
            "audit-policy-file": self.folder / "policy.yaml",
            "audit-log-path": self.written,
        }
        given = [f"--{name}={value}" for name, value in options.items()]
        self.start("kube-apiserver", str(self.programs / "kube-apiserver"), *given, *more)
        until(lambda: self.kubectl("get", "--raw", "/readyz").returncode == 0, 120)

    def kubectl(self, *command: str, stdin: str = "") -> "subprocess.CompletedProcess[str]":
        program = ["kubectl", "--kubeconfig", str(self.folder / "admin.yaml"), *command]
        return subprocess.run(program, input=stdin, capture_output=True, text=True)

    def work(self, seconds: float, meanwhile: Callable[[float], None]) -> None:
        """Make objects for some seconds; `meanwhile` is called with the part of the time that has passed."""
        self.kubectl("create", "namespace", "work")
        began, number = time.monotonic(), 0
        while (passed := time.monotonic() - began) < seconds:
            number += 1
            self.kubectl("apply", "-f", "-", stdin=_WORK.format(n=number, m=number % 3, r=number % 4))
            self.kubectl("-n", "work", "delete", "job", f"job-{number - 2}", "--wait=false")
            meanwhile(passed / seconds)
            time.sleep(1)

    def kill(self, name: str) -> None:
        """Kill a part of Causeline with SIGKILL. Its supervisor starts it again."""
        mark = {"web": "dashboard.web", "worker": "celery", "postgres": "postgres", "valkey": "valkey"}[name]
        for pid, command in _descendants(self.processes["causeline"].pid):
            if mark in command and "guard.py" not in command:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        print(f"killed {name}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--programs", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=90)
    parser.add_argument("--port", type=int, default=26_500, help="the first of five")
    parser.add_argument("--kill", action="store_true")
    parser.add_argument("--admission", action="store_true")
    parser.add_argument("--keep", type=Path, help="a folder to which the log and the recording are copied")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="causeline-plane-") as folder:
        Path(folder).chmod(0o755)
        plane = Plane(Path(folder), options.programs.resolve(), options.port)
        try:
            wrong = run(plane, options)
        finally:
            for name in list(plane.processes)[::-1]:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    plane.stop(name)
    sys.exit(bool(wrong))


def run(plane: Plane, options: argparse.Namespace) -> int:
    program = [sys.executable, "-m", "dashboard.cli", "up", "--no-token", "--workers", "1"]
    plane.start("causeline", *program, "--data-dir", str(plane.folder / "data"), "--port", str(plane.port + 1))
    plane.start_etcd()
    plane.start_api()
    until(lambda: _answers(f"{plane.web}/healthz"), 120)
    plane.causeline("connect", "--name", "plane", "--kubeconfig", str(plane.folder / "admin.yaml"))
    until(lambda: "plane: live" in plane.causeline("clusters"), 60)
    made = plane.causeline("tokens", "create", "API server", "--scope", "audit", "--cluster", "plane")
    found = re.search(r"causeline_\S{20,}", made)
    assert found
    token = found[0]
    authority = proxy(plane.folder, plane.port + 4, plane.port + 1)
    plane.stop("kube-apiserver")
    address = f"https://127.0.0.1:{plane.port + 4}"
    if options.admission:
        plane.start_api()
        manifest = admission_manifest(address, token, authority)
        applied = plane.kubectl("apply", "-f", "-", stdin=manifest)
        assert not applied.returncode, applied.stderr
    else:
        webhook = plane.folder / "webhook.yaml"
        webhook.write_text(kubeconfig(address, token, authority))
        plane.start_api(f"--audit-webhook-config-file={webhook}", "--audit-webhook-batch-max-wait=2s")
    manager = [f"--kubeconfig={plane.folder / 'admin.yaml'}", "--use-service-account-credentials=true"]
    manager.append(f"--service-account-private-key-file={plane.folder / 'sa.key'}")
    plane.start("kube-controller-manager", str(plane.programs / "kube-controller-manager"), *manager)
    due = [(0.2, "web"), (0.4, "worker"), (0.6, "postgres"), (0.8, "valkey")] if options.kill else []

    def disturb(part: float) -> None:
        if due and part >= due[0][0]:
            plane.kill(due.pop(0)[1])

    plane.work(options.seconds, disturb)
    plane.stop("kube-controller-manager")
    log = plane.folder / "audit.jsonl"
    shutil.copy(plane.written, log)  # what the API server itself writes later is not compared
    time.sleep(60 if options.kill else 20)  # an API server that was refused tries again after some seconds
    recording = plane.folder / "plane.jsonl.zst"
    plane.causeline("export", "plane", "--format", "recording", "-o", str(recording))
    if options.keep:
        options.keep.mkdir(exist_ok=True)
        for each in (log, recording):
            shutil.copy(each, options.keep)
    return compare(log, recording, admission=options.admission)


def compare(log: Path, recording: Path, *, admission: bool) -> int:
    """Print how many entries of the log Causeline has, and with whom; return how many are missing or wrong."""
    own = [each for each in read([(log, "audit.log")], bodies=False) if isinstance(each, Entry)]
    written = [each for each in own if each.resource_version is not None and each.change is not Change.DELETED]
    world = World(followed=True)
    for _ in world.learn(
        each for each in read([(recording, "recording")], bodies=False) if not isinstance(each, tuple)
    ):
        pass
    world.settle()
    moments = {
        (track.ref.uid, moment.entry.resource_version): moment for track in world.tracks() for moment in track.moments
    }
    doubled = Counter(
        (track.ref.uid, moment.entry.resource_version)
        for track in world.tracks()
        for moment in track.moments
        if moment.entry.resource_version is not None
    )
    first: dict[tuple[str, int | None], Entry] = {}
    for each in sorted(written, key=lambda entry: entry.received):
        first.setdefault((each.ref.uid, each.resource_version), each)  # later ones with this revision changed nothing
    missing = [each for key, each in first.items() if key not in moments]
    unsaid = [each for key, each in first.items() if key in moments and not moments[key].entry.actor]
    others = [
        each for key, each in first.items() if key in moments and moments[key].entry.actor not in ("", each.actor)
    ]
    twice = sum(number > 1 for number in doubled.values())
    watched = sum(1 for moment in moments.values() if moment.entry.clock is Clock.OBJECT)
    print(f"events of writes in the audit log: {len(own)}; changes with a revision: {len(first)}")
    print(
        f"of these in Causeline: {len(first) - len(missing)}, with another actor: {len(others)}, without: {len(unsaid)}"
    )
    print(f"changes that are there twice: {twice}; changes that only a watch or a list shows: {watched}")
    for each in [*missing, *others][:5]:
        print(f"  {each.ref.kind} {each.ref.namespace}/{each.ref.name} {each.resource_version} by {each.actor}")
    print("without an actor, by kind:", dict(Counter(each.ref.kind for each in unsaid)))
    return twice + len(others) + (0 if admission else len(missing) + len(unsaid))


def proxy(folder: Path, port: int, target: int) -> str:
    """Start a proxy that ends TLS in a thread; return its certificate as PEM."""
    certificate, key = folder / "tls.crt", folder / "tls.key"
    names = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    _run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout", str(key), "-out",
         str(certificate), *names)  # fmt: skip
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)

    async def pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while piece := await source.read(65_536):
                sink.write(piece)
                await sink.drain()
        sink.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            behind = await asyncio.open_connection("127.0.0.1", target)
        except OSError:
            writer.close()
            return
        await asyncio.gather(pump(reader, behind[1]), pump(behind[0], writer))

    async def listen() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", port, ssl=context)
        await server.serve_forever()

    threading.Thread(target=lambda: asyncio.run(listen()), daemon=True).start()
    return certificate.read_text()


def until(happens: Callable[[], bool], seconds: float) -> None:
    end = time.monotonic() + seconds
    while not happens():
        if time.monotonic() > end:
            raise TimeoutError(f"{happens} did not happen")
        time.sleep(1)


def _answers(address: str) -> bool:
    with contextlib.suppress(OSError), urllib.request.urlopen(address, timeout=5):
        return True
    return False


def _kubeconfig(server: str, token: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "a",
        "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
        "clusters": [{"name": "a", "cluster": {"server": server, "insecure-skip-tls-verify": True}}],
        "users": [{"name": "a", "user": {"token": token}}],
    }


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)


def _descendants(pid: int) -> Iterator[tuple[int, str]]:
    """Yield the processes that a process has started, with their command lines."""
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        with contextlib.suppress(OSError):
            yield int(child), Path(f"/proc/{child}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            yield from _descendants(int(child))


if __name__ == "__main__":
    main()

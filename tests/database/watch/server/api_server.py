"""This module is an API server that grants what a test says, and what connects clusters to it."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from collectors.watch.server import connections
from collectors.watch.server.connections import WatchOptions
from collectors.watch.server.kubeconfig import Kubeconfig
from tests.servers.answering import Handler, Quiet, serving
from timeline.models import Cluster

SECRET = "pl4nted-t0ken"
_VERBS = ["get", "list", "watch"]
_LEASES = "coordination.k8s.io"
_GROUP = {"name": _LEASES, "versions": [{"version": "v1", "groupVersion": f"{_LEASES}/v1"}]}
_KINDS = {"/api/v1": {"pods": "Pod", "services": "Service"}, f"/apis/{_LEASES}/v1": {"leases": "Lease"}}
ANSWERS: dict[str, Any] = {"/version": {"gitVersion": "v1.34.1"}, "/apis": {"groups": [_GROUP]}}
ANSWERS |= {
    path: {"resources": [{"name": each, "kind": kinds[each], "namespaced": True, "verbs": _VERBS} for each in kinds]}
    for path, kinds in _KINDS.items()
}


class Server(Quiet):
    """This API server serves Pods, Services and Leases, and grants what a test sets to requests with its token."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.refused: set[tuple[str, str]] = set()
        self.answers_reviews = True
        self.token = SECRET

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(Handler):
    server: Server

    def do_GET(self) -> None:
        self._answer(ANSWERS.get(self.path))

    def do_POST(self) -> None:
        review = json.loads(self.body())
        asked = review["spec"]["resourceAttributes"]
        if not self.server.answers_reviews:
            return self._answer({"kind": "Status", "message": "no", "code": 403}, 403)
        allowed = (asked["resource"], asked["verb"]) not in self.server.refused
        self._answer({"status": {"allowed": allowed, "reason": "" if allowed else "no rule"}}, 201)

    def _answer(self, answer: Any, status: int = 200) -> None:
        if self.headers["Authorization"] != f"Bearer {self.server.token}":
            answer, status = {"kind": "Status", "message": "Unauthorized", "code": 401}, 401
        elif answer is None:
            answer, status = {"kind": "Status", "message": "not found", "code": 404}, 404
        self.answer(status, answer)


@contextmanager
def api_server() -> Iterator[Server]:
    server = Server()
    with serving(server):
        yield server


def config(server: str, user: dict[str, Any] | None = None) -> str:
    """Return a kubeconfig with two contexts."""
    users = {"prod": user or {"token": SECRET}, "other": {"token": "another-s3cret"}}
    answer = {
        "kind": "Config",
        "current-context": "prod",
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [{"name": name, "user": users[name]} for name in users],
        "contexts": [{"name": name, "context": {"cluster": "c", "user": name}} for name in users],
    }
    return yaml.safe_dump(answer)


def running_program(*words: str) -> dict[str, Any]:
    """Return the user of a kubeconfig whose credentials come from a program."""
    command, *arguments = words
    version = "client.authentication.k8s.io/v1"
    return {"exec": {"apiVersion": version, "command": command, "args": arguments}}


def connected(server: str = "https://10.0.0.1:6443") -> Cluster:
    return connections.connect("prod", connections.with_kubeconfig(Kubeconfig(config(server).encode())), WatchOptions())


def connected_by(file: Path, name: str = "prod", programs_for: str = "") -> Cluster:
    """Connect a cluster by the path of a kubeconfig, which may run programs if the command line allows it."""
    way = connections.with_kubeconfig_path(file, programs_for=programs_for)
    return connections.connect(name, way, WatchOptions())

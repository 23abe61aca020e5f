"""A small API server for tests: it keeps Events as Kubernetes does, over HTTP, and reviews access to them."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.servers.answering import Handler, Quiet, serving

_FIELDS = {"metadata", "involvedObject", "type", "reason", "message", "source", "reportingComponent", "count"}


@dataclass
class EventsApi:
    """This server allows the verbs in `allowed`, and forgets to answer after the next `lost` writes."""

    port: int
    events: dict[str, dict[str, Any]] = field(default_factory=dict)  # by namespace and name
    allowed: set[str] = field(default_factory=lambda: {"create", "get", "patch"})
    requests: list[str] = field(default_factory=list)  # "POST /api/v1/…"
    lost: int = 0
    deleted: set[str] = field(default_factory=set)  # namespaces that do not exist

    @property
    def kubeconfig(self) -> dict[str, Any]:
        cluster = {"server": f"http://127.0.0.1:{self.port}"}
        return {
            "current-context": "c",
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            "clusters": [{"name": "c", "cluster": cluster}],
            "users": [{"name": "u", "user": {"token": "secret"}}],
        }


class _Server(Quiet):
    api: EventsApi


class _Handler(Handler):
    server: _Server

    def do_GET(self) -> None:
        if self._may("get"):
            found = self.server.api.events.get(self._key(self.path))
            self.answer(200, found) if found else self._status(404, "NotFound")

    def do_POST(self) -> None:
        body = json.loads(self.body())
        if self.path.endswith("/selfsubjectaccessreviews"):
            asked = body["spec"]["resourceAttributes"]
            allowed = asked["resource"] == "events" and asked["verb"] in self.server.api.allowed
            self.answer(201, {"status": {"allowed": allowed, "reason": "" if allowed else "no RBAC policy matched"}})
        elif self._may("create"):
            assert set(body) >= _FIELDS and body["metadata"]["namespace"] == self.path.split("/")[4]
            key = self._key(f"{self.path}/{body['metadata']['name']}")
            if body["metadata"]["namespace"] in self.server.api.deleted:
                self._status(404, "NotFound")
            elif key in self.server.api.events:
                self._status(409, "AlreadyExists")
            else:
                body["metadata"]["resourceVersion"] = "1"
                self._store(key, body, 201)

    def do_PATCH(self) -> None:
        assert self.headers["Content-Type"] == "application/merge-patch+json"
        patch = json.loads(self.body())
        key = self._key(self.path)
        known = self.server.api.events[key]
        version = known["metadata"]["resourceVersion"]
        if not self._may("patch"):
            return
        if patch["metadata"].get("resourceVersion") != version:
            self._status(409, "Conflict")
            return
        metadata = {**known["metadata"], **patch["metadata"], "resourceVersion": str(int(version) + 1)}
        self._store(key, {**known, **patch, "metadata": metadata}, 200)

    def _store(self, key: str, event: dict[str, Any], status: int) -> None:
        self.server.api.events[key] = event
        if self.server.api.lost:
            self.server.api.lost -= 1
            self.close_connection = True
        else:
            self.answer(status, event)

    def _may(self, verb: str) -> bool:
        self.server.api.requests.append(f"{self.command} {self.path}")
        if self.headers["Authorization"] != "Bearer secret":
            self._status(401, "Unauthorized")
        elif verb not in self.server.api.allowed:
            self._status(403, "Forbidden")
        else:
            return True
        return False

    def _key(self, path: str) -> str:
        *_, namespace, resource, name = path.split("/")
        assert resource == "events"
        return f"{namespace}/{name}"

    def _status(self, code: int, reason: str) -> None:
        self.answer(code, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "code": code})


@contextmanager
def events_api() -> Iterator[EventsApi]:
    """Yield an API server on a free port of this machine."""
    server = _Server(("127.0.0.1", 0), _Handler)
    server.api = EventsApi(server.server_address[1])
    with serving(server):
        yield server.api

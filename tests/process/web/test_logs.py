"""These tests read the logs of running processes: each line names its request, task, source and user."""

import json
import urllib.request
from typing import Any

from dashboard.services.launcher import SAMPLE
from tests.clients.visitor import Visitor
from tests.patience import eventually
from tests.servers.running import WITH_TOKEN, Running


def events(site: Running, part: str) -> list[dict[str, Any]]:
    """Return the lines of the log, each of which has to be JSON with a time, a level, a logger and an event."""
    found = [json.loads(line) for line in site.log(part).read_text().splitlines()]
    assert all({"timestamp", "level", "logger", "event"} <= each.keys() for each in found)
    return found


def test_web_and_worker_write_json_that_names_the_request_the_source_and_the_user(observed: Running) -> None:
    site, visitor = observed, Visitor(observed.address)
    content, named = SAMPLE.read_bytes(), {"X_Request_ID": "upload-from-ci.7"}
    _, upload = visitor.ask("POST", "/api/uploads?name=audit.zst", content, **named)
    eventually(lambda: visitor.ask("GET", f"/api/uploads/{upload['id']}")[1]["state"] == "done", 60)
    source = visitor.ask("GET", f"/api/uploads/{upload['id']}")[1]["source"]
    asked = urllib.request.Request(f"{site.address}/api/sources/{source}", headers=WITH_TOKEN)
    with urllib.request.urlopen(asked) as answer:
        request_id = answer.headers["X-Request-ID"]
    renamed = visitor.ask("PATCH", f"/api/sources/{source}", b'{"name": "incident"}')
    assert renamed[0] == 200, renamed

    def of(part: str, **fields: object) -> list[dict[str, Any]]:
        return [each for each in events(site, part) if each.items() >= fields.items()]

    eventually(lambda: bool(of("web", method="PATCH")))
    (request,) = of("web", logger="uvicorn.access", request_id=request_id)
    assert (request["method"], request["status"], request["source"]) == ("GET", 200, source)
    (change,) = of("web", logger="causeline.changes", event=f"PATCH /api/sources/{source}")
    assert (change["by"], change["status"], change["source"]) == ("start-up token", 200, source)
    assert change["from"] == "127.0.0.1" and len(change["request_id"]) == 32
    assert of("web", logger="causeline.changes", request_id="upload-from-ci.7")
    eventually(lambda: bool(of("worker", request_id="upload-from-ci.7", task="collectors.tasks.import_upload")))

"""These tests check the log: each line is one event, as JSON with its request, task, source and cluster."""

import json
import logging
import logging.config
import time
import urllib.request
from typing import Any

import pytest
import structlog

from dashboard import logs
from dashboard.services.launcher import SAMPLE
from tests.patience import eventually
from tests.running import WITH_TOKEN, Running, running
from tests.visitor import Visitor


def events(site: Running, part: str) -> list[dict[str, Any]]:
    """Return the lines of the log, each of which has to be JSON with a time, a level, a logger and an event."""
    found = [json.loads(line) for line in site.log(part).read_text().splitlines()]
    assert all({"timestamp", "level", "logger", "event"} <= each.keys() for each in found)
    return found


def test_web_and_worker_write_json_that_names_the_request_the_source_and_the_user(tmp_path: Any) -> None:
    with running(tmp_path, CAUSELINE_LOG_FORMAT="json", PYTHONWARNINGS="ignore") as site:
        visitor = Visitor(site.address)
        _, upload = visitor.ask(
            "POST", "/api/uploads?name=audit.zst", SAMPLE.read_bytes(), X_Request_ID="upload-from-ci.7"
        )
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


def test_a_request_id_that_is_no_plain_word_is_replaced() -> None:
    for hostile in (b"", b"a" * 65, b"a b", b'a"b', b"\xffid", b"a\nb", b"-"):
        assert len(logs.begin_request([(b"x-request-id", hostile)])) == 32
    assert logs.begin_request([(b"x-request-id", b"0af7651916cd43dd.8448-eb21")]) == "0af7651916cd43dd.8448-eb21"
    structlog.contextvars.clear_contextvars()


@pytest.fixture
def written(capsys: pytest.CaptureFixture[str]) -> Any:
    """Return a function that logs something in a form and returns what was written."""
    structlog.contextvars.clear_contextvars()  # other tests have called what binds its source or cluster

    def write(form: str, *message: object, error: Exception | None = None, **about: Any) -> str:
        made = logs.configuration(form, "INFO")["formatters"]["line"]
        handler = logging.StreamHandler()
        handler.setFormatter(made.pop("()")(**made))
        logger = logging.Logger("test")
        logger.addHandler(handler)
        with structlog.contextvars.bound_contextvars(**about):
            logger.error(*message, exc_info=error)
        return capsys.readouterr().err

    return write


@pytest.mark.parametrize("form", ["json", "text"])
@pytest.mark.parametrize(
    "message",
    [
        "postgresql://causeline:planted@db:5432/x is away",
        "redis://:planted@valkey:6379/0",
        "redis://:plan/planted@valkey:6379/0",
        "Authorization: Bearer planted-planted",
        "authorization: basic cGxhbnRlZA==planted",
    ],
)
def test_a_password_in_a_message_or_a_traceback_is_masked(written: Any, form: str, message: str) -> None:
    for line in (
        written(form, message),
        written(form, "failed: %s", message),
        written(form, "x", error=OSError(message)),
    ):
        assert "planted" not in line and "***" in line


@pytest.mark.parametrize("piece", ["://a:", "a:", "bearer ", "basic\t"])
def test_masking_a_long_line_takes_time_that_grows_no_faster_than_it(written: Any, piece: str) -> None:
    """Paths of requests are logged, and anybody may send one of 64 KiB. It once took 23 s of the server's only
    thread."""
    text = "http://" + piece * (64 * 1024 // len(piece))
    began = time.thread_time()
    written("json", text)
    assert time.thread_time() - began < 1


def test_an_event_is_one_line_whatever_it_says(written: Any) -> None:
    line = written("json", "a\nb \u202e %s", {"x": 1}, error=ValueError("c\nd"), source=7)
    assert line.count("\n") == 1 and line.isascii()
    event = json.loads(line)
    assert (event["level"], event["logger"], event["source"]) == ("ERROR", "test", 7)
    assert "ValueError: c\nd" in event["exception"]


def test_text_names_what_an_event_belongs_to(written: Any) -> None:
    line = written("text", "lost %s", "it", cluster=3)
    assert line.endswith(" ERROR test: lost it cluster=3\n")

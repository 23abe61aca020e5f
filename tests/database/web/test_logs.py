"""These tests check the log: each line is one event, and no password stands in it."""

import json
import logging
import logging.config
import time
from typing import Any

import pytest
import structlog

from dashboard import logs


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

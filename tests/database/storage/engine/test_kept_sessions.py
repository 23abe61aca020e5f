"""These tests check which sessions of PostgreSQL web processes keep between requests."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import OperationalError, connections, transaction
from django.utils.connection import ConnectionProxy

from timeline.storage import sessions
from timeline.storage.engine import base
from timeline.storage.permitted.limits import SCHEMA, Permitted, seeing

pytestmark = pytest.mark.django_db(transaction=True)
PID = "SELECT pg_backend_pid()"


@pytest.fixture(autouse=True)
def kept(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Keep sessions in threads that begin now, as a web process does, until the test ends."""
    monkeypatch.setitem(connections.settings["default"], "ENGINE", connections.settings["default"]["ENGINE"])
    sessions.keep_sessions()
    yield
    while not base.waiting.empty():
        base.waiting.get().connection.close()


def _served(serve: Callable[[], None], times: int = 1) -> None:
    """Run a function in threads of their own, as requests have them."""
    threads = [threading.Thread(target=serve) for _ in range(times)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _request(*statements: str) -> list[Any]:
    """Return what a request is answered to these statements before it closes its session."""
    answers: list[Any] = []
    connection = ConnectionProxy(connections, "default")

    def serve() -> None:
        try:
            with connection.cursor() as cursor:
                for statement in statements:
                    cursor.execute(statement)
                    answers.append(cursor.fetchone()[0] if cursor.description else None)
        except OperationalError as error:
            answers.append(error)
        connection.close()

    _served(serve)
    return answers


def test_a_request_goes_on_with_the_session_of_an_earlier_one_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    first = _request(PID)
    assert _request(PID) == first
    monkeypatch.setattr(base, "AGE", 0.0)
    assert _request(PID) != first


def test_a_session_that_the_server_has_ended_is_not_used_again() -> None:
    (ended,) = _request(PID)
    with connections["default"].cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s, 5000)", [ended])
    (after,) = _request(PID)
    assert isinstance(after, int) and after != ended


def test_a_session_that_a_request_has_left_in_a_transaction_is_not_used_again() -> None:
    (left,) = _request("BEGIN", PID)[1:]
    assert _request(PID) != [left]


def test_a_few_sessions_are_kept() -> None:
    together = threading.Barrier(base.MOST + 2)

    def serve() -> None:
        with connections["default"].cursor() as cursor:
            cursor.execute(PID)
        together.wait()
        connections["default"].close()

    _served(serve, base.MOST + 2)
    assert base.waiting.qsize() == base.MOST


@pytest.mark.parametrize("ends", ["well", "with an error"])
def test_what_limits_a_reader_does_not_reach_the_next_request(ends: str) -> None:
    pids: list[int] = []

    def serve() -> None:
        try:
            with seeing(Permitted(namespaces={1: frozenset(["team-a"])})), connections["default"].cursor() as cursor:
                cursor.execute(f"{PID}, current_setting('search_path')")
                pid, path = cursor.fetchone()
                assert path == SCHEMA
                pids.append(pid)
                if ends == "with an error":
                    raise ValueError
        except ValueError:
            pass
        connections["default"].close()

    _served(serve)
    path = "SELECT current_setting('search_path') || coalesce(current_setting('causeline.namespaces', true), '')"
    pid, found = _request(PID, path)
    assert pid == pids[0], "the session is kept"
    assert SCHEMA not in str(found) and "team-a" not in str(found)


def test_a_transaction_in_which_a_reader_is_limited_is_over_before_another_request_begins() -> None:
    def serve() -> None:
        with transaction.atomic(), connections["default"].cursor() as cursor:
            cursor.execute("SELECT set_config('causeline.namespaces', 'team-a', true)")
            connections["default"].close()  # as Django does where a request ends in the middle of a transaction

    _served(serve)
    assert base.waiting.empty()

"""These tests estimate the server's clock from Date headers, whatever the collector's own clock shows."""

import time
from email.utils import formatdate

from collectors.watch.server.clock import ServerClock

HOUR = 3600.0


def answer(clock: ServerClock, ahead: float, local: float, takes: float = 0.02) -> None:
    """Give the clock one answer of a server that is `ahead` seconds ahead of `local`, our monotonic time."""
    clock.learn(formatdate(local + takes / 2 + ahead, usegmt=True), local, local + takes)


def test_before_any_answer_it_is_our_own_clock() -> None:
    assert abs(ServerClock().now() / 1e6 - time.time()) < 1


def answered(steps: int, ahead: float) -> ServerClock:
    clock = ServerClock()
    for step in range(steps):
        answer(clock, ahead, 1000 + step * 1.037)
    return clock


def test_an_hour_off_does_not_matter_and_many_answers_bound_it_closely() -> None:
    ahead = time.time() - time.monotonic() - HOUR
    assert abs(answered(1, ahead).at(1000.0) / 1e6 - (1000.0 + ahead)) <= 1.02
    ahead = 1_700_000_000.123
    assert abs(answered(40, ahead).at(1041.0) / 1e6 - (1041 + ahead)) < 0.1


def test_a_clock_that_was_set_is_followed() -> None:
    ahead = 1_700_000_000.0
    clock = answered(10, ahead)
    answer(clock, ahead + HOUR, 1011.0)
    assert abs(clock.at(1011.0) / 1e6 - (1011 + ahead + HOUR)) < 1.1


def test_it_stands_still_while_nothing_contradicts_it() -> None:
    ahead = 1_700_000_000.5
    clock = answered(60, ahead)
    before = clock.at(2000.0)
    for step in range(60, 90):
        answer(clock, ahead, 1000 + step * 1.037)
    assert abs(clock.at(2000.0) - before) < 50_000


def test_what_is_no_date_tells_nothing() -> None:
    clock = ServerClock()
    before = clock.at(5.0)
    for date in (None, "", "yesterday", "Sat, 32 Nov 2026 07:52:00 GMT"):
        clock.learn(date, 1.0, 1.1)
    assert clock.at(5.0) == before

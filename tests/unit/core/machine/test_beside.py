"""These tests compute in a copy of the process."""

import errno
import logging
import os
import signal
import threading
from collections.abc import Callable, Iterator

import pytest

from timeline.core.machine import beside


@pytest.fixture
def _resting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let copies be made beside the threads of the test runner, which wait, and hold no locks."""
    monkeypatch.setattr(beside, "_others", list)


@pytest.mark.usefixtures("_resting")
def test_a_copy_of_the_process_sends_what_a_generator_yields_until_it_is_not_needed_any_more() -> None:
    def pieces() -> Iterator[object]:
        yield from (os.getpid(), b"x" * 1_000_000)
        while True:
            yield 0

    with beside.computed(pieces) as received:
        copy = next(received)
        assert isinstance(copy, int) and copy != os.getpid()
        assert next(received) == b"x" * 1_000_000
    with pytest.raises(ProcessLookupError):
        os.kill(copy, 0)
    with beside.computed(lambda: iter(range(3))) as received:
        assert list(received) == [0, 1, 2]


@pytest.mark.usefixtures("_resting")
@pytest.mark.parametrize(
    "end", [lambda: 1 / 0, lambda: os.kill(os.getpid(), signal.SIGKILL)], ids=["an error", "a kill"]
)
def test_a_copy_that_ends_early_is_noticed(end: Callable[[], object]) -> None:
    def numbers() -> Iterator[int]:
        yield 1
        end()

    with beside.computed(numbers) as received:
        assert next(received) == 1
        with pytest.raises(beside.Broken):
            next(received)


@pytest.mark.usefixtures("_resting")
def test_a_copy_that_the_system_does_not_make_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused() -> int:
        raise OSError(errno.ENOMEM, "Cannot allocate memory")

    monkeypatch.setattr(os, "fork", refused)
    with beside.computed(lambda: iter([1])) as received, pytest.raises(beside.Broken):
        next(received)


def test_a_copy_is_made_beside_a_thread_only_once_that_has_come_to_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside a thread that may hold a lock, a copy would wait for the lock for ever."""
    lock, held, asked, over = (threading.Lock(), *(threading.Event() for _ in range(3)))
    others = beside._others

    def works() -> None:
        with beside.at_work(), lock:
            held.set()
            asked.wait()
        over.wait()

    def numbers() -> Iterator[bool]:
        logging.getLogger("beside").warning("a lock of logging, too")
        yield lock.acquire(blocking=False)

    worker, stranger = threading.Thread(target=works), threading.Thread(target=over.wait)
    seen = [worker]
    monkeypatch.setattr(beside, "_others", lambda: [each for each in others() if each in seen])
    for each in (worker, stranger):
        each.start()
    held.wait()
    threading.Timer(0.05, asked.set).start()
    try:
        with beside.computed(numbers) as received:
            assert asked.is_set() and list(received) == [True]
        with monkeypatch.context() as patch, beside.at_work():  # another one that does not come to rest
            patch.setattr(beside, "_PATIENCE", 0.01)
            with beside.computed(numbers) as received, pytest.raises(beside.Broken):
                next(received)
        seen.append(stranger)  # it never says that it is at work, or at rest
        with beside.computed(numbers) as received, pytest.raises(beside.Broken):
            next(received)
    finally:
        over.set()
        for each in (worker, stranger):
            each.join()

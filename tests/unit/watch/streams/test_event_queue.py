"""Items wait in a queue of limited length and size, and are taken in order."""

import threading
import time

from collectors.watch.streams.event_queue import EventQueue


def queue(capacity: int = 100, most_bytes: int = 1000) -> EventQueue[str]:
    return EventQueue(len, capacity, most_bytes)


def test_all_that_wait_are_taken_at_once_up_to_the_most() -> None:
    waiting = queue()
    waiting.put(["a", "b"])
    waiting.put(["c"])
    assert waiting.take(2, 1, 0) == ["a", "b"]
    assert waiting.take(2, 1, 0) == ["c"]
    assert waiting.take(2, 0, 0) == []


def test_what_takes_too_much_memory_is_not_waited_for_and_holds_up_what_follows() -> None:
    waiting = queue(most_bytes=10)
    waiting.put(["a" * 8, "b" * 8])
    thread = threading.Thread(target=waiting.put, args=[["c"]])
    thread.start()
    began = time.monotonic()
    assert waiting.take(1, 5, began + 5) == ["a" * 8]  # there may be two, and there is no room for more
    thread.join(5)
    assert waiting.take(5, 5, 0) == ["b" * 8, "c"]
    assert time.monotonic() < began + 4
    thread = threading.Thread(target=waiting.put, args=[["d"]])
    thread.start()
    thread.join(5)
    assert not thread.is_alive()
    waiting.put(["e" * 20])
    assert waiting.take(5, 5, time.monotonic() + 5) == ["d", "e" * 20]

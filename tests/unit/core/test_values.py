"""These tests check that what decodes objects takes no longer for one value than for another."""

import time
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from collectors.formats.admission_webhook import content_of
from timeline.comparing.specs import spec_of
from timeline.core.entries import ObjectRef
from timeline.core.intent import intent_of
from timeline.core.values import decoded
from timeline.kinds import kind_of
from timeline.kinds._status import Telling, status_of
from timeline.layout.bodies import TooLarge, Work, as_yaml

REF = ObjectRef("example.com", "Thing", "shop", "x", "1")
THING = kind_of("example.com", "Thing")


def yaml(body: bytes) -> None:
    with pytest.raises(TooLarge):
        as_yaml(body, Work(10_000))


READERS: dict[str, Callable[[bytes], Any]] = {
    "decoded": decoded,
    "intent": lambda body: intent_of("example.com", "Thing", body),
    "facts": lambda body: THING.facts(msgspec.json.decode(body, type=THING.shape)),
    "status": lambda body: status_of(body, Telling()),
    "YAML": yaml,
    "content": content_of,
    "comparison": lambda body: spec_of(REF, None, [body], None),
}


@pytest.mark.parametrize("reader", READERS)
def test_no_number_takes_longer_to_read_than_others(reader: str) -> None:
    def took(number: str) -> float:
        body = b'{"metadata": {"name": "x"}, "spec": {"a": [%s]}}' % ",".join([number] * 100_000).encode()
        start = time.thread_time()
        READERS[reader](body)
        return time.thread_time() - start

    took("1.5")
    assert took("1e308") < 0.1 + 3 * took("1.5")


@pytest.mark.parametrize("text", ["1e999", "-1e999"])
def test_numbers_that_are_too_large_are_refused(text: str) -> None:
    with pytest.raises(msgspec.DecodeError, match="Number out of range"):
        decoded(f'{{"a": [{text}]}}'.encode())

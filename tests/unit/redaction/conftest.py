"""This fixture changes what a house redacts, for one test."""

from collections.abc import Callable, Iterator

import pytest

from collectors import redaction
from collectors.redaction import Policy


@pytest.fixture
def policy() -> Iterator[Callable[[Policy], None]]:
    yield redaction.use
    redaction.use(Policy())

"""A real server to which Causeline may send, and the key with which the settings of destinations are encrypted."""

from collections.abc import Iterator

import pytest
from pytest_django import Settings

from collectors.hosts import allowed_hosts
from tests.servers.answering import LOCALHOST, Receiver, receiving


@pytest.fixture(autouse=True)
def allowed(settings: Settings) -> None:
    settings.DESTINATION_HOSTS = allowed_hosts([LOCALHOST])
    settings.CREDENTIALS_KEYS = ["k" * 32]
    settings.ADDRESS = "https://causeline.example.org"


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as server:
        yield server

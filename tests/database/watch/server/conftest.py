from collections.abc import Iterator

import pytest
from pytest_django import Settings

from collectors.hosts import allowed_hosts
from tests.database.watch.server.api_server import Server, api_server


@pytest.fixture
def server() -> Iterator[Server]:
    with api_server() as running:
        yield running


@pytest.fixture(autouse=True)
def key(settings: Settings) -> None:
    settings.CREDENTIALS_KEYS = ["k" * 32]
    settings.CLUSTER_HOSTS = allowed_hosts(["*:*", "http://*:*", "http://127.0.0.1:*", "https://127.0.0.1:*"])

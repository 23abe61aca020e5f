"""These fixtures are for all tests of processes."""

from collections.abc import Iterator

import pytest

from tests.servers.running import Running, free_port, running

METRICS_TOKEN = "the-token-of-the-metrics-of-the-tests-0123"


@pytest.fixture(scope="session")
def observed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Yield a web process and a worker whose logs and metrics tell everything. Tests share it and add what is
    theirs."""
    settings = {
        "CAUSELINE_LOG_FORMAT": "json",
        "CAUSELINE_LOG_LEVEL": "DEBUG",
        "CAUSELINE_METRICS_TOKEN": METRICS_TOKEN,
        "CAUSELINE_METRICS_PORT": str(free_port()),
        "PYTHONWARNINGS": "ignore",
    }
    with running(tmp_path_factory.mktemp("observed"), **settings) as site:
        yield site

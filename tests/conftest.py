"""The sample recording in the database, for the tests that only read it."""

import signal
from collections.abc import Iterator

import pytest
from hypothesis import settings
from pytest_django import DjangoDbBlocker

from tests.recordings import SAMPLE, entries_of
from timeline.history.world import World
from timeline.models import Source
from timeline.pipeline import ingest
from timeline.storage import store

# Who starts this in the background of a script has it ignore Ctrl-C, and all that it starts; tests send it.
signal.signal(signal.SIGINT, signal.default_int_handler)

# One commit, one result. Random examples are drawn with PYTEST_ARGS="--hypothesis-profile=default".
settings.register_profile("steady", derandomize=True)
settings.load_profile("steady")


@pytest.fixture(scope="module")
def sample(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Source]:
    with django_db_blocker.unblock():
        source = store.open_source("sample")
        ingest(source, World(), entries_of(SAMPLE))
        store.show_source(source)
    yield source
    with django_db_blocker.unblock():
        store.discard_source(source)

"""An import that keeps nearly nothing in memory stores the same rows as one that keeps everything."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.apps import apps
from django.conf import settings

from collectors.formats import Limits
from collectors.uploads import recordings
from collectors.uploads.recordings import Count, Stopped, import_into
from tests import DATA, ENGINE
from tests.database.storage import sources
from tests.inputs.recordings import SAMPLE
from timeline.core.machine import beside
from timeline.core.machine.spill import Spill
from timeline.models import Source
from timeline.storage import store

pytestmark = pytest.mark.django_db
_OWN = {"_state", "id", "pk", "source_id", "created", "at", "table", "began"}


@pytest.fixture
def places() -> list[int]:
    """The places of what imports have put into files."""
    return []


@pytest.fixture
def spilled(monkeypatch: pytest.MonkeyPatch, places: list[int]) -> None:
    """Let imports keep next to nothing in memory."""
    put = Spill.put

    def noted(spill: Spill, value: object) -> int:
        places.append(put(spill, value))
        return places[-1]

    monkeypatch.setattr(Spill, "put", noted)
    monkeypatch.setattr(recordings, "IN_MEMORY", 5)
    monkeypatch.setattr(beside, "_others", list)  # the threads of the test runner wait
    for module in ("pipeline", "storage.tracks"):  # copies of the process help as for a large log
        monkeypatch.setattr(f"timeline.{module}._FEWEST", 1)
        monkeypatch.setattr(f"timeline.{module}.available_processors", lambda: 3)


def imported(path: Path, times: int = 1) -> Source:
    source = store.open_source("test")
    for _ in range(times):
        sources.imported(path, into=source)
    return source


def stored(source: Source) -> dict[str, list[str]]:
    """Return what all tables have of a source, without the keys of their rows."""
    rows = {"Source": [repr([(name, value) for name, value in vars(source).items() if name not in _OWN])]}
    for model in apps.get_app_config("timeline").get_models():
        columns = [field.attname for field in model._meta.concrete_fields if field.attname not in _OWN]
        if "source" in {field.name for field in model._meta.concrete_fields}:
            of_source = model._default_manager.filter(source=source.pk).values_list(*columns)
            rows[model.__name__] = sorted(repr([_plain(value) for value in row]) for row in of_source)
    return rows


def _plain(value: object) -> object:
    return bytes(value) if isinstance(value, memoryview) else value


@pytest.mark.parametrize(
    ("path", "times"), [(DATA / "restart.jsonl", 2), (ENGINE / "families-watch", 1)], ids=["a log twice", "a watch"]
)
def test_all_rows_are_the_same(path: Path, times: int, places: list[int], request: pytest.FixtureRequest) -> None:
    expected = stored(imported(path, times))
    request.getfixturevalue("spilled")
    assert stored(imported(path, times)) == expected
    assert places


def test_without_copies_of_the_process_and_of_large_files_the_rows_are_the_same(
    places: list[int], monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    expected = stored(imported(SAMPLE))
    request.getfixturevalue("spilled")
    broken: list[object] = []

    @contextmanager
    def ended(compute: object) -> Iterator[Iterator[object]]:
        def nothing() -> Iterator[object]:
            broken.append(compute)
            raise beside.Broken
            yield

        yield nothing()

    with monkeypatch.context() as patched:
        patched.setattr(beside, "computed", ended)
        assert stored(imported(SAMPLE)) == expected
        assert len(broken) == 2
    places.clear()
    monkeypatch.setattr(recordings, "IN_MEMORY", 150_000)
    monkeypatch.setattr(recordings, "_LARGE", 1)
    monkeypatch.setattr(recordings, "_IN_MEMORY_OF_LARGE", 5)
    assert stored(imported(SAMPLE)) == expected
    assert places


@pytest.mark.usefixtures("spilled")
def test_nothing_is_left_of_an_import_that_fails(places: list[int]) -> None:
    before = sorted(settings.DATA_DIR.iterdir())

    class Stopping(Count):
        def entries(self, reading):  # type: ignore[no-untyped-def]
            for number, each in enumerate(super().entries(reading)):
                yield each
                if number == 700:
                    raise Stopped

    with pytest.raises(Stopped):
        import_into(store.open_source("test"), [(SAMPLE, SAMPLE.name)], Limits(), Stopping())
    assert places
    assert sorted(settings.DATA_DIR.iterdir()) == before

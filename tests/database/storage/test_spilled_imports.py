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
from tests import DATA
from tests.recordings import SAMPLE
from timeline.core.machine import beside
from timeline.core.machine.spill import Spill
from timeline.models import Source
from timeline.storage import store

pytestmark = pytest.mark.django_db
LOGS = [
    SAMPLE,
    DATA / "engine" / "families.jsonl.zst",
    DATA / "engine" / "families-watch",
]


@pytest.fixture
def spilled(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Let imports keep next to nothing in memory, and yield the places of what they have put into files."""
    places: list[int] = []
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
    yield places


def imported(path: Path, times: int = 1) -> Source:
    source = store.open_source("test")
    for _ in range(times):
        import_into(source, [(path, path.name)], Limits(), Count())
    return source


def stored(source: Source) -> dict[str, list[str]]:
    """Return what all tables have of a source, without the keys of their rows."""
    source.refresh_from_db()
    rows = {"Source": [repr([(name, value) for name, value in vars(source).items() if name not in _OWN])]}
    for model in apps.get_app_config("timeline").get_models():
        columns = [field.attname for field in model._meta.concrete_fields if field.attname not in _OWN]
        if "source" in {field.name for field in model._meta.concrete_fields}:
            of_source = model._default_manager.filter(source=source.pk).values_list(*columns)
            rows[model.__name__] = sorted(repr([_plain(value) for value in row]) for row in of_source)
    return rows


_OWN = {"_state", "id", "pk", "source_id", "created", "at", "table", "began"}


def _plain(value: object) -> object:
    return bytes(value) if isinstance(value, memoryview) else value


@pytest.mark.parametrize(("path", "times"), [(LOGS[0], 2), (LOGS[1], 1), (LOGS[2], 1)])
def test_all_rows_are_the_same(
    path: Path, times: int, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    expected = stored(imported(path, times))
    places = request.getfixturevalue("spilled")
    assert stored(imported(path, times)) == expected
    assert places


def test_without_copies_of_the_process_the_rows_are_the_same(
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
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

    monkeypatch.setattr(beside, "computed", ended)
    assert stored(imported(SAMPLE)) == expected
    assert len(broken) == 2


def test_nothing_is_left_of_an_import_that_fails(spilled: list[int]) -> None:
    before = sorted(settings.DATA_DIR.iterdir())

    class Stopping(Count):
        def entries(self, reading):  # type: ignore[no-untyped-def]
            for number, each in enumerate(super().entries(reading)):
                yield each
                if number == 700:
                    raise Stopped

    source = store.open_source("test")
    with pytest.raises(Stopped):
        import_into(source, [(SAMPLE, SAMPLE.name)], Limits(), Stopping())
    assert spilled
    assert sorted(settings.DATA_DIR.iterdir()) == before


def test_files_that_are_large_begin_with_less_in_memory(
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    expected = stored(imported(SAMPLE))
    places = request.getfixturevalue("spilled")
    monkeypatch.setattr(recordings, "IN_MEMORY", 150_000)
    monkeypatch.setattr(recordings, "_LARGE", 1)
    monkeypatch.setattr(recordings, "_IN_MEMORY_OF_LARGE", 5)
    assert stored(imported(SAMPLE)) == expected
    assert places

"""These tests check that an export equals what `causeline analyze` prints for the same files, however they were
imported."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest
import zstandard
from asgiref.sync import async_to_sync
from django.core.management import call_command
from django.db import transaction
from django.test import Client

from collectors.analysis import analyse
from collectors.formats import Limits, NotARecording
from collectors.uploads import importing
from collectors.uploads.recordings import Count, import_into
from tests import DATA, ENGINE, ROOT
from tests.database.storage.sources import again, asked
from tests.inputs.recordings import SAMPLE, lines_of
from tests.properties import sampled
from tests.rows import stored
from tests.rows.stored import beside
from tests.unit.history.test_evidence import observations_of
from timeline.history.world.world import World
from timeline.models import Chunk, Finding, Source, Track
from timeline.pipeline import ingest
from timeline.storage import exports, store
from timeline.storage.entries import chunks, tables

pytestmark = pytest.mark.django_db
committed = pytest.mark.django_db(transaction=True)
LOG, WATCH = ENGINE / "families.jsonl.zst", ENGINE / "families-watch"
BOTH, JOBS = [LOG, WATCH], [ENGINE / "jobs.jsonl.zst", ENGINE / "jobs-watch"]
RECORDINGS: dict[str, list[Path]] = {
    "sample": [SAMPLE],
    "log": [LOG],
    "watch": [WATCH],
    "log and watch": BOTH,
    "watch and log": [WATCH, LOG],
    "jobs": JOBS[:1],
    "jobs, observed twice": JOBS,
    "restart": [DATA / "restart.jsonl"],
    "deletion": [DATA / "deletion.jsonl"],
    **{path.name: [path] for folder in ("objects", "wrappers") for path in sorted((DATA / folder).iterdir())},
}


def inputs(paths: Sequence[Path]) -> list[tuple[Path, str]]:
    return [(path, str(path.relative_to(ROOT))) for path in paths]


def analysed(paths: Sequence[Path]) -> bytes:
    return orjson.dumps(analyse(inputs(paths), Limits()).document())


def imported(paths: Sequence[Path], source: Source | None = None) -> Source:
    source = source or store.open_source("test")
    import_into(source, inputs(paths), Limits(), Count())
    return again(source)


def exported(source: Source) -> bytes:
    return orjson.dumps(exports.document(source))


async def sent(answer: Any) -> bytes:
    """Return the content of a streamed answer."""
    return b"".join([piece async for piece in answer.streaming_content])


def rows_of(source: Source) -> list[Any]:
    """Return all rows of a source, byte for byte."""
    models = (Chunk, Track, Finding)
    rows = [list(model.objects.filter(source=source).order_by("pk").values_list()) for model in models]
    return [*rows, Source.objects.filter(pk=source.pk).values_list().get(), stored.tables_of(source)]


@pytest.mark.parametrize("name", sampled(RECORDINGS, 6))
def test_the_document_is_the_one_of_analyze_byte_for_byte(name: str) -> None:
    assert exported(imported(RECORDINGS[name])) == analysed(RECORDINGS[name])


@pytest.mark.parametrize("files", [BOTH, JOBS], ids=["log and watch", "jobs, observed twice"])
def test_files_may_come_one_after_the_other_and_change_no_row_again(files: list[Path]) -> None:
    first, second = files
    source = imported([first])
    assert exported(source) == analysed([first])
    source = imported([second], source)
    assert exported(source) == analysed(files)
    whole = imported(files)
    assert stored.stored_of(source)[:2] == stored.stored_of(whole)[:2]
    sequences = [row.sequence for row in chunks.entries(source.pk)]
    assert sequences == sorted(set(sequences)) and sequences[-1] <= source.stored == len(list(chunks.lines(source.pk)))
    for each in (source, whole):
        before = rows_of(each)
        assert import_into(each, inputs(files), Limits(), Count()) == 0
        assert rows_of(each) == before


def test_what_was_skipped_is_reported_once(tmp_path: Path) -> None:
    broken = tmp_path / "broken.jsonl"
    lines = lines_of(SAMPLE)
    broken.write_bytes(b"\n".join([*lines[:500], b"broken", *lines[500:]]) + b"\n")
    both = [(broken, "broken"), (SAMPLE, "whole")]
    source = store.open_source("test")
    for each in (*both, *both):
        import_into(source, [each], Limits(), Count())
    source.refresh_from_db()
    assert exported(source) == orjson.dumps(analyse(both, Limits()).document())
    assert (source.skipped, source.inputs) == (1, ["broken", "whole"])


@committed
@pytest.mark.parametrize("name", ["sample", "log and watch", "pods.yaml.zst"])
def test_an_export_is_read_back_with_the_same_findings(name: str, client: Client, tmp_path: Path) -> None:
    source = imported(RECORDINGS[name])
    answer = client.get(f"/api/sources/{source.pk}/recording")
    assert answer["Content-Disposition"] == 'attachment; filename="test.jsonl.zst"'
    path = tmp_path / "export"
    path.write_bytes(async_to_sync(sent)(answer))
    document = analyse([(path, "export")], Limits()).document()
    known = exports.document(source)
    assert document["findings"] == known["findings"]
    for part in ("entries", "coverage", "rules", "first", "last"):
        assert document["source"][part] == known["source"][part], part
    second = store.open_source("again")
    import_into(second, [(path, "export")], Limits(), Count())
    assert exports.document(second)["findings"] == known["findings"]


def test_the_command_writes_what_is_downloaded_packed_and_not(client: Client, sample: Source, tmp_path: Path) -> None:
    downloaded = async_to_sync(sent)(client.get(f"/api/sources/{sample.pk}/recording"))
    plain, packed = tmp_path / "plain", tmp_path / "packed.zst"
    call_command("causeline", "export", str(sample.pk), "--format", "recording", "--output", str(plain))
    call_command("causeline", "export", str(sample.pk), "--format", "recording", "--output", str(packed))
    assert packed.read_bytes() == downloaded
    assert zstandard.ZstdDecompressor().decompressobj().decompress(downloaded) == plain.read_bytes()


def test_the_document_comes_from_the_api(client: Client, sample: Source) -> None:
    answer = client.get(f"/api/sources/{sample.pk}/document")
    assert answer.content == exported(sample)
    same = client.get(f"/api/sources/{sample.pk}/document", headers={"If-None-Match": answer["ETag"]})
    assert same.status_code == 304
    for part in ("document", "recording"):
        asked(client, Source(pk=999999), part, 404)


@committed
def test_another_cluster_is_refused_and_changes_nothing() -> None:
    source = imported([SAMPLE])
    before = rows_of(source)
    with pytest.raises(NotARecording, match="recordings of two clusters"):
        imported([LOG], source)
    assert rows_of(source) == before
    assert exported(imported([SAMPLE], source)) == analysed([SAMPLE])
    assert rows_of(source) == before


@committed
def test_an_import_that_was_overtaken_changes_nothing() -> None:
    source = imported([WATCH])
    behind = again(source)
    imported([LOG], source)
    before = rows_of(source)[:4]
    with pytest.raises(store.Overtaken):
        import_into(behind, inputs([LOG]), Limits(), Count())
    assert rows_of(source)[:4] == before
    assert exported(imported([LOG], again(source))) == analysed([WATCH, LOG])
    assert rows_of(source)[:4] == before


def test_a_name_that_is_no_text_is_shown_as_far_as_it_is_one(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"\xff.jsonl")
    path.write_bytes((DATA / "restart.jsonl").read_bytes())
    source = store.open_source("test")
    import_into(source, [(path, path.name)], Limits(), Count())
    source.refresh_from_db()
    assert source.inputs == ["?.jsonl"]
    assert exported(source) == orjson.dumps(analyse([(path, path.name)], Limits()).document())


@committed
def test_two_imports_at_once_take_nothing_from_each_other() -> None:
    source = imported([WATCH])
    second = again(source)

    def begin() -> None:
        store.open_again(second)
        importing.discard_abandoned()

    world = store.open_again(source)
    with transaction.atomic():
        ingest(source, world, observations_of(LOG))
        beside(begin)
        store.show_source(source)
    with pytest.raises(store.Overtaken):
        ingest(second, World(), [])
    assert len(stored.tables_of(source)) == 4
    tables.drop_leftovers(source)
    source.refresh_from_db()
    both = [*inputs([WATCH]), (LOG, LOG.name)]
    assert exports.document(source)["findings"] == analyse(both, Limits()).document()["findings"]
    assert len(stored.tables_of(source)) == 3  # two of entries, one of tracks

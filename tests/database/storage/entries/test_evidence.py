"""These tests store, export, pack again, take over and delete what shows the knowledge of clients."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from collectors.analysis import Analysis, analyse
from collectors.formats import Limits, NotARecording, own
from collectors.replay.commits import tape
from collectors.tasks import keep
from tests import ENGINE
from tests.database.storage.sources import imported
from tests.inputs.events import event
from tests.inputs.live import batches, observations
from tests.inputs.recordings import SAMPLE, world_of
from tests.unit.history.test_evidence import evidence, observations_of, sample, watched_event
from tests.unit.judging.test_coverage import needing_requests
from timeline.core.entries import Entry, Facts, Mark, MarkType, Request
from timeline.judging.coverage.remedies import IMPORT_AGAIN
from timeline.kinds import kind_of
from timeline.models import Cluster, SnapshotPart, Source
from timeline.payloads.findings import DocumentPayload
from timeline.pipeline import follow
from timeline.queries.sources.coverage import coverage
from timeline.storage import exports, live
from timeline.storage.entries import chunks, tables

pytestmark = pytest.mark.django_db


def log_of(folder: Path, *events: dict[str, Any], rest: str = "") -> Path:
    path = folder / "log"
    path.write_text("".join(json.dumps(each) + "\n" for each in events) + rest)
    return path


def identities(document: DocumentPayload) -> set[tuple[str, str]]:
    return {(each["rule"], each["id"]) for each in document["findings"]}


def evidence_of(source: Source) -> Any:
    """Return the evidence of everything that is stored of a source."""
    return evidence(world_of(list(chunks.observations(source.pk))))


@cache
def analysis() -> Analysis:
    return analyse([(SAMPLE, SAMPLE.name)], Limits())


def test_a_stored_source_knows_what_was_read_of_it(tmp_path: Path) -> None:
    """So do its export, and a source into which the export was imported."""
    source = imported(SAMPLE)
    expected = evidence(world_of(sample()))
    assert evidence_of(source) == expected
    assert source.entries == analysis().entries
    export = tmp_path / "export.jsonl"
    export.write_bytes(b"".join(own.recording(chunks.lines(source.pk))))
    assert evidence(world_of(observations_of(export))) == expected
    again = imported(export)
    assert evidence_of(again) == expected
    documents = [exports.document(again), exports.document(source), analysis().document()]
    assert documents[0]["findings"] == documents[1]["findings"] == documents[2]["findings"]


def of_the_first_version(folder: Path) -> Path:
    """Write what an older Causeline exported of the sample: no requests, and nothing of who sent a write."""
    entries = [each for each in sample() if isinstance(each, Entry)]
    lines = own.write(replace(each, client=None, named=None, facts=without_acts(each)) for each in entries)
    next(lines)
    path = folder / "export.jsonl"
    path.write_bytes(b'{"schema":"causeline.recording/v1"}\n' + b"".join(lines))
    return path


def without_acts(entry: Entry) -> Facts | None:
    facts: Facts | None = entry.facts and kind_of(entry.ref.group, entry.ref.kind).drawn(entry.facts)
    return facts


def judged(source: Source) -> set[tuple[str, str]]:
    """Return the verdicts and the remedies of the rules that need requests."""
    rules = coverage(source.pk)["rules"]
    return {(each["verdict"], each["remedy"]) for each in rules if each["rule"] in needing_requests()}


def test_what_was_stored_without_evidence_is_to_be_imported_again(tmp_path: Path) -> None:
    source = imported(of_the_first_version(tmp_path))
    found, expected = (identities(each) for each in (exports.document(source), analysis().document()))
    assert found and found <= expected  # without the findings of rules that need the requests
    assert judged(source) == {("not", IMPORT_AGAIN)}
    source = imported(SAMPLE, into=source)
    assert evidence_of(source) == evidence(world_of(sample()))
    assert identities(exports.document(source)) == expected
    assert IMPORT_AGAIN not in {remedy for _, remedy in judged(source)}


def test_requests_that_change_nothing_are_nothing_to_import_or_replay_and_count_as_used(tmp_path: Path) -> None:
    gets = [event(verb="get", auditID=f"a{number}") for number in range(2, 8)]
    path = log_of(tmp_path, *gets)
    with pytest.raises(NotARecording, match="nothing in it changes an object"):
        imported(path)
    assert analyse([(path, "log")], Limits()).nothing
    path = log_of(tmp_path, event(), *gets, rest="broken\nbroken\n")
    assert not analyse([(path, "log")], Limits()).mostly_skipped
    path = log_of(tmp_path, event(), *gets)
    assert [commit.resource.name for commit in tape([(path, "log")]).commits] == ["pods"]


@pytest.mark.django_db(transaction=True)
def test_a_live_source_keeps_it_when_it_is_packed_and_taken_over() -> None:
    source = live.begin(Cluster.objects.create(name="prod", keep_days=10_000))
    held = live.open_again(source)
    watched = observations(ENGINE / "jobs-watch")
    last = max(each.arrived for each in watched if isinstance(each, Entry))
    requests = list({each.identity: each for each in sample() if isinstance(each, Request)}.values())[:60]
    requests = [replace(each, received=last - 500 + at, staged=last - 400 + at) for at, each in enumerate(requests)]
    watched += [watched_event(last - at, f"p{at}") for at in range(20)]
    parts = list(batches(watched, 100))
    for number, batch in enumerate(parts):
        follow(held, [*batch, *requests[number :: len(parts)]])
        if number == 1:
            tables.renew(source, 1)
    expected = evidence(held.world)
    assert sum(map(len, expected[0].values())) == len(requests) and any(expected[1].values())
    lines = sorted(chunks.lines(source.pk))
    keep()
    assert sorted(chunks.lines(source.pk)) == lines
    assert evidence(live.open_again(source).world) == expected  # from all that is stored
    held = live.open_again(source)
    held.snapshot_with_next_batch()
    follow(held, [Mark("", "v1", "Pod", MarkType.BOOKMARK, last + 1, 2**40)])
    assert SnapshotPart.objects.filter(source=source).exists()
    assert evidence(live.open_again(source).world) == expected  # from the snapshot

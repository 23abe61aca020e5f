"""These tests read Events as tools write them: the table that `kubectl get events` prints, whose ages bound the times
of Events, and the lines of kubernetes-event-exporter."""

import io
import json
import os
import sys
import tarfile
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from collectors.formats import Skipped, kindless, kubectl_events, read, rejections
from tests import DATA
from tests.inputs.objects import entries_of, items_of, listed, reasons_of
from tests.inputs.recordings import world_of
from tests.unit.formats.reading import sniffed
from timeline.core.entries import Change, Entry, LogLine, Unknown
from timeline.payloads.documents import clocks

NAME = "log of Events, as kubectl prints them"
MADE = 1_795_247_520  # seconds since 1970: when each table was written
TABLES = DATA / "kubectl-events"


HEADER = b"LAST SEEN   TYPE     REASON    OBJECT      MESSAGE\n"


def lines_of(content: bytes) -> tuple[list[LogLine], list[str]]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "table"
        path.write_bytes(content)
        os.utime(path, (MADE, MADE))
        items = list(read([(path, "table")], bodies=False))
    skipped = [str(each) for each in items if isinstance(each, Skipped)]
    return [each for each in items if isinstance(each, LogLine)], skipped


@pytest.mark.parametrize("name", ["default.txt", "all-namespaces.txt", "wide.txt", "kubectl-events.txt"])
def test_a_row_becomes_a_line_of_a_log(name: str) -> None:
    content = (TABLES / name).read_bytes()
    assert sniffed(content) == [NAME]
    lines, skipped = lines_of(content)
    assert not skipped and len(lines) == 3
    assert {each.unknown for each in lines} == {Unknown.AGE}
    backoff = next(each for each in lines if each.text.startswith("BackOff: "))
    assert backoff.level == "warning" and "Back-off restarting failed container web" in backoff.text
    assert backoff.time == (MADE - 200) * 1_000_000  # 3m20s before
    assert backoff.objects[0] == ("pod/shop/web-1" if name == "all-namespaces.txt" else "pod/*/web-1")


def test_every_age_is_the_least_that_it_may_be() -> None:
    ages = {"5s": 5, "90s": 90, "4m5s": 245, "10m": 600, "3h20m": 12_000, "2d3h": 183_600, "400d": 34_560_000}
    rows = [f"{age:<12}Normal   Started   pod/web-1   Started container web\n".encode() for age in ages]
    lines, _ = lines_of(HEADER + b"".join(rows))
    assert [MADE - each.time // 1_000_000 for each in lines] == list(ages.values())


def test_a_row_without_an_age_is_skipped() -> None:
    row = b"%-12sNormal   Started   pod/web-1   Started container web\n"
    ages = row % b"<unknown>" + row % b"5m" + b"error: the server has gone away\n" + row % b"999999d"
    lines, skipped = lines_of(HEADER + ages)
    assert len(lines) == 1
    no_age = "the table does not say how long ago the Event was seen"
    whys = ((2, no_age), (4, "it is no row of a table of Events"), (5, no_age))
    assert skipped == [f"table line {line}: {why}" for line, why in whys]


def test_columns_that_grow_while_kubectl_watches_are_found() -> None:
    row = b"0s          Warning   FailedScheduling   pod/a-much-longer-name   0/3 nodes are available\n"
    (line,), skipped = lines_of(HEADER + row)
    assert (line.objects[0], skipped) == ("pod/*/a-much-longer-name", [])


def test_columns_of_ones_own_that_begin_with_a_time_are_a_log() -> None:
    row = b"2026-11-21T07:52:%02dZ   %s   BackOff   web-1   Back-off restarting failed container\n"
    rows = [row % (second, b"Warning" if second % 2 else b"Normal") for second in range(4)]
    lines, skipped = lines_of(b"LAST                   TYPE      REASON    NAME    MESSAGE\n" + b"".join(rows))
    assert [each.time // 1_000_000 - MADE for each in lines] == [0, 1, 2, 3]
    assert {each.unknown for each in lines} == {Unknown.NOTHING}
    assert skipped == ["table: is a log of which 1 line has no time of its own and was left out"]


def test_without_the_time_of_its_file_a_table_places_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, writer = os.pipe()
    os.write(writer, (TABLES / "default.txt").read_bytes())
    os.close(writer)
    with os.fdopen(reader) as pipe:
        monkeypatch.setattr(sys, "stdin", pipe)
        saved = os.dup(0)
        os.dup2(reader, 0)
        try:
            (skipped,) = read([(Path("-"), "-")], bodies=False)
        finally:
            os.dup2(saved, 0)
            os.close(saved)
    assert str(skipped) == (
        "-: is a log of 3 Events with ages, and nothing says when it was made; record them with -o json"
    )


def test_long_input_is_looked_at_quickly() -> None:
    began = time.process_time()
    beginning = b"LAST SEEN TYPE REASON OBJECT "
    for filler in (b" ", b"A", b"A ", b"\n"):
        content = beginning + filler * 65_536
        assert not kubectl_events.sniff(content)
        assert rejections.looks_like(filler * 65_536 + b"!")
    kindless._kind(b'{"metadata":{"selfLink":"/apis/%s"}}' % (b"a." * 32_768), "")
    assert time.process_time() - began < 0.5  # it takes a tenth of that
    assert kubectl_events.sniff(b"x\n" + beginning + b"SUBOBJECT   SOURCE  MESSAGE  FIRST SEEN\n")


def test_in_a_tar_the_time_of_the_member_counts() -> None:
    content = (TABLES / "default.txt").read_bytes()
    for mtime, expected in ((MADE - 1000, MADE - 1000), (0, MADE)):
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as archive:
            member = tarfile.TarInfo("sos_commands/kubernetes/cluster-info/kubectl_get_events")
            member.size, member.mtime = len(content), mtime
            archive.addfile(member, io.BytesIO(content))
        lines, _ = lines_of(packed.getvalue())
        assert max(each.time for each in lines) == (expected - 5) * 1_000_000


def test_it_is_said_that_the_times_are_the_latest() -> None:
    (sentence,) = clocks(world_of(lines_of((TABLES / "default.txt").read_bytes())[0]))
    assert sentence.startswith("The lines of one log say only how long ago they were.")


# Events as kubernetes-event-exporter writes them

EXPORTER = "Events of kubernetes-event-exporter"
EXPORTED = (DATA / "event-exporter" / "events.json").read_bytes()


def test_the_events_are_those_of_the_api() -> None:
    entries = entries_of(EXPORTED, bodies=True)
    plain = [{"apiVersion": "v1", "kind": "Event", **json.loads(line)} for line in EXPORTED.splitlines()]
    reported = [(each.ref, each.facts) for each in entries_of(listed(*plain))]
    assert [(each.ref, each.facts) for each in entries] == reported
    assert {each.change for each in entries} == {Change.OBSERVED}
    assert entries[0].ref.kind == "Event" and entries[0].received == 1795247521_000_000


def test_an_export_is_of_one_format_alone() -> None:
    for content in (EXPORTED, prefixed()):
        assert sniffed(content) == [EXPORTER]


def prefixed() -> bytes:
    """Return the sample as the log of the exporter's container has it, with a line of the exporter's own."""
    own = b'{"level":"info","time":"2026-11-21T07:52:00Z","message":"Reading config file"}'
    lines = [own, *EXPORTED.splitlines()]
    return b"".join(b"2026-11-21T07:52:00.123456789Z stdout F " + line + b"\n" for line in lines)


def test_the_exporters_own_lines_are_skipped() -> None:
    own, *events = items_of(prefixed())
    assert str(own) == "file line 1: it is not an Event as kubernetes-event-exporter writes it without a layout"
    assert [each.ref for each in events if isinstance(each, Entry)] == [each.ref for each in entries_of(EXPORTED)]


def test_events_of_a_second_cluster_are_skipped() -> None:
    def of(cluster: str) -> dict[str, Any]:
        return {**json.loads(EXPORTED.splitlines()[0]), "clusterName": cluster}

    content = "".join(json.dumps(of(each), separators=(",", ":")) + "\n" for each in ("a", "b", "a")).encode()
    assert reasons_of(content) == ["file line 2: it is of another cluster than the Events before it"]


def test_a_damaged_line_does_not_hide_the_others() -> None:
    first, *others = EXPORTED.splitlines(keepends=True)
    items = items_of(first[: len(first) // 2] + b"\n" + b"".join(others))
    assert [isinstance(each, Skipped) for each in items] == [True, *[False] * len(others)]

"""These tests read the table that `kubectl get events` prints: its ages bound the times of Events, and no more."""

import io
import os
import sys
import tarfile
import time
from pathlib import Path

import pytest

from collectors.formats import NotARecording, Skipped, formats, kindless, kubectl_events, read, rejections
from tests import DATA
from timeline.core.entries import LogLine, Unknown
from timeline.history.world.world import World
from timeline.payloads.documents import clocks

NAME = "log of Events, as kubectl prints them"
MADE = 1_795_247_520  # seconds since 1970: when each table was written
TABLES = DATA / "kubectl-events"


def lines_of(content: bytes, folder: Path) -> tuple[list[LogLine], list[str]]:
    path = folder / "table"
    path.write_bytes(content)
    os.utime(path, (MADE, MADE))
    items = list(read([(path, "table")], bodies=False))
    skipped = [str(each) for each in items if isinstance(each, Skipped)]
    return [each for each in items if isinstance(each, LogLine)], skipped


@pytest.mark.parametrize("name", ["default.txt", "all-namespaces.txt", "wide.txt", "kubectl-events.txt"])
def test_a_row_becomes_a_line_of_a_log(name: str, tmp_path: Path) -> None:
    content = (TABLES / name).read_bytes()
    assert [each.name for each in formats() if each.sniff(content)] == [NAME]
    lines, skipped = lines_of(content, tmp_path)
    assert not skipped and len(lines) == 3
    assert {each.unknown for each in lines} == {Unknown.AGE}
    backoff = next(each for each in lines if each.text.startswith("BackOff: "))
    assert backoff.level == "warning" and "Back-off restarting failed container web" in backoff.text
    assert backoff.time == (MADE - 200) * 1_000_000  # 3m20s before
    assert backoff.objects[0] == ("pod/shop/web-1" if name == "all-namespaces.txt" else "pod/*/web-1")


def test_every_age_is_the_least_that_it_may_be(tmp_path: Path) -> None:
    header = b"LAST SEEN   TYPE     REASON    OBJECT      MESSAGE\n"
    ages = {"5s": 5, "90s": 90, "4m5s": 245, "10m": 600, "3h20m": 12_000, "2d3h": 183_600, "400d": 34_560_000}
    rows = [f"{age:<12}Normal   Started   pod/web-1   Started container web\n".encode() for age in ages]
    lines, _ = lines_of(header + b"".join(rows), tmp_path)
    assert [MADE - each.time // 1_000_000 for each in lines] == list(ages.values())


def test_a_row_without_an_age_is_skipped(tmp_path: Path) -> None:
    header = b"LAST SEEN   TYPE     REASON    OBJECT      MESSAGE\n"
    row = b"%-12sNormal   Started   pod/web-1   Started container web\n"
    content = (
        header
        + row % b"<unknown>"
        + row % b"5m"
        + b"error: the server has gone away\n"
        + b"999999d     Normal   Started   pod/web-1   Started container web\n"
    )
    lines, skipped = lines_of(content, tmp_path)
    assert len(lines) == 1
    assert skipped == [
        "table line 2: the table does not say how long ago the Event was seen",
        "table line 4: it is no row of a table of Events",
        "table line 5: the table does not say how long ago the Event was seen",
    ]


def test_columns_that_grow_while_kubectl_watches_are_found(tmp_path: Path) -> None:
    header = b"LAST SEEN   TYPE     REASON    OBJECT      MESSAGE\n"
    row = b"0s          Warning   FailedScheduling   pod/a-much-longer-name   0/3 nodes are available\n"
    (line,), skipped = lines_of(header + row, tmp_path)
    assert (line.objects[0], skipped) == ("pod/*/a-much-longer-name", [])


def test_columns_of_ones_own_that_begin_with_a_time_are_a_log(tmp_path: Path) -> None:
    row = b"2026-11-21T07:52:%02dZ   %s   BackOff   web-1   Back-off restarting failed container\n"
    rows = [row % (second, b"Warning" if second % 2 else b"Normal") for second in range(4)]
    lines, skipped = lines_of(
        b"LAST                   TYPE      REASON    NAME    MESSAGE\n" + b"".join(rows), tmp_path
    )
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


def test_in_a_tar_the_time_of_the_member_counts(tmp_path: Path) -> None:
    content = (TABLES / "default.txt").read_bytes()
    for mtime, expected in ((MADE - 1000, MADE - 1000), (0, MADE)):
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as archive:
            member = tarfile.TarInfo("sos_commands/kubernetes/cluster-info/kubectl_get_events")
            member.size, member.mtime = len(content), mtime
            archive.addfile(member, io.BytesIO(content))
        lines, _ = lines_of(packed.getvalue(), tmp_path)
        assert max(each.time for each in lines) == (expected - 5) * 1_000_000


def test_it_is_said_that_the_times_are_the_latest(tmp_path: Path) -> None:
    world = World()
    for _ in world.learn(lines_of((TABLES / "default.txt").read_bytes(), tmp_path)[0]):
        pass
    (sentence,) = clocks(world)
    assert sentence.startswith("The lines of one log say only how long ago they were.")


def test_a_snapshot_of_etcd_is_refused_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "snapshot.db"
    path.write_bytes(bytes(8) + b"\x04" + bytes(7) + b"\xed\xda\x0c\xed\x02\0\0\0" + bytes(4096))
    with pytest.raises(NotARecording, match=r"it is a snapshot of etcd.*restore it with etcdutl snapshot restore"):
        read([(path, "snapshot.db")], bodies=False)

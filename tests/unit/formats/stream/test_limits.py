"""These tests check the limits: each names itself and the setting that raises it, and no honest recording reaches
one."""

import gzip
import json
import lzma
import subprocess
import tarfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from collectors import formats
from collectors.formats import Limits, NotARecording, Skipped, parallel, read
from collectors.formats.stream import TOO_DEEP, fewer, limits
from collectors.gate import is_deeper
from dashboard import environment
from tests.inputs.events import event, pod
from tests.patience import processor_seconds
from tests.unit.docs.test_settings_docs import table
from tests.unit.formats.reading import observed, peak_of
from tests.unit.formats.stream.packing import TEXT, opened, opened_bytes, tar, written, zipped
from timeline.core.entries import Entry

VARIABLES = {
    "line_bytes": "CAUSELINE_LINE_LIMIT_BYTES",
    "content_bytes": "CAUSELINE_CONTENT_LIMIT_BYTES",
    "ratio": "CAUSELINE_RATIO_LIMIT",
    "members": "CAUSELINE_MEMBER_LIMIT",
    "depth": "CAUSELINE_DEPTH_LIMIT",
    "objects": "CAUSELINE_OBJECT_LIMIT",
}


def log(*events: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(each).encode() + b"\n" for each in events)


def read_with(content: bytes, limits: Limits, bodies: bool = False) -> tuple[list[Entry], list[str]]:
    items = observed(content, bodies, limits, "audit.log")
    entries = [item for item in items if isinstance(item, Entry)]
    return entries, [str(item) for item in items if isinstance(item, Skipped)]


def test_there_is_a_variable_for_each_limit_whose_documented_default_is_that_of_the_code(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert set(VARIABLES) == set(Limits._fields)
    for value, (field, variable) in enumerate(VARIABLES.items(), 1):
        assert table("Causeline")[variable][0] == f"`{getattr(Limits(), field)}`"
        monkeypatch.setenv(variable, str(value))
    assert environment.limits() == Limits(**{field: value for value, field in enumerate(VARIABLES, 1)})


@pytest.mark.parametrize(("value", "words"), [("0", "from 1 to 250"), ("251", "from 1 to 250"), ("x", "whole")])
def test_a_limit_that_cannot_be_is_refused(monkeypatch: pytest.MonkeyPatch, value: str, words: str) -> None:
    monkeypatch.setenv("CAUSELINE_DEPTH_LIMIT", value)
    with pytest.raises(environment.SettingError, match=words):
        environment.limits()


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress, lambda text: zipped({"a": text})])
def test_what_comes_out_of_packed_files_is_bounded(pack: Callable[[bytes], bytes]) -> None:
    files, (skipped, *_) = opened_bytes(pack(TEXT * 100_000), Limits(content_bytes=1_000_000))
    (text,) = files.values()
    assert len(text) <= 1_000_000
    limit = "more than 1000000 bytes come out of what is packed; CAUSELINE_CONTENT_LIMIT_BYTES raises the limit"
    assert limit in skipped


def test_the_bound_of_content_is_one_for_all_files(tmp_path: Path) -> None:
    for number in range(4):
        (tmp_path / f"{number}.gz").write_bytes(gzip.compress(TEXT * 10_000))
    inputs = [(tmp_path / f"{number}.gz", f"{number}.gz") for number in range(4)]
    files, skipped = opened(*inputs, limits=Limits(content_bytes=len(TEXT) * 25_000))
    assert [len(text) // len(TEXT) // 10_000 for text in files.values()] == [1, 1, 0, 0]
    assert ["CAUSELINE_CONTENT_LIMIT_BYTES" in each for each in skipped] == [True, True]


def test_a_plain_file_has_no_bound_of_content() -> None:
    assert opened_bytes(TEXT * 1_000, Limits(content_bytes=100)) == ({"dump": TEXT * 1_000}, [])


def test_more_bytes_than_can_honestly_come_out_are_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "RATIO_FLOOR", 10 << 20)
    (tmp_path / "bomb.zst").write_bytes(zstandard.compress(TEXT * 1_000_000))
    (tmp_path / "log.zst").write_bytes(zstandard.compress(TEXT * 1_000))
    files, (skipped,) = opened((tmp_path / "bomb.zst", "bomb.zst"), (tmp_path / "log.zst", "log.zst"))
    assert 1 << 20 < len(files["bomb.zst"]) <= 10 << 20
    assert skipped == (
        "bomb.zst: more than 250 times as many bytes come out as went in; CAUSELINE_RATIO_LIMIT raises the limit"
    )
    assert files["log.zst"] == TEXT * 1_000


def test_no_log_of_less_than_256_mib_is_held_to_the_ratio() -> None:
    log = zstandard.compress(TEXT * 5_000_000)
    assert len(TEXT) * 5_000_000 / len(log) > 1_000
    files, skipped = opened_bytes(log)
    assert len(files["dump"]) == len(TEXT) * 5_000_000
    assert not skipped


def test_the_number_of_files_is_bounded(tmp_path: Path) -> None:
    files = {f"{number}.json": TEXT for number in range(10)}
    folder = written(tmp_path / "folder", files)
    limit = "there are more than 3 files; CAUSELINE_MEMBER_LIMIT raises the limit"
    for archive in (tar(files), zipped(files)):
        found, skipped = opened_bytes(archive, Limits(members=3))
        assert len(found) == 3
        assert skipped == [f"dump: cannot be read further behind 2.json: {limit}"]
    found, skipped = opened((folder, "folder"), limits=Limits(members=3))
    assert len(found) == 3
    assert skipped == [f"folder: is not read further: {limit}"]


def test_the_number_of_objects_is_bounded() -> None:
    content = log(*(event(auditID=f"a{number}", responseObject=pod(uid=f"u{number // 2}")) for number in range(10)))
    entries, skipped = read_with(content, Limits(objects=3))
    assert len(entries) == 6
    assert skipped == [
        "audit.log: not read further: more than 3 objects; CAUSELINE_OBJECT_LIMIT raises the limit",
    ]
    assert len(read_with(content, Limits(objects=5))[0]) == 10


def deep(levels: int) -> bytes:
    """Return an event with an object that is nested so deeply, and with brackets in its text that do not count."""
    line = log(event(responseObject={**pod(), "words": '"{{{[[[', "hidden": "deep"}))
    return line.replace(b'"deep"', b'{"a":[' * (levels // 2 - 1) + b"1" + b"]}" * (levels // 2 - 1)).rstrip() + b"\n"


def test_the_depth_of_objects_that_are_kept_is_bounded() -> None:
    content = deep(100) + deep(102) + log(event())
    entries, skipped = read_with(content, Limits(depth=100), bodies=True)
    assert len(entries) == 2
    assert skipped == [f"audit.log line 2: {TOO_DEEP}"]
    assert "CAUSELINE_DEPTH_LIMIT" in TOO_DEEP
    assert len(read_with(content, Limits(), bodies=True)[0]) == 3


@pytest.mark.parametrize(
    ("levels", "bodies"), [(260, True), (500, True), (1_500, True), (100_000, True), (1_500, False), (100_000, False)]
)
def test_depth_without_end_is_said_by_the_same_words(levels: int, bodies: bool) -> None:
    entries, skipped = read_with(deep(levels) + log(event()), Limits(), bodies)
    assert len(entries) == 1
    assert skipped == [f"audit.log line 1: {TOO_DEEP}"]


TEXTS = st.text('{}[]"\\a', max_size=5)
DEPTHS = st.recursive(
    TEXTS | st.integers(), lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3)
)


def depth_of(value: object) -> int:
    """Return how many objects and arrays are inside each other, by looking at each."""
    if not isinstance(value, dict | list):
        return 0
    return 1 + max(map(depth_of, value.values() if isinstance(value, dict) else value), default=0)


@given(DEPTHS, st.integers(0, 8), st.sampled_from([None, 1]))
def test_brackets_in_texts_are_not_counted(value: object, limit: int, indent: int | None) -> None:
    assert is_deeper(json.dumps(value, indent=indent).encode(), limit) == (depth_of(value) > limit)


def test_a_line_of_300_megabytes_takes_only_what_the_limit_allows() -> None:
    packer = zstandard.ZstdCompressor().compressobj()
    parts = [packer.compress(log(event())), packer.compress(b'{"auditID":"')]
    parts += [packer.compress(b"x" * (1 << 20)) for _ in range(300)]
    content = b"".join([*parts, packer.compress(b'"}\n' + log(event(auditID="a2"))), packer.flush()])

    def act() -> None:
        entries, skipped = read_with(content, Limits(ratio=10**6))
        assert len(entries) == 2
        assert skipped == ["audit.log line 2: longer than 67108864 bytes; CAUSELINE_LINE_LIMIT_BYTES raises the limit"]

    assert peak_of(act) < 200 << 20


def nested_bombs() -> bytes:
    bomb = bytes(10 << 20)
    for _ in range(5):
        bomb = zipped({str(number): bomb for number in range(10)})
    return bomb


ZEROS = bytes(64 << 20)


@pytest.mark.parametrize(
    ("make", "most", "why"),
    [
        (lambda: gzip.compress(ZEROS), 30 << 20, "is not a recording"),
        (lambda: tar({"a": ZEROS}), 30 << 20, "is not a recording"),
        (lambda: zipped({"a": ZEROS}), 30 << 20, "is not a recording"),
        (nested_bombs, 100 << 20, "is not a recording"),
        (lambda: zipped({f"{number}/": b"" for number in range(30_000)}), 10 << 20, "there are more than 20000 files"),
    ],
    ids=["gzip", "tar", "zip", "archives of archives of bombs", "very many folders"],
)
def test_a_bomb_is_refused_at_its_first_bytes(make: Callable[[], bytes], most: int, why: str) -> None:
    content = make()

    def act() -> None:
        with pytest.raises(NotARecording, match=why):
            observed(content, limits=Limits(members=20_000 if "20000" in why else 1_000))

    assert peak_of(act) < most


def long_header() -> tuple[bytes, bytes]:
    header = tarfile.TarInfo("bomb")
    header.type, header.size = tarfile.XHDTYPE, 1 << 30
    return tar({"a": TEXT})[:1024] + header.tobuf(), bytes(1 << 20)


def long_map() -> tuple[bytes, bytes]:
    member = tarfile.TarInfo("sparse")
    member.size = 1 << 30
    member.pax_headers = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.realsize": "9"}
    return member.tobuf(tarfile.PAX_FORMAT) + b"99999999\n", b"1\n" * (1 << 19)


@pytest.mark.parametrize(("make", "most"), [(long_header, 40 << 20), (long_map, 100 << 20)])
def test_neither_a_header_of_a_tar_nor_the_map_of_a_sparse_file_is_held(
    make: Callable[[], tuple[bytes, bytes]], most: int
) -> None:
    begin, part = make()
    packer = zstandard.ZstdCompressor().compressobj()
    content = b"".join([packer.compress(begin), *(packer.compress(part) for _ in range(256)), packer.flush()])

    def act() -> None:
        files, (skipped,) = opened_bytes(content)
        assert set(files.values()) <= {TEXT}
        assert "a header of the tar archive is longer than 262144 bytes" in skipped

    assert peak_of(act) < most


def test_the_holes_of_a_sparse_file_count_as_content(tmp_path: Path) -> None:
    with (tmp_path / "hole").open("wb") as file:
        file.truncate(1 << 40)
    command = ["tar", "-c", "--sparse", "-C", str(tmp_path), "hole"]
    made = subprocess.run(command, check=True, capture_output=True).stdout
    files, (skipped,) = opened_bytes(made + tar({"behind": TEXT}), Limits(content_bytes=50 << 20))
    assert len(files["hole"]) == 50 << 20
    assert "CAUSELINE_CONTENT_LIMIT_BYTES" in skipped


def greedy_xz() -> bytes:
    made = bytearray(lzma.compress(TEXT))
    header = 12
    length = (made[header] + 1) * 4
    made[header + 4] = 40  # a dictionary of 4 GiB
    made[header + length - 4 : header + length] = zlib.crc32(made[header : header + length - 4]).to_bytes(4, "little")
    return bytes(made)


def greedy_zstd() -> bytes:
    packer = zstandard.ZstdCompressor().compressobj()
    made = bytearray(packer.compress(TEXT) + packer.flush())
    made[5] = (29 - 10) << 3  # a window of 512 MiB
    return bytes(made)


@pytest.mark.parametrize("make", [greedy_xz, greedy_zstd])
def test_what_asks_for_gigabytes_is_refused(make: Callable[[], bytes]) -> None:
    with pytest.raises(NotARecording, match="asks for too much memory near byte"):
        observed(make())


def test_skipped_lines_in_a_row_are_listed_up_to_a_hundred_and_counted_after_that() -> None:
    skipped = [Skipped("f", line, "no") for line in range(1, 2_501)]
    reported = [*fewer([*skipped, "used", *skipped[:3]])]
    assert reported[:100] == skipped[:100]
    assert [each.lines for each in reported[100:103] if isinstance(each, Skipped)] == [1_000, 1_000, 400]
    assert reported[103:] == ["used", *skipped[:3]]
    assert sum(each.lines for each in reported if isinstance(each, Skipped)) == 2_503
    assert str(reported[102]) == "f: 400 more up to line 2500: no"
    whole = [Skipped("f", 0, "no")] * 200
    assert [*fewer(whole)] == whole


AUDIT = b'{"kind":"Event","apiVersion":"audit.k8s.io/v1","auditID":"a","stage":"RequestReceived"}\n'


@pytest.mark.parametrize("line", [b"x\n", b"{}\n", b"0\n", b"\0\n"])
def test_a_file_of_which_nothing_can_be_used_any_more_is_not_read_further(
    line: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(formats, "IN_A_ROW", 10_000)
    *skipped, last = [each for each in observed(AUDIT + line * 900_000, bodies=True) if isinstance(each, Skipped)]
    assert "lines in a row could not be used" in last.reason
    assert len(skipped) < 1_000
    assert 10_000 <= sum(each.lines for each in skipped) < 800_000


def test_a_helper_counts_the_lines_that_it_skips(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It once answered with a tuple for each line, and those of many blocks waited."""
    monkeypatch.setattr(parallel, "READ_ALONE", 1000)
    (tmp_path / "log").write_bytes(AUDIT + b"x\n" * 150_000 + AUDIT)
    skipped: list[Any] = []
    assert peak_of(lambda: skipped.extend(read([(tmp_path / "log", "log")], bodies=True, processes=2))) < 12 << 20
    assert sum(each.lines for each in skipped) == 150_000
    assert len(skipped) < 600


@pytest.mark.parametrize("line", [b"\n", b" \n", b"\r\n"])
def test_blank_lines_cost_little_and_count_as_lines(tmp_path: Path, line: bytes) -> None:
    (tmp_path / "log").write_bytes(AUDIT + line * 2_000_000 + b"x\n")
    reading = read([(tmp_path / "log", "log")], bodies=True)
    found: list[object] = []
    assert processor_seconds(lambda: found.extend(reading)) < 2
    assert [each.line for each in found if isinstance(each, Skipped)] == [2_000_002]

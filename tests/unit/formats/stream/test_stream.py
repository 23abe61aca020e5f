"""These tests read files line by line, however they are compressed or damaged, with bounded memory."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from collectors.formats import read
from collectors.formats.stream import Limits, Line, Recording, Skipped, Usage, open_all
from collectors.formats.stream.byte_stream import PIECE, ByteStream
from tests.inputs.events import event
from tests.inputs.objects import refusal
from tests.properties import examples
from tests.unit.formats.reading import peak_of
from tests.unit.formats.stream.packing import TEXT, Pack

PACKINGS: list[Pack] = [bytes, gzip.compress, zstandard.compress]
MANY = b"".join(b'{"line":%d,"random":%d}\n' % (number, number * 2654435761 % 2**32) for number in range(50_000))
LIMITS = Limits()


def items_of(content: bytes, limits: Limits = LIMITS) -> list[Line | Skipped]:
    """Return the lines of a file named audit.log with this content, which is the only recording, and what was lost."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "7"
        path.write_bytes(content)
        found: list[Line | Skipped] = []
        for recording in open_all([(path, "audit.log")], Usage(limits)):
            assert isinstance(recording, Recording) and not found
            found += [*recording.lines(), *recording.report_error()]
    return found


def lines_of(content: bytes, limits: Limits = LIMITS) -> tuple[list[tuple[int, bytes]], list[str]]:
    items = items_of(content, limits)
    return (
        [(item.number, item.data) for item in items if isinstance(item, Line)],
        [str(item) for item in items if isinstance(item, Skipped)],
    )


WHOLE: tuple[list[tuple[int, bytes]], list[str]] = ([(1, b'{"a":1}'), (2, b'{"b":2}'), (3, b'{"c":3}')], [])


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (TEXT.rstrip(), WHOLE[0]),
        (TEXT.replace(b"\n", b"\r\n") + b"\r\n", WHOLE[0]),
        (b"\xef\xbb\xbf" + TEXT, WHOLE[0]),
        (b"\n\n \t\n", []),
        (b'\n\n{"a":1}\n\n{"b":2}\n\n', [(3, b'{"a":1}'), (5, b'{"b":2}')]),
        (b"\x50\x2a\x4d\x18" + (4).to_bytes(4, "little") + b"size" + zstandard.compress(TEXT), WHOLE[0]),
    ],
    ids=["no end", "ends of Windows", "a byte order mark", "blank lines alone", "blank lines", "a frame to skip"],
)
def test_lines_are_found_whatever_is_around_them(content: bytes, lines: list[tuple[int, bytes]]) -> None:
    found, lost = lines_of(content)
    assert ([(number, data.strip()) for number, data in found], lost) == (lines, [])


@pytest.mark.parametrize("pack", PACKINGS[::2])
def test_many_lines_come_whole_and_are_counted(pack: Pack) -> None:
    lines, lost = lines_of(pack(MANY))
    assert [data for _, data in lines] == MANY.splitlines()
    assert [number for number, _ in lines] == list(range(1, 50_001))
    assert not lost


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
def test_of_a_cut_file_what_could_be_read_is_kept_and_the_loss_is_said(pack: Pack) -> None:
    packed = pack(MANY)
    cut = len(packed) * 2 // 3
    lines, lost = lines_of(packed[:cut])
    whole = MANY.splitlines()
    assert len(lines) > 10_000
    assert all(data == whole[number - 1] for number, data in lines[:-1])
    assert whole[lines[-1][0] - 1].startswith(lines[-1][1])
    read = lines[-1][0] - 1
    where = f"the compressed data ends too early, at byte {cut}: the file was cut"
    assert lost == [f"audit.log: {where}; it could be read up to line {read}"]


@pytest.mark.parametrize(("pack", "error"), [(gzip.compress, "Error -"), (zstandard.compress, "zstd")])
def test_of_a_damaged_file_what_stands_before_the_damage_is_kept(pack: Pack, error: str) -> None:
    packed = bytearray(pack(MANY))
    middle = len(packed) // 2
    packed[middle : middle + 64] = b"\xff" * 64
    lines, (lost,) = lines_of(bytes(packed))
    assert len(lines) > 5_000
    assert [data for _, data in lines[:5_000]] == MANY.splitlines()[:5_000]
    assert lost.startswith("audit.log: the compressed data is damaged near byte ")
    assert error in lost
    assert f"up to line {lines[-1][0] - 1}" in lost


@pytest.mark.parametrize("pack", PACKINGS)
def test_an_empty_file_is_no_recording(pack: Pack) -> None:
    assert refusal(pack(b""), "audit.log") == "audit.log is empty."


def test_a_file_cut_before_its_first_line_says_so() -> None:
    message = refusal(zstandard.compress(TEXT)[:8], "audit.log")
    assert message.startswith("audit.log cannot be read: ") and message.endswith("the file was cut.")


def test_a_line_too_long_is_skipped_by_its_number_and_the_rest_is_read() -> None:
    text = b"\n".join([b"first", b"x" * 5_000_000, b"third", b"y" * 1_001, b"z" * 1_000, b"sixth", b"x" * 2_000])
    found, skipped = lines_of(text, Limits(line_bytes=1_000))
    assert [(number, data[:3]) for number, data in found] == [(1, b"fir"), (3, b"thi"), (5, b"zzz"), (6, b"six")]
    words = "longer than 1000 bytes; CAUSELINE_LINE_LIMIT_BYTES raises the limit"
    assert skipped == [f"audit.log line {number}: {words}" for number in (2, 4, 7)]


@pytest.mark.parametrize("pack", PACKINGS[1:])
def test_a_bomb_does_not_fill_the_memory(pack: Pack) -> None:
    packed = pack(bytes(128 << 20))
    assert len(packed) < 1 << 20
    items: list[Line | Skipped] = []
    assert peak_of(lambda: items.extend(items_of(packed, Limits(line_bytes=1 << 20)))) < 64 << 20
    (skipped,) = items
    assert isinstance(skipped, Skipped) and skipped.line == 1


@given(st.lists(st.text("ab\n", min_size=1, max_size=6), max_size=12), st.integers(1, 20), st.integers(1, 5))
@examples(75)
def test_lines_are_the_same_in_blocks_of_any_size(pieces: list[str], least: int, longest: int) -> None:
    class InPieces(Recording):
        def chunks(self) -> Iterator[bytes]:
            return map(str.encode, pieces)

    def recording() -> Recording:
        return InPieces("log", ByteStream(iter(())), Limits(line_bytes=longest))

    lines = list(recording().lines())
    cut = recording()
    blocks = list(cut.blocks(least))
    assert [line for block in blocks for line in block.lines(cut.limits)] == lines
    assert all(len(block.data) >= least for block in blocks[:-1])


def test_progress_counts_the_bytes_taken_from_the_disk(tmp_path: Path) -> None:
    content = b'{"x":"' + b"x" * 90 + b'"}\n'
    path = tmp_path / "7"
    path.write_bytes(content * 50_000)
    usage = Usage(LIMITS)
    for recording in open_all([(path, "audit.log")], usage):
        assert isinstance(recording, Recording)
        assert usage.bytes_total == len(content) * 50_000
        assert recording.head() and usage.bytes_read == PIECE
        assert len({usage.bytes_read for _ in recording.lines()}) == -(-usage.bytes_total // PIECE)
    assert usage.bytes_read == usage.bytes_total


def test_a_reader_that_stops_early_leaves_no_open_file(tmp_path: Path) -> None:
    path = tmp_path / "7"
    path.write_bytes(json.dumps(event()).encode() + b"\n")
    reading = read([(path, "audit.log")], bodies=False)
    assert str(path) in open_files()
    reading.close()
    assert str(path) not in open_files()


def open_files() -> set[str]:
    return {str(each.readlink()) for each in Path("/proc/self/fd").iterdir() if each.is_symlink()}

"""These tests damage compressed files: each is read or refused without a crash, and what precedes the damage is
kept."""

import bz2
import gzip
import lzma
import random
from functools import cache

import pytest
import zstandard
from hypothesis import example, given
from hypothesis import strategies as st

from collectors.formats import NotARecording
from collectors.formats.stream import Limits
from tests.properties import examples
from tests.unit.formats.reading import observed
from tests.unit.formats.stream.packing import Files, Pack, opened_bytes, piped_zip, tar, zipped

LIMITS = Limits(content_bytes=64 << 20, members=1_000)  # low, so that damage cannot make a test slow
BLOCK = 128 * 1024


def halves(text: bytes) -> Files:
    middle = text.index(b"\n", len(text) // 2) + 1
    return {"first.log": text[:middle], "folder/second.log": text[middle:]}


PACKS: dict[str, tuple[Pack, int]] = {  # the function that packs, and how many bytes before the damage may be lost
    "plain": (bytes, 0),
    "gzip": (gzip.compress, 1),
    "zstd": (zstandard.ZstdCompressor(write_checksum=True).compress, BLOCK),
    "bzip2": (lambda text: bz2.compress(text, 1), 4096),
    "xz": (lambda text: lzma.compress(text, preset=0), 4096),
    "tar": (lambda text: tar(halves(text)), 0),
    "tar.gz": (lambda text: gzip.compress(tar(halves(text))), 1),
    "tar.zst": (lambda text: zstandard.compress(tar(halves(text))), BLOCK),
    "tar of gz": (lambda text: tar({name: gzip.compress(half) for name, half in halves(text).items()}), 1),
    "zip": (lambda text: zipped(halves(text)), 1),
    "stored zip": (lambda text: zipped(halves(text), 0), 0),
    "piped zip": (lambda text: piped_zip(halves(text)), 1),
    "piped stored zip": (lambda text: piped_zip(halves(text), 0), 0),
    "zip of zst": (lambda text: zipped({name: zstandard.compress(half) for name, half in halves(text).items()}), BLOCK),
}


@cache
def packed(name: str) -> bytes:
    chance = random.Random(7)
    lines = [b'{"line":%d,"is":"%s"}\n' % (number, chance.randbytes(300).hex().encode()) for number in range(700)]
    return PACKS[name][0](b"".join(lines))


def held(content: bytes) -> Files:
    return opened_bytes(content, LIMITS)[0]


def damaged(content: bytes, at: int, way: str, extra: bytes) -> bytes:
    before, after = content[:at], content[at:]
    match way:
        case "cut":
            return before
        case "flip":
            return before + bytes([after[0] ^ (extra[0] or 1)]) + after[1:]
        case "insert":
            return before + extra + after
        case "delete":
            return before + after[len(extra) :]
        case "zero":
            return before + bytes(len(extra) * 100) + after[len(extra) * 100 :]
    return before + extra + after[len(extra) :]


WAYS = st.sampled_from(["cut", "flip", "insert", "delete", "zero", "overwrite"])


@pytest.mark.parametrize("name", PACKS)
@examples(4)
@given(place=st.floats(0, 1, exclude_max=True), way=WAYS, extra=st.binary(min_size=1, max_size=20))
@example(place=0.9999999, way="flip", extra=b"\x01")
@example(place=0.999, way="cut", extra=b"\x01")
def test_what_stands_before_the_damage_is_kept(name: str, place: float, way: str, extra: bytes) -> None:
    content = packed(name)
    at = 512 + int(place * (len(content) - 512))
    found = held(damaged(content, at, way, extra))
    for recording, text in held(content[:at]).items():
        kept = text[: max(0, len(text) - PACKS[name][1])]
        assert found[recording].startswith(kept) if kept else True


BEGINNINGS = [b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd", b"\x50\x2a\x4d\x18", b"BZh91AY&SY", b"\xfd7zXZ\x00", b"PK\x03\x04"]
BEGINNINGS += [b"PK\x05\x06", b"x" * 257 + b"ustar\0"]


@examples(15)
@given(begin=st.sampled_from(BEGINNINGS), rest=st.binary(max_size=2_000))
def test_what_only_begins_as_if_it_were_packed_is_refused(begin: bytes, rest: bytes) -> None:
    with pytest.raises(NotARecording):
        observed(begin + rest, bodies=True, limits=LIMITS)


def changes_of(least: int, most: int, size: int) -> st.SearchStrategy[list[tuple[int, bytes]]]:
    """Return changes of bytes at some offsets."""
    change = st.tuples(st.integers(least, most), st.binary(min_size=1, max_size=size))
    return st.lists(change, min_size=1, max_size=4)


SMALL: Files = {"a": b'{"a":1}\n' * 100, "b": b'{"b":1}\n'}


@examples(12)
@given(changes=changes_of(0, 511, 12))
def test_a_tar_header_that_says_anything_does_no_harm(changes: list[tuple[int, bytes]]) -> None:
    """The checksum is correct, so that the header is believed."""
    content = bytearray(tar(SMALL))
    for at, written in changes:
        content[at : at + len(written)] = written
    content[148:156] = b" " * 8
    content[148:156] = b"%06o\0 " % sum(content[:512])
    held(bytes(content))


@examples(12)
@given(changes=changes_of(4, 29, 8))
def test_a_zip_header_that_says_anything_does_no_harm(changes: list[tuple[int, bytes]]) -> None:
    content = bytearray(zipped(SMALL))
    for at, written in changes:
        content[at : at + len(written)] = written
    held(bytes(content))

"""These tests read archives, folders and pipes: each is opened however it is packed, and nothing is unpacked to the
disk."""

import bz2
import gzip
import io
import lzma
import os
import random
import shutil
import socket
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from collectors.formats.stream import NotARecording
from tests import ROOT
from tests.unit.formats.stream.packing import TEXT, Files, Pack, opened, opened_bytes, piped_zip, tar, written, zipped

LONG = random.Random(4).randbytes(300_000).hex().encode()
FILES: Files = {"nodes.json": TEXT, "default/pods.json": LONG, "kube-system/events.json": b"{}"}
COMPRESSIONS: list[Pack] = [gzip.compress, zstandard.compress, bz2.compress, lzma.compress]
ALL: list[Pack] = [bytes, *COMPRESSIONS]
ARCHIVES: list[Callable[[Files], bytes]] = [tar, zipped, piped_zip]


def in_frames(pack: Pack) -> bytes:
    frames = (pack(TEXT[start : start + 5]) for start in range(0, len(TEXT), 5))
    return b"".join([pack(b""), *frames, pack(b"")])


@pytest.mark.parametrize("pack", COMPRESSIONS)
@pytest.mark.parametrize(
    "layout",
    [
        lambda pack: pack(TEXT),
        in_frames,
        lambda pack: pack(TEXT) + bytes(10_240),
        lambda pack: gzip.compress(pack(TEXT)),
    ],
    ids=["as it is", "in frames that follow each other", "with padding behind it", "compressed twice"],
)
def test_what_is_compressed_is_unpacked_by_its_content(pack: Pack, layout: Callable[[Pack], bytes]) -> None:
    assert opened_bytes(layout(pack)) == ({"dump": TEXT}, [])


KINDS = [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT]


@pytest.mark.parametrize(
    ("pack", "kind"), [*((bytes, kind) for kind in KINDS), *((pack, KINDS[2]) for pack in ALL[1:])]
)
def test_a_tar_is_read_whatever_it_is_compressed_by(pack: Pack, kind: int) -> None:
    assert opened_bytes(pack(tar(FILES, format=kind))) == (FILES, [])


def test_a_tar_of_the_old_kind_has_no_magic_and_is_known_by_its_checksum() -> None:
    made = bytearray(tar({"old.json": TEXT}, format=tarfile.USTAR_FORMAT))
    made[257:265] = bytes(8)
    made[148:156] = b" " * 8
    made[148:156] = b"%06o\0 " % sum(made[:512])
    assert opened_bytes(bytes(made)) == ({"old.json": TEXT}, [])


@pytest.mark.parametrize("pack", COMPRESSIONS)
def test_compressed_files_in_an_archive_are_unpacked(pack: Pack) -> None:
    files = {"one.log": pack(TEXT), "two.log": pack(LONG)}
    for archive in (tar(files), zstandard.compress(tar(files)), zipped(files), piped_zip(files)):
        assert opened_bytes(archive) == ({"one.log": TEXT, "two.log": LONG}, [])


@pytest.mark.parametrize("outer", ARCHIVES)
@pytest.mark.parametrize(("name", "inner"), [("in.tar.gz", gzip.compress(tar(FILES))), ("in.zip", zipped(FILES))])
def test_an_archive_in_an_archive_is_opened(outer: Callable[[Files], bytes], name: str, inner: bytes) -> None:
    expected = {f"{name}/{path}": data for path, data in FILES.items()}
    assert opened_bytes(gzip.compress(outer({name: inner}))) == (expected, [])


def test_archives_without_end_are_not_followed() -> None:
    archive = tar({"file": TEXT})
    for _ in range(100):
        archive = tar({"in.tar": archive})
    assert opened_bytes(archive) == (
        {},
        ["dump" + "/in.tar" * 6 + ": is packed more than 6 times over; unpack it first"],
    )


METHODS = [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2]


@pytest.mark.parametrize("method", METHODS)
def test_a_zip_is_read_even_if_it_was_written_to_a_pipe(method: int) -> None:
    assert opened_bytes(zipped(FILES, method)) == (FILES, [])
    files = {**FILES, "empty": b"", "misleading": b"PK\x07\x08" * 100 + b"PK\x03\x04" * 100}
    for zip64 in (False, True):
        assert opened_bytes(piped_zip(files, method, zip64)) == (files, [])


def test_a_zip64_is_read() -> None:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, data in FILES.items():
            with archive.open(name, "w", force_zip64=True) as member:
                member.write(data)
    assert opened_bytes(made.getvalue()) == (FILES, [])


@pytest.mark.skipif(not shutil.which("zip"), reason="no zip")
@pytest.mark.parametrize("arguments", [[], ["-0"], ["-fd"], ["-e", "-P", "secret"], ["-fz"]])
def test_what_info_zip_writes_is_read(tmp_path: Path, arguments: list[str]) -> None:
    folder = written(tmp_path / "folder", FILES)
    subprocess.run(["zip", "-qr", *arguments, str(tmp_path / "a.zip"), "."], cwd=folder, check=True)
    piped = subprocess.run(["zip", "-qr", *arguments, "-", "."], cwd=folder, check=True, capture_output=True).stdout
    for content in ((tmp_path / "a.zip").read_bytes(), piped):
        files, skipped = opened_bytes(content)
        if "-e" in arguments:
            assert sorted(skipped) == sorted(f"dump/{name}: is encrypted; unpack it first" for name in FILES)
        else:
            assert (files, skipped) == (FILES, [])


@pytest.mark.parametrize(
    ("make", "at", "changed", "reason"),
    [
        (zipped, 8, 9, "is packed by zip's method 9, which is not known here; unpack it first"),
        (zipped, 6, 1, "is encrypted; unpack it first"),
        (piped_zip, 6, 9, "is encrypted; unpack it first"),
        (lambda files: zipped(files, 0), 40, 1, "its checksum is not the one in the zip archive: it is damaged"),
    ],
    ids=["an unknown method", "encrypted", "encrypted, from a pipe", "a wrong checksum"],
)
def test_a_member_that_cannot_be_read_is_said_and_the_rest_is_read(
    make: Callable[[Files], bytes], at: int, changed: int, reason: str
) -> None:
    made = bytearray(make({"first": TEXT, "second": TEXT}))
    made[at] = changed
    files, skipped = opened_bytes(bytes(made))
    assert files["second"] == TEXT
    assert skipped == [f"dump/first: {reason}"]


def test_names_are_only_names(tmp_path: Path) -> None:
    names = ["../../escape.json", "/etc/passwd", "a/../b.json", "./plain.json", "red\x1b[31m.json"]
    before = set(tmp_path.parent.rglob("*"))
    for archive in (tar(dict.fromkeys(names, TEXT)), zipped(dict.fromkeys(names, TEXT))):
        (tmp_path / "7").write_bytes(archive)
        files, skipped = opened((tmp_path / "7", "dump"))
        assert {name.removeprefix("dump/") for name in files} == {*names[:3], "plain.json", "red�[31m.json"}
        assert not skipped
    assert set(tmp_path.parent.rglob("*")) - before == {tmp_path / "7"}


def test_a_name_that_is_no_utf8_can_be_printed(tmp_path: Path) -> None:
    files, _ = opened_bytes(tar({"caf\udce9.json": TEXT}, format=tarfile.GNU_FORMAT))
    assert list(files) == ["caf�.json"]
    files, _ = opened((written(tmp_path / "folder", {os.fsdecode(b"caf\xe9.json"): TEXT}), "folder"))
    assert list(files) == ["folder/caf�.json"]


def test_links_and_devices_in_a_tar_are_not_followed() -> None:
    made = io.BytesIO()
    kinds = {"soft": tarfile.SYMTYPE, "hard": tarfile.LNKTYPE, "device": tarfile.CHRTYPE, "pipe": tarfile.FIFOTYPE}
    with tarfile.open(fileobj=made, mode="w") as archive:
        for name, kind in (*kinds.items(), ("folder", tarfile.DIRTYPE)):
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, "/etc/passwd"
            archive.addfile(member)
        member = tarfile.TarInfo("file")
        member.size = len(TEXT)
        archive.addfile(member, io.BytesIO(TEXT))
    files, skipped = opened_bytes(made.getvalue())
    assert files == {"file": TEXT}
    whys = ["soft: is a link", "hard: is a link", "device: is not a regular file", "pipe: is not a regular file"]
    assert skipped == [f"dump/{why}" for why in whys]


@pytest.mark.parametrize("kind", ["gnu", "posix"])
def test_a_sparse_file_in_a_tar_is_read_with_its_holes(tmp_path: Path, kind: str) -> None:
    with (tmp_path / "sparse.json").open("wb") as file:
        file.write(TEXT)
        file.seek(5_000_000)
        file.write(TEXT)
    command = ["tar", "-c", "--sparse", f"--format={kind}", "-C", str(tmp_path), "sparse.json"]
    made = subprocess.run(command, check=True, capture_output=True).stdout
    assert len(made) < 100_000
    whole = TEXT + bytes(5_000_000 - len(TEXT)) + TEXT
    assert opened_bytes(made + bytes(10_240)) == ({"sparse.json": whole}, [])


@pytest.mark.parametrize("make", ARCHIVES)
def test_hidden_files_of_archives_and_those_of_a_mac_are_skipped(make: Callable[[Files], bytes]) -> None:
    names = ["a.json", ".git/config", "sub/.hidden", "__MACOSX/._a.json"]
    files, skipped = opened_bytes(make(dict.fromkeys(names, TEXT)))
    assert list(files) == ["a.json"]
    assert skipped == [f"dump/{name}: is hidden" for name in names[1:]]


def test_an_archive_or_a_folder_without_files_is_reported(tmp_path: Path) -> None:
    for archive in (zipped({}), zipped({"folder/": b""}), gzip.compress(zipped({}))):
        assert opened_bytes(archive) == ({}, ["dump: is an archive without files"])
    (tmp_path / "folder" / "inside").mkdir(parents=True)
    assert opened((tmp_path / "folder", "folder")) == ({}, ["folder: is a folder without files"])


@pytest.mark.parametrize("pack", ALL)
def test_of_a_cut_tar_what_could_be_read_is_kept_and_the_loss_is_said(pack: Pack) -> None:
    long = random.Random(5).randbytes(1_300_000).hex().encode()  # bzip2 decompresses whole blocks of 900 kB
    whole = pack(tar({**FILES, "default/pods.json": long}))
    files, (of_member, of_archive) = opened_bytes(whole[: len(whole) * 2 // 3])
    assert files["nodes.json"] == TEXT
    assert len(files["default/pods.json"]) > 800_000 and long.startswith(files["default/pods.json"])
    assert of_member.startswith("dump/default/pods.json: the ")
    assert of_archive.startswith("dump: cannot be read further behind default/pods.json: the ")
    assert "cut" in of_member and "cut" in of_archive


@pytest.mark.parametrize("make", [zipped, piped_zip])
def test_of_a_cut_zip_what_could_be_read_is_kept_and_the_loss_is_said(make: Callable[[Files], bytes]) -> None:
    whole = make(FILES)
    files, skipped = opened_bytes(whole[: len(whole) * 2 // 3])
    assert files["nodes.json"] == TEXT
    assert len(files["default/pods.json"]) > 100_000 and LONG.startswith(files["default/pods.json"])
    assert any("dump/default/pods.json: the " in each and "cut" in each for each in skipped)
    assert any("dump: cannot be read further behind default/pods.json" in each for each in skipped)


def test_a_zip_without_its_directory_has_lost_nothing() -> None:
    whole = zipped(FILES)
    files, (skipped,) = opened_bytes(whole[: whole.index(b"PK\x01\x02")])
    assert files == FILES
    assert "the zip archive ends too early" in skipped
    assert opened_bytes(whole[: whole.index(b"PK\x05\x06") - 10]) == (FILES, [])


def test_a_tar_that_is_cut_between_two_files_or_damaged_says_so() -> None:
    made = bytearray(tar({"one": TEXT, "two": TEXT}))
    behind = "dump: cannot be read further behind one: the tar archive"
    assert opened_bytes(bytes(made[:1024])) == (
        {"one": TEXT},
        [f"{behind} ends too early, at byte 1024: the file was cut"],
    )
    made[1024 + 150] ^= 7
    assert opened_bytes(bytes(made)) == ({"one": TEXT}, [f"{behind} is damaged near byte 1536"])


def test_a_folder_is_walked_in_sorted_order_and_its_archives_are_opened(tmp_path: Path) -> None:
    files = {"b.log": TEXT, "a.log.gz": gzip.compress(LONG), "sub/z.json": TEXT, "sub/in/a.json": TEXT, "a/x": TEXT}
    found, skipped = opened((written(tmp_path / "folder", {**files, "t.tar": tar(FILES)}), "folder/"))
    names = ["a.log.gz", "b.log", *(f"t.tar/{name}" for name in FILES), "a/x", "sub/z.json", "sub/in/a.json"]
    assert list(found) == [f"folder/{name}" for name in names]
    assert found["folder/a.log.gz"] == LONG
    assert not skipped


def test_what_in_a_folder_is_no_file_to_read_is_named(tmp_path: Path) -> None:
    folder = written(tmp_path / "folder", {".hidden": TEXT, ".git/config": TEXT, "file": TEXT, "in/file": TEXT})
    (folder / "out").symlink_to("/etc/hostname")
    (folder / "in" / "loop").symlink_to(folder)
    (folder / "broken").symlink_to("nowhere")
    os.mkfifo(folder / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "socket"))
        files, skipped = opened((folder, "folder"))
    assert list(files) == ["folder/file", "folder/in/file"]
    hidden = [f"folder/{name}: is hidden" for name in (".git", ".hidden")]
    links = [f"folder/{name}: is a link; name the file it leads to instead" for name in ("broken", "in/loop", "out")]
    others = [f"folder/{name}: is not a regular file" for name in ("pipe", "socket")]
    assert sorted(skipped) == [*hidden, *links, *others]


def test_a_folder_too_deep_to_name_ends_the_walk_there_alone(tmp_path: Path) -> None:
    folder = written(tmp_path / "folder", {"file": TEXT})
    deep = os.open(folder, os.O_RDONLY)
    for _ in range(2_100):
        os.mkdir("d", dir_fd=deep)
        deeper = os.open("d", os.O_RDONLY, dir_fd=deep)
        os.close(deep)
        deep = deeper
    os.close(deep)
    files, (skipped,) = opened((folder, "folder"))
    assert list(files) == ["folder/file"]
    assert skipped.endswith("cannot be opened: File name too long")
    subprocess.run(["rm", "-r", str(folder)], check=True)


def test_a_link_that_is_named_itself_is_followed_and_what_is_not_there_is_refused(tmp_path: Path) -> None:
    written(tmp_path, {"real.log": TEXT})
    (tmp_path / "link").symlink_to("real.log")
    assert opened((tmp_path / "link", "link")) == ({"link": TEXT}, [])
    with pytest.raises(NotARecording, match=r"^gone\.log cannot be opened: No such file or directory\.$"):
        opened((tmp_path / "real.log", "real.log"), (tmp_path / "gone.log", "gone.log"))


ECHO = """
import sys
from pathlib import Path
from collectors.formats.stream import Limits, Usage, open_all
usage = Usage(Limits())
for recording in open_all([(Path("-"), "-")], usage):
    print(recording.name, sum(map(len, recording.chunks())))
print(usage.bytes_read, usage.bytes_total)
"""


@pytest.mark.parametrize("pack", [bytes, lzma.compress, lambda log: tar({"a": log}), lambda log: zipped({"a": log})])
def test_the_standard_input_is_read_though_it_cannot_seek(pack: Pack) -> None:
    given = pack(LONG)
    ran = subprocess.run([sys.executable, "-c", ECHO], input=given, capture_output=True, check=True, cwd=ROOT)
    name, length, read, total = ran.stdout.decode().split()
    assert (int(length), int(total)) == (len(LONG), 0)
    assert name == ("-" if given == LONG or given == lzma.compress(LONG) else "-/a")
    assert len(given) - 20_000 < int(read) <= len(given)


def test_the_standard_input_that_is_a_file_tells_its_size(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(LONG)
    with (tmp_path / "log").open("rb") as file:
        ran = subprocess.run([sys.executable, "-c", ECHO], stdin=file, capture_output=True, check=True, cwd=ROOT)
    assert ran.stdout.decode().split()[2:] == [str(len(LONG)), str(len(LONG))]

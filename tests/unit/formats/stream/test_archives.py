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

from collectors.formats.stream import Limits, NotARecording, Recording, Usage, open_all
from tests import ROOT

Pack = Callable[[bytes], bytes]
Files = dict[str, bytes]
TEXT = b'{"a":1}\n{"b":2}\n{"c":3}\n'
LONG = random.Random(4).randbytes(300_000).hex().encode()
FILES: Files = {"nodes.json": TEXT, "default/pods.json": LONG, "kube-system/events.json": b"{}"}


def tar(files: Files, **how: object) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", **how) as archive:  # type: ignore[call-overload]
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return made.getvalue()


def zipped(files: Files, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", method) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return made.getvalue()


class Pipe(io.RawIOBase):
    """This stream accepts what is written, and cannot seek back to fill in sizes."""

    def __init__(self) -> None:
        self.taken = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        self.taken += bytes(data)  # type: ignore[call-overload]
        return len(bytes(data))  # type: ignore[call-overload]


def piped_zip(files: Files, method: int = zipfile.ZIP_DEFLATED, zip64: bool = False) -> bytes:
    pipe = Pipe()
    with zipfile.ZipFile(pipe, "w") as archive:
        for name, data in files.items():
            member = zipfile.ZipInfo(name)
            member.compress_type = method
            with archive.open(member, "w", force_zip64=zip64) as file:
                file.write(data)
    return bytes(pipe.taken)


def opened(*inputs: tuple[Path, str], limits: Limits | None = None) -> tuple[Files, list[str]]:
    """Return the content of each recording by name, and what was skipped."""
    files: Files = {}
    skipped: list[str] = []
    for each in open_all(inputs, Usage(limits or Limits())):
        if isinstance(each, Recording):
            assert each.name not in files
            files[each.name] = b"".join(each.chunks())
            skipped += map(str, each.report_error())
        else:
            skipped.append(str(each))
    return files, skipped


def opened_bytes(tmp_path: Path, content: bytes, limits: Limits | None = None) -> tuple[Files, list[str]]:
    """Return the same for one file named `dump`, without that name."""
    path = tmp_path / "7"
    path.write_bytes(content)
    files, skipped = opened((path, "dump"), limits=limits)
    return {name.removeprefix("dump/"): data for name, data in files.items()}, skipped


ALL: list[Pack] = [bytes, gzip.compress, zstandard.compress, bz2.compress, lzma.compress]
COMPRESSIONS = ALL[1:]


@pytest.mark.parametrize("pack", COMPRESSIONS)
def test_what_is_compressed_is_unpacked_by_its_content(tmp_path: Path, pack: Pack) -> None:
    assert opened_bytes(tmp_path, pack(LONG)) == ({"dump": LONG}, [])


@pytest.mark.parametrize("pack", COMPRESSIONS)
def test_frames_that_follow_each_other_are_one_text(tmp_path: Path, pack: Pack) -> None:
    frames = b"".join(pack(LONG[start : start + 70_000]) for start in range(0, len(LONG), 70_000))
    assert opened_bytes(tmp_path, pack(b"") + frames + pack(b"")) == ({"dump": LONG}, [])


@pytest.mark.parametrize("pack", COMPRESSIONS)
def test_padding_behind_compressed_data_is_no_damage(tmp_path: Path, pack: Pack) -> None:
    assert opened_bytes(tmp_path, pack(TEXT) + bytes(10_240)) == ({"dump": TEXT}, [])


@pytest.mark.parametrize("pack", COMPRESSIONS)
def test_what_was_compressed_twice_is_unpacked_twice(tmp_path: Path, pack: Pack) -> None:
    assert opened_bytes(tmp_path, gzip.compress(pack(TEXT))) == ({"dump": TEXT}, [])


@pytest.mark.parametrize("pack", ALL)
@pytest.mark.parametrize("kind", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_a_tar_is_read_whatever_it_is_compressed_by(tmp_path: Path, pack: Pack, kind: int) -> None:
    assert opened_bytes(tmp_path, pack(tar(FILES, format=kind))) == (FILES, [])


def test_a_tar_of_the_old_kind_has_no_magic_and_is_known_by_its_checksum(tmp_path: Path) -> None:
    made = bytearray(tar({"old.json": TEXT}, format=tarfile.USTAR_FORMAT))
    made[257:265] = bytes(8)
    made[148:156] = b" " * 8
    made[148:156] = b"%06o\0 " % sum(made[:512])
    assert opened_bytes(tmp_path, bytes(made)) == ({"old.json": TEXT}, [])


@pytest.mark.parametrize("pack", COMPRESSIONS)
def test_compressed_files_in_an_archive_are_unpacked(tmp_path: Path, pack: Pack) -> None:
    files = {"one.log": pack(TEXT), "two.log": pack(LONG)}
    for archive in (tar(files), zstandard.compress(tar(files)), zipped(files), piped_zip(files)):
        assert opened_bytes(tmp_path, archive) == ({"one.log": TEXT, "two.log": LONG}, [])


def test_an_archive_in_an_archive_is_opened(tmp_path: Path) -> None:
    inner: list[Files] = [{"in.tar.gz": gzip.compress(tar(FILES))}, {"in.zip": zipped(FILES)}]
    for files in inner:
        (name,) = files
        expected = {f"{name}/{path}": data for path, data in FILES.items()}
        for outer in (tar(files), zipped(files), piped_zip(files)):
            assert opened_bytes(tmp_path, gzip.compress(outer)) == (expected, [])


def test_archives_without_end_are_not_followed(tmp_path: Path) -> None:
    archive = tar({"file": TEXT})
    for _ in range(100):
        archive = tar({"in.tar": archive})
    files, (skipped,) = opened_bytes(tmp_path, archive)
    assert not files
    assert skipped == "dump" + "/in.tar" * 6 + ": is packed more than 6 times over; unpack it first"


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2])
def test_a_zip_is_read(tmp_path: Path, method: int) -> None:
    assert opened_bytes(tmp_path, zipped(FILES, method)) == (FILES, [])


@pytest.mark.parametrize("zip64", [False, True])
@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2])
def test_a_zip_that_was_written_to_a_pipe_is_read(tmp_path: Path, method: int, zip64: bool) -> None:
    files = {**FILES, "empty": b"", "misleading": b"PK\x07\x08" * 100 + b"PK\x03\x04" * 100}
    assert opened_bytes(tmp_path, piped_zip(files, method, zip64)) == (files, [])


def test_a_zip64_is_read(tmp_path: Path) -> None:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, data in FILES.items():
            with archive.open(name, "w", force_zip64=True) as member:
                member.write(data)
    assert opened_bytes(tmp_path, made.getvalue()) == (FILES, [])


@pytest.mark.skipif(not shutil.which("zip"), reason="no zip")
@pytest.mark.parametrize("arguments", [[], ["-0"], ["-fd"], ["-e", "-P", "secret"], ["-fz"]])
def test_what_info_zip_writes_is_read(tmp_path: Path, arguments: list[str]) -> None:
    folder = tmp_path / "folder"
    written(folder, FILES)
    subprocess.run(["zip", "-qr", *arguments, str(tmp_path / "a.zip"), "."], cwd=folder, check=True)
    piped = subprocess.run(["zip", "-qr", *arguments, "-", "."], cwd=folder, check=True, capture_output=True).stdout
    for content in ((tmp_path / "a.zip").read_bytes(), piped):
        files, skipped = opened_bytes(tmp_path, content)
        if "-e" in arguments:
            assert sorted(skipped) == sorted(f"dump/{name}: is encrypted; unpack it first" for name in FILES)
        else:
            assert (files, skipped) == (FILES, [])


def test_an_unknown_method_of_a_zip_is_said_and_the_rest_is_read(tmp_path: Path) -> None:
    made = bytearray(zipped({"first": LONG, "second": TEXT}))
    made[8:10] = (9).to_bytes(2, "little")
    files, skipped = opened_bytes(tmp_path, bytes(made))
    assert files == {"second": TEXT}
    assert skipped == ["dump/first: is packed by zip's method 9, which is not known here; unpack it first"]


def test_an_encrypted_member_is_said_and_the_rest_is_read(tmp_path: Path) -> None:
    for archive in (zipped({"first": LONG, "second": TEXT}), piped_zip({"first": LONG, "second": TEXT})):
        made = bytearray(archive)
        made[6] |= 1
        assert opened_bytes(tmp_path, bytes(made)) == (
            {"second": TEXT},
            ["dump/first: is encrypted; unpack it first"],
        )


def test_a_wrong_checksum_in_a_zip_is_said(tmp_path: Path) -> None:
    made = bytearray(zipped({"first": TEXT, "second": TEXT}, zipfile.ZIP_STORED))
    made[40] ^= 1
    files, skipped = opened_bytes(tmp_path, bytes(made))
    assert files["second"] == TEXT
    assert skipped == ["dump/first: its checksum is not the one in the zip archive: it is damaged"]


def test_names_are_only_names(tmp_path: Path) -> None:
    names = ["../../escape.json", "/etc/passwd", "a/../b.json", "./plain.json", "red\x1b[31m.json"]
    outside = set(tmp_path.parent.rglob("*"))
    for archive in (tar(dict.fromkeys(names, TEXT)), zipped(dict.fromkeys(names, TEXT))):
        files, skipped = opened_bytes(tmp_path, archive)
        assert set(files) == {"../../escape.json", "/etc/passwd", "a/../b.json", "plain.json", "red�[31m.json"}
        assert not skipped
    assert set(tmp_path.parent.rglob("*")) - outside == {tmp_path / "7"}


def test_a_name_that_is_no_utf8_can_be_printed(tmp_path: Path) -> None:
    files, _ = opened_bytes(tmp_path, tar({"caf\udce9.json": TEXT}, format=tarfile.GNU_FORMAT))
    assert list(files) == ["caf�.json"]
    folder = tmp_path / "folder"
    written(folder, {os.fsdecode(b"caf\xe9.json"): TEXT})
    files, _ = opened((folder, "folder"))
    assert list(files) == ["folder/caf�.json"]


def test_links_and_devices_in_a_tar_are_not_followed(tmp_path: Path) -> None:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        for name, kind in [
            ("soft", tarfile.SYMTYPE), ("hard", tarfile.LNKTYPE), ("device", tarfile.CHRTYPE),
            ("pipe", tarfile.FIFOTYPE), ("folder", tarfile.DIRTYPE),
        ]:  # fmt: skip
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, "/etc/passwd"
            archive.addfile(member)
        member = tarfile.TarInfo("file")
        member.size = len(TEXT)
        archive.addfile(member, io.BytesIO(TEXT))
    files, skipped = opened_bytes(tmp_path, made.getvalue())
    assert files == {"file": TEXT}
    assert skipped == [
        "dump/soft: is a link",
        "dump/hard: is a link",
        "dump/device: is not a regular file",
        "dump/pipe: is not a regular file",
    ]


@pytest.mark.parametrize("kind", ["gnu", "posix"])
def test_a_sparse_file_in_a_tar_is_read_with_its_holes(tmp_path: Path, kind: str) -> None:
    with (tmp_path / "sparse.json").open("wb") as file:
        file.write(TEXT)
        file.seek(5_000_000)
        file.write(TEXT)
    command = ["tar", "-c", "--sparse", f"--format={kind}", "-C", str(tmp_path), "sparse.json"]
    made = subprocess.run(command, check=True, capture_output=True).stdout
    assert len(made) < 100_000
    files, skipped = opened_bytes(tmp_path, made + bytes(10_240))
    assert files == {"sparse.json": TEXT + bytes(5_000_000 - len(TEXT)) + TEXT}
    assert not skipped


def test_hidden_files_of_archives_and_those_of_a_mac_are_skipped(tmp_path: Path) -> None:
    names = ["a.json", ".git/config", "sub/.hidden", "__MACOSX/._a.json"]
    for archive in (tar(dict.fromkeys(names, TEXT)), zipped(dict.fromkeys(names, TEXT))):
        files, skipped = opened_bytes(tmp_path, archive)
        assert list(files) == ["a.json"]
        assert skipped == [f"dump/{name}: is hidden" for name in names[1:]]


def test_an_archive_or_a_folder_without_files_is_told(tmp_path: Path) -> None:
    for archive in (zipped({}), zipped({"folder/": b""}), gzip.compress(zipped({}))):
        assert opened_bytes(tmp_path, archive) == ({}, ["dump: is an archive without files"])
    (tmp_path / "folder" / "inside").mkdir(parents=True)
    assert opened((tmp_path / "folder", "folder")) == ({}, ["folder: is a folder without files"])


@pytest.mark.parametrize("pack", ALL)
def test_of_a_cut_tar_what_could_be_read_is_kept_and_the_loss_is_said(tmp_path: Path, pack: Pack) -> None:
    long = random.Random(5).randbytes(1_300_000).hex().encode()  # bzip2 decompresses whole blocks of 900 kB
    whole = pack(tar({**FILES, "default/pods.json": long}))
    files, skipped = opened_bytes(tmp_path, whole[: len(whole) * 2 // 3])
    assert files["nodes.json"] == TEXT
    assert len(files["default/pods.json"]) > 800_000 and long.startswith(files["default/pods.json"])
    of_member, of_archive = skipped
    assert of_member.startswith("dump/default/pods.json: the ")
    assert of_archive.startswith("dump: cannot be read further behind default/pods.json: the ")
    assert "cut" in of_member and "cut" in of_archive


def test_a_tar_cut_between_two_files_says_so(tmp_path: Path) -> None:
    files, (skipped,) = opened_bytes(tmp_path, tar({"one": TEXT, "two": TEXT})[: 2 * 512])
    assert files == {"one": TEXT}
    assert skipped == (
        "dump: cannot be read further behind one: the tar archive ends too early, at byte 1024: the file was cut"
    )


def test_a_damaged_header_of_a_tar_is_said(tmp_path: Path) -> None:
    made = bytearray(tar({"one": TEXT, "two": TEXT}))
    made[1024 + 150] ^= 7
    files, (skipped,) = opened_bytes(tmp_path, bytes(made))
    assert files == {"one": TEXT}
    assert skipped == "dump: cannot be read further behind one: the tar archive is damaged near byte 1536"


@pytest.mark.parametrize("make", [zipped, piped_zip])
def test_of_a_cut_zip_what_could_be_read_is_kept_and_the_loss_is_said(
    tmp_path: Path, make: Callable[[Files], bytes]
) -> None:
    whole = make(FILES)
    files, skipped = opened_bytes(tmp_path, whole[: len(whole) * 2 // 3])
    assert files["nodes.json"] == TEXT
    assert len(files["default/pods.json"]) > 100_000 and LONG.startswith(files["default/pods.json"])
    assert any("dump/default/pods.json: the " in each and "cut" in each for each in skipped)
    assert any("dump: cannot be read further behind default/pods.json" in each for each in skipped)


def test_a_zip_without_its_directory_has_lost_nothing(tmp_path: Path) -> None:
    whole = zipped(FILES)
    files, (skipped,) = opened_bytes(tmp_path, whole[: whole.index(b"PK\x01\x02")])
    assert files == FILES
    assert "the zip archive ends too early" in skipped
    assert opened_bytes(tmp_path, whole[: whole.index(b"PK\x05\x06") - 10]) == (FILES, [])


def written(folder: Path, files: Files) -> Path:
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return folder


def test_a_folder_is_walked_in_sorted_order_and_its_archives_are_opened(tmp_path: Path) -> None:
    files = {"b.log": TEXT, "a.log.gz": gzip.compress(LONG), "sub/z.json": TEXT, "sub/in/a.json": TEXT, "a/x": TEXT}
    folder = written(tmp_path / "folder", {**files, "t.tar": tar(FILES)})
    found, skipped = opened((folder, "folder/"))
    assert list(found) == [
        "folder/a.log.gz",
        "folder/b.log",
        *(f"folder/t.tar/{name}" for name in FILES),
        "folder/a/x",
        "folder/sub/z.json",
        "folder/sub/in/a.json",
    ]
    assert found["folder/a.log.gz"] == LONG
    assert not skipped


def test_what_in_a_folder_is_no_file_to_read_is_told(tmp_path: Path) -> None:
    folder = written(tmp_path / "folder", {".hidden": TEXT, ".git/config": TEXT, "file": TEXT, "in/file": TEXT})
    (folder / "out").symlink_to("/etc/hostname")
    (folder / "in" / "loop").symlink_to(folder)
    (folder / "broken").symlink_to("nowhere")
    os.mkfifo(folder / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "socket"))
        files, skipped = opened((folder, "folder"))
    assert list(files) == ["folder/file", "folder/in/file"]
    assert sorted(skipped) == [
        "folder/.git: is hidden",
        "folder/.hidden: is hidden",
        "folder/broken: is a link; name the file it leads to instead",
        "folder/in/loop: is a link; name the file it leads to instead",
        "folder/out: is a link; name the file it leads to instead",
        "folder/pipe: is not a regular file",
        "folder/socket: is not a regular file",
    ]


def test_a_folder_too_deep_to_name_ends_the_walk_there_alone(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    written(folder, {"file": TEXT})
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


def test_a_link_that_is_named_itself_is_followed(tmp_path: Path) -> None:
    written(tmp_path, {"real.log": TEXT})
    (tmp_path / "link").symlink_to("real.log")
    assert opened((tmp_path / "link", "link")) == ({"link": TEXT}, [])


def test_what_is_not_there_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    written(tmp_path, {"real.log": TEXT})
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

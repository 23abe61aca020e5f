"""This module packs files as archives, and opens what was packed."""

import io
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from collectors.formats.stream import Limits, Recording, Usage, open_all

Pack = Callable[[bytes], bytes]
Files = dict[str, bytes]
TEXT = b'{"a":1}\n{"b":2}\n{"c":3}\n'


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


def opened_bytes(content: bytes, limits: Limits | None = None) -> tuple[Files, list[str]]:
    """Return the same for one file named `dump`, without that name."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "7"
        path.write_bytes(content)
        files, skipped = opened((path, "dump"), limits=limits)
    return {name.removeprefix("dump/"): data for name, data in files.items()}, skipped


def written(folder: Path, files: Files) -> Path:
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return folder

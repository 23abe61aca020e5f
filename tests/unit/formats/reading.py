"""This module reads recordings and logs that tests make, and has lines as programs log them."""

import io
import json
import tarfile
import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from msgspec.structs import replace

from collectors.analysis import Analysis, analyse
from collectors.formats import Limits, Skipped, formats, read
from tests.inputs.objects import items_of
from timeline.core.entries import Change, Clock, Entry, LogLine, ObjectRef, microseconds
from timeline.core.entries import moment as at

NOON = microseconds(at(0).replace(year=2026, month=11, day=22, hour=12))
KLOG = 'I1122 12:00:00.250000   16502 controller.go:12] "Synced" service="shop/web" took="1s"'
LOGFMT = 'time="2026-11-22T12:00:00Z" level=warning msg="(svcs) will update [shop/web]" n=1'
SLOG = 'time=2026-11-22T14:00:00.5+02:00 level=INFO msg="handled [web] in namespace [shop]"'
ZAP = '{"level":"error","ts":1795348800.125,"logger":"c","msg":"failed","Service":{"name":"web","namespace":"shop"}}'
BUNYAN = '{"name":"app","hostname":"h","pid":1,"level":40,"msg":"about shop/web","time":"2026-11-22T12:00:00Z","v":0}'
LOGRUS = '{"level":"debug","msg":"about shop/web","time":"2026-11-22T12:00:00Z"}'
PLAIN = "2026-11-22 12:00:00,125 ERROR could not reach shop/web"
GO = "2026/11/22 12:00:00 dropped shop/web"


def observed(content: str | bytes, bodies: bool = False, limits: Limits = Limits(), name: str = "log") -> list[Any]:  # noqa: B008
    """Return everything that is read of a file with this name."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "7"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return list(read([(path, name)], bodies=bodies, limits=limits))


def unplaced(content: str | bytes, bodies: bool = True) -> list[Entry]:
    """Return all entries without file and line, of which nothing may be skipped."""
    items = items_of(content.encode() if isinstance(content, str) else content, bodies)
    assert not [item for item in items if isinstance(item, Skipped)], items
    return [replace(item, place=None) for item in items if isinstance(item, Entry)]


def sniffed(content: str | bytes) -> list[str]:
    """Return the names of the formats that take a file with this content for one of theirs."""
    head = (content.encode() if isinstance(content, str) else content)[: 64 * 1024]
    return [each.name for each in formats() if each.sniff(head)]


def on_lines(*documents: Any, indent: int | None = None) -> str:
    return "".join(json.dumps(each, indent=indent) + "\n" for each in documents)


def peak_of(act: Callable[[], object]) -> int:
    """Return the largest number of bytes of memory that the function used."""
    tracemalloc.start()
    try:
        act()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def read_log(lines: Sequence[str], name: str = "some.log") -> tuple[list[LogLine], list[Skipped]]:
    items = observed("\n".join(lines) + "\n", name=name)
    return [each for each in items if isinstance(each, LogLine)], [each for each in items if isinstance(each, Skipped)]


def analysed(lines: Sequence[str], written: int | None = None) -> Analysis:
    """Return the analysis of a log, in an archive that says when it was written if that is given."""
    content = "\n".join(lines).encode() + b"\n"
    with TemporaryDirectory() as folder:
        path = Path(folder) / "log"
        path.write_bytes(content)
        if written is not None:
            with tarfile.open(path, "w") as archive:
                member = tarfile.TarInfo("some.log")
                member.size, member.mtime = len(content), written // 1_000_000
                archive.addfile(member, io.BytesIO(content))
        return analyse([(path, "log")], Limits())


def created(namespace: str, name: str, time: int = NOON) -> Entry:
    ref = ObjectRef("", "v1", "Service", namespace, name, f"{namespace}-{name}")
    return Entry(ref, Change.CREATED, 1 + len(namespace), Clock.AUDIT, time, time + 1, identity=namespace)

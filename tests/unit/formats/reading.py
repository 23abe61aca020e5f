"""These functions read recordings that tests make, and name the formats that take them."""

import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from msgspec.structs import replace

from collectors.formats import Limits, Skipped, formats, read
from tests.objects import items_of
from timeline.core.entries import Entry


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

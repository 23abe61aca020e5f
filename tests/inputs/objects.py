"""This module makes whole objects for tests, and reads real ones from tests/data/objects."""

import json
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import zstandard

from collectors.formats import Limits, NotARecording, Skipped, read
from tests import DATA
from timeline.core.entries import Entry

OBJECTS = DATA / "objects"


def real(name: str) -> bytes:
    """Return the unpacked content of a file in tests/data/objects."""
    return zstandard.ZstdDecompressor().decompressobj().decompress((OBJECTS / f"{name}.zst").read_bytes())


def items_of(content: bytes, bodies: bool = False, limits: Limits = Limits()) -> list[Entry | Skipped]:  # noqa: B008
    """Return what the reader makes of a file named `file`."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "7"
        path.write_bytes(content)
        return [
            item for item in read([(path, "file")], bodies=bodies, limits=limits) if isinstance(item, Entry | Skipped)
        ]


def entries_of(content: bytes, bodies: bool = False) -> list[Entry]:
    """Return the entries of such a file, of which nothing may be skipped."""
    items = items_of(content, bodies)
    entries = [item for item in items if not isinstance(item, Skipped)]
    assert len(entries) == len(items), [str(item) for item in items if isinstance(item, Skipped)]
    return entries


def reasons_of(content: bytes, limits: Limits = Limits()) -> list[str]:  # noqa: B008
    return [str(item) for item in items_of(content, limits=limits) if isinstance(item, Skipped)]


def refusal(content: bytes, name: str) -> str:
    """Return the message with which a file is refused."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "7"
        path.write_bytes(content)
        with pytest.raises(NotARecording) as refused:
            read([(path, name)], bodies=False)
    return str(refused.value)


def check_damaged(content: bytes, cut: tuple[float, float], noise: bytes, bodies: bool = True) -> None:
    """Replace a part of the content by noise, and assert that it is read or refused without an unexpected error.

    `cut` holds the start and the end of the part as fractions of the whole.
    """
    begin, end = sorted(int(part * len(content)) for part in cut)
    try:
        items = items_of(content[:begin] + noise + content[end:], bodies)
    except NotARecording as refused:
        assert str(refused).endswith(".")
    else:
        assert all(item.reason if isinstance(item, Skipped) else item.ref.name for item in items)


def changes_of(items: Iterable[Entry | Skipped]) -> list[str]:
    """Return each entry as `name change revision`, in the order of revisions."""
    entries = [item for item in items if not isinstance(item, Skipped)]
    entries.sort(key=lambda entry: entry.resource_version or 0)
    return [f"{entry.ref.name} {entry.change} {entry.resource_version}" for entry in entries]


def made(name: str, revision: int | str | None, **metadata: Any) -> dict[str, Any]:
    """Return a ConfigMap as it is after its creation. `metadata` replaces fields; None removes one."""
    fields = {
        "name": name,
        "namespace": "n",
        "uid": f"uid-of-{name}",
        "resourceVersion": None if revision is None else str(revision),
        "creationTimestamp": "2026-11-21T07:52:00Z",
        "managedFields": [{"manager": "kubectl", "operation": "Update", "time": "2026-11-21T07:52:00Z"}],
        **metadata,
    }
    kept = {key: value for key, value in fields.items() if value is not None}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": kept}


def changed(name: str, revision: int, second: int = 5, **metadata: Any) -> dict[str, Any]:
    """Return the same ConfigMap after another write in a later second."""
    manager = {"manager": "controller", "operation": "Update", "time": f"2026-11-21T07:52:{second:02}Z"}
    return made(name, revision, managedFields=[manager], **metadata)


def watch(*events: tuple[str, dict[str, Any]]) -> bytes:
    """Return a watch as kubectl prints it, from pairs such as (ADDED, object)."""
    lines = (json.dumps({"type": type, "object": seen}, separators=(",", ":")) for type, seen in events)
    return "".join(f"{line}\n" for line in lines).encode()


def documents(*objects: dict[str, Any]) -> bytes:
    """Return objects as kubectl prints them in JSON, one after the other."""
    return "".join(json.dumps(each, indent=4) + "\n" for each in objects).encode()


def listed(*objects: dict[str, Any], **fields: Any) -> bytes:
    """Return a list as `kubectl get -o json` prints it."""
    whole = {"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}, "items": list(objects), **fields}
    return json.dumps(whole, indent=4, sort_keys=True).encode() + b"\n"

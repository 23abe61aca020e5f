"""Make a large recording from a small one by repeating it, each time with later times and other objects."""

import re
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_OID, uuid5

import orjson
import zstandard

from collectors.formats.stream import Limits, Line, Skipped, Usage, open_all

_CHANGED = re.compile(
    rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d"  # a time
    rb"|\b[0-9a-f]{8}(?=-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b)"  # the beginning of a UID
    rb'|"resourceVersion":"[1-9]\d*|resourceVersion=[1-9]\d*'  # a revision of an object, or in the address of a watch
)
_TIME = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")
_REVISION = re.compile(rb'(?:"resourceVersion":"|resourceVersion=)([1-9]\d*)')
# What is deleted first at the end of a turn, and what last, so that no Service goes before the Pods that it selects.
_FIRST = ("pods", "jobs", "replicasets", "deployments", "endpointslices", "endpoints")
_WRITING = {"create", "update", "patch", "delete"}
_STAYING = b'"resource":"namespaces"'
_REMOVER = {"username": "system:serviceaccount:kube-system:namespace-controller", "groups": ["system:authenticated"]}


def lines_of(path: Path) -> Iterator[bytes]:
    for recording in open_all([(path, path.name)], Usage(Limits())):
        if not isinstance(recording, Skipped):
            yield from (line.data for line in recording.lines() if isinstance(line, Line))


def repeated(path: Path, times: int) -> Iterator[bytes]:
    """Yield the lines of an audit log `times` times, as `turns` does."""
    return (line for _, line in turns(path, times))


def turns(path: Path, times: int) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of an audit log `times` times, with shifted times, UIDs and revisions; each with its turn from 0.

    At the end of a turn all its objects are deleted, because the next one creates the same names again, and a name that
    is created twice without having been deleted tells that the log has holes. Namespaces stay, and are created only
    once, because the UID of kube-system tells one cluster from another.
    """
    lines = list(lines_of(path))
    found = sorted(match[0] for line in lines for match in (_TIME.search(line),) if match)
    highest = max(int(match[1]) for line in lines for match in _REVISION.finditer(line))
    if times > 1:
        deletions = _deletions(lines, _moment(found[-1]) + timedelta(seconds=1), highest)
        lines, highest = lines + deletions, highest + len(deletions)
    length = _moment(found[-1]) - _moment(found[0]) + timedelta(minutes=1)
    for turn in range(times):
        for line in lines:
            if turn == 0 or _STAYING not in line:
                yield turn, _shifted(line, turn, turn * length, turn * highest)


def write_rounds(path: Path, times: int, target: Path) -> None:
    """Write a file with an audit log `times` times. A child process would start with what is held in memory."""
    with target.open("wb") as file:
        file.writelines(line + b"\n" for line in repeated(path, times))


@contextmanager
def large(path: Path, lines: int) -> Iterator[Path]:
    """Yield a packed file with so many lines, made by repeating an audit log; for 0 lines, the log itself."""
    with tempfile.TemporaryDirectory(prefix="causeline-bench-") as folder:
        if lines:
            write(path, lines, Path(folder, "large.jsonl.zst"))
        yield Path(folder, "large.jsonl.zst") if lines else path


def write(path: Path, lines: int, target: Path) -> None:
    """Write a packed file with so many lines, made by repeating an audit log."""
    times = -(-lines // sum(1 for _ in lines_of(path)))
    pack(islice(repeated(path, times), lines), target)


def pack(lines: Iterable[bytes], target: Path) -> None:
    """Write lines to a file that is packed with zstd."""
    with target.open("wb") as file, zstandard.ZstdCompressor(level=1, threads=-1).stream_writer(file) as packed:
        for line in lines:
            packed.write(line + b"\n")


def _deletions(lines: list[bytes], at: datetime, revision: int) -> list[bytes]:
    """Return lines that delete, at this time, all objects that the log has written and not deleted."""
    left: dict[tuple[str, ...], dict[str, Any]] = {}
    for line in lines:
        if _STAYING in line:
            continue
        event = orjson.loads(line)
        reference, seen = event.get("objectRef") or {}, event.get("responseObject") or {}
        if not 200 <= (event.get("responseStatus") or {}).get("code", 0) < 300 or seen.get("kind") == "Event":
            continue
        name = reference.get("name") or (seen.get("metadata") or {}).get("name", "")
        key = (reference.get("apiGroup", ""), reference.get("resource", ""), reference.get("namespace", ""), name)
        if _is_gone(event):
            left.pop(key, None)
        elif event["verb"] in _WRITING and (seen.get("metadata") or {}).get("uid"):
            left[key] = event
    order = sorted(left.items(), key=lambda item: _FIRST.index(item[0][1]) if item[0][1] in _FIRST else len(_FIRST))
    return [_deletion(key, event, at, revision + place) for place, (key, event) in enumerate(order, 1)]


def _is_gone(event: dict[str, Any]) -> bool:
    """Return whether the object does not exist any more after a request, because it was deleted without a grace period,
    or because its last finalizer was removed."""
    metadata = (event.get("responseObject") or {}).get("metadata") or {}
    if event["verb"] == "delete" and not metadata.get("uid"):
        return True
    at_once = metadata.get("deletionGracePeriodSeconds", 0) == 0
    return bool(metadata.get("deletionTimestamp")) and at_once and not metadata.get("finalizers")


def _deletion(key: tuple[str, ...], event: dict[str, Any], at: datetime, revision: int) -> bytes:
    group, resource, namespace, name = key
    time = f"{at.isoformat()}.{revision % 1_000_000:06d}Z"
    metadata = {
        **event["responseObject"]["metadata"],
        "resourceVersion": str(revision),
        "deletionTimestamp": f"{at.isoformat()}Z",
        "deletionGracePeriodSeconds": 0,
    }
    metadata.pop("finalizers", None)
    version = event["objectRef"].get("apiVersion", "v1")
    within = f"/namespaces/{namespace}" if namespace else ""
    prefix = f"/apis/{group}/{version}" if group else f"/api/{version}"
    deletion = {
        "kind": "Event",
        "apiVersion": "audit.k8s.io/v1",
        "level": event["level"],
        "auditID": str(uuid5(NAMESPACE_OID, f"{event['auditID']} {revision}")),
        "stage": "ResponseComplete",
        "requestURI": f"{prefix}{within}/{resource}/{name}",
        "verb": "delete",
        "user": _REMOVER,
        "sourceIPs": ["127.0.0.1"],
        "userAgent": "kube-controller-manager/v1.33.0 (linux/amd64) kubernetes/namespace-controller",
        "objectRef": {field: value for field, value in event["objectRef"].items() if field != "subresource"}
        | {"name": name},
        "responseStatus": {"metadata": {}, "code": 200},
        "requestObject": {"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/__internal", "gracePeriodSeconds": 0},
        "responseObject": {**event["responseObject"], "metadata": metadata},
        "requestReceivedTimestamp": time,
        "stageTimestamp": time,
    }
    return orjson.dumps(deletion)


def _shifted(line: bytes, turn: int, by: timedelta, revisions: int) -> bytes:
    def changed(match: re.Match[bytes]) -> bytes:
        text = match[0]
        if text[0] in b'"r':
            name, mark, number = text.rpartition(b'"' if text[0] == 34 else b"=")
            return b"%s%s%d" % (name, mark, int(number) + revisions)
        return b"%08x" % (int(text, 16) ^ turn) if len(text) == 8 else _later(text, by)

    return _CHANGED.sub(changed, line) if turn else line


@cache
def _later(time: bytes, by: timedelta) -> bytes:
    return (_moment(time) + by).isoformat().encode()


def _moment(time: bytes) -> datetime:
    return datetime.fromisoformat(time.decode())

"""What a part of a log leaves out does not depend on how its lines are written, and what these tell is kept."""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from collectors.formats import Skipped, audit, read
from tests import DATA
from tests.inputs.events import event, pod
from tests.inputs.recordings import SAMPLE, lines_of
from timeline.core.entries import Entry, Observation
from timeline.history.part import Part

RECORDINGS = [SAMPLE, SAMPLE.parent / "one-pod-too-many.jsonl.zst", DATA / "benign-day.jsonl.zst"]
COMPACT = (",", ":")


def namespaces_of(lines: Sequence[bytes]) -> list[str]:
    """Return the namespaces in a log, and one that is not in it."""
    found = Counter(str((json.loads(line).get("objectRef") or {}).get("namespace", "")) for line in lines)
    return [*[name for name, _ in found.most_common(3) if name], "nothing-is-here"]


def read_part(
    folder: Path, lines: Sequence[bytes], namespace: str, processes: int = 1
) -> tuple[list[Observation | Skipped], dict[str, Any], int]:
    """Return what is read of a part of a log, what is known of the rest, and how many lines are left out."""
    path = folder / "log"
    path.write_bytes(b"\n".join(lines))
    reading = read([(path, "log")], bodies=False, processes=processes, only=Part([namespace]))
    items = list(reading)
    (left_out,) = reading.left_out
    named = [*left_out.named]
    kinds = [named[at] for at in left_out.kinds]
    known = {
        "shared": sorted(zip(*left_out.shared, left_out.replaced, kinds, strict=True)),
        "others": sorted(zip(*left_out.others, strict=True)),
        "bare": {kind: sorted(times) for kind, times in left_out.bare.items()},
        "deletions": sorted(left_out.deletions),
        "unborn": sorted(left_out.unborn()),
    }
    return items, known, left_out.lines


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda path: str(path.name))
def test_a_line_tells_the_same_whether_it_is_decoded_whole_or_not(
    recording: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = lines_of(recording)
    found = namespaces_of(lines)
    briefly = [read_part(tmp_path, lines, namespace) for namespace in found]
    monkeypatch.setattr(audit, "leaves_out", lambda line, left_out: False)
    whole = [read_part(tmp_path, lines, namespace) for namespace in found]
    assert [each[:2] for each in briefly] == [each[:2] for each in whole]


def test_several_processes_leave_out_the_same(tmp_path: Path) -> None:
    lines = lines_of(SAMPLE) * 3
    alone, together = (read_part(tmp_path, lines, "nothing-is-here", processes) for processes in (1, 2))
    assert alone == together
    assert alone[2] > 1000


def written(namespace: str, **changes: Any) -> bytes:
    """Return the line of a Pod's creation as the API server writes it."""
    reference = {"resource": "pods", "namespace": namespace, "name": "p", "apiVersion": "v1"}
    made = pod(namespace=namespace, uid=f"uid-{namespace}", creationTimestamp="2026-11-21T07:52:00Z")
    answered = {"metadata": {}, "code": 201}
    return json.dumps(
        event(objectRef=reference, responseStatus=answered, responseObject=made, **changes), separators=COMPACT
    ).encode()


SHOP, OTHER = written("shop"), written("other")


@pytest.mark.parametrize(
    "line",
    [
        SHOP.replace(b'"shop"', rb'"\u0073hop"'),
        SHOP.replace(b'"namespace":"shop"', rb'"n\u0061mespace":"shop"'),
        SHOP.replace(b'"objectRef":{', b'"objectRef" : {'),
        SHOP.replace(b'"somebody"', rb'"\"objectRef\":{\"resource\":\"pods\",\"namespace\":\"other\""'),
        json.dumps(json.loads(SHOP), sort_keys=True).encode(),
    ],
)
def test_how_a_line_is_written_does_not_matter(line: bytes, tmp_path: Path) -> None:
    items, _, left_out = read_part(tmp_path, [OTHER, line, OTHER], "shop")
    (entry,) = items
    assert isinstance(entry, Entry)
    assert entry.ref.namespace == "shop"
    assert entry.place is not None
    assert entry.place.line == 2
    assert left_out == 2


def test_what_is_about_the_cluster_is_read_for_every_part(tmp_path: Path) -> None:
    node = {"resource": "nodes", "name": "n1", "apiVersion": "v1"}
    lease = {"resource": "leases", "namespace": "other", "name": "l", "apiGroup": "coordination.k8s.io"}
    lines = [
        json.dumps(event(objectRef=each, responseObject=None, auditID=str(number)), separators=COMPACT).encode()
        for number, each in enumerate((node, {**lease, "apiVersion": "v1"}))
    ]
    items, _, _ = read_part(tmp_path, [*lines, OTHER], "shop")
    assert [item.ref.kind for item in items if isinstance(item, Entry)] == ["Node", "Lease"]


def test_a_write_that_changes_nothing_leaves_nothing(tmp_path: Path) -> None:
    dry = written("other", requestURI="/api/v1/namespaces/other/pods?dryRun=All")
    refused = OTHER.replace(b'"code":201', b'"code":409')
    listed = OTHER.replace(b'"verb":"create"', b'"verb":"list"')
    _, known, _ = read_part(tmp_path, [SHOP, dry, refused, listed], "shop")
    assert not any(known.values())


def test_other_formats_beside_a_log_are_read_whole_with_it(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(OTHER)
    (tmp_path / "pod.json").write_text(json.dumps(pod()))
    paths = [(tmp_path / name, name) for name in ("log", "pod.json")]
    reading = read(paths, bodies=False, only=Part(["shop"]))
    assert [item.ref.namespace for item in reading if isinstance(item, Entry)] == ["other"]
    assert (reading.only, reading.left_out) == (None, [])


def test_a_folder_is_read_whole(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(OTHER)
    reading = read([(tmp_path, "folder")], bodies=False, only=Part(["shop"]))
    assert len([item for item in reading if isinstance(item, Entry)]) == 1

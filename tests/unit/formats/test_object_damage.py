"""These tests damage recordings of objects: each is read or refused with a message, and never crashes."""

import json
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.formats import Limits, NotARecording, Skipped
from tests.objects import documents, items_of, listed, made, real, watch
from tests.properties import examples
from timeline.core.entries import Entry

SAMPLES = ("services-w.json", "services-w.yaml", "pods.json", "pods.yaml", "watch/services.jsonl", "dump.txt", "made")
BITS = (b'"', b"{", b"}", b"[", b"]", b"\n", b",", b":", b"\\", b"\0", b"\xff", b"- ", b"---\n", b"*a", b"&a ", b"===")
LIMITS = Limits(line_bytes=1 << 20)


@cache
def sample(name: str) -> bytes:
    """Return a short part of a file, so that damage hits what matters."""
    if name != "made":
        return real(name)[:20_000]
    about = {"involvedObject": {"kind": "Pod", "name": "p"}, "reason": "LeaderElection"}
    event = {**made("e", 5), "kind": "Event", **about}
    return listed(made("a", 1), event) + documents(made("b", 2), {"apiVersion": "v1", "kind": "Status", "code": 410})


def read(content: bytes) -> list[Entry | Skipped]:
    try:
        return items_of(content, bodies=True, limits=LIMITS)
    except NotARecording:
        return []


@pytest.mark.parametrize("name", SAMPLES)
@examples(4)
@given(data=st.data())
def test_damaged_bytes_are_skipped_with_their_place(name: str, data: st.DataObject) -> None:
    content = bytearray(sample(name))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content)))
        gone = data.draw(st.sampled_from((0, 1, 5, 500)))
        content[at : at + gone] = data.draw(st.one_of(st.sampled_from(BITS), st.binary(max_size=8)))
    for item in read(bytes(content)):
        if isinstance(item, Skipped):
            assert item.reason and len(item.reason) < 500
            assert 0 <= item.line <= content.count(b"\n") + 1
        else:
            assert item.ref.name and item.place and 0 < item.place.line <= content.count(b"\n") + 1


SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=5))
ANYTHING = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner)
)
FIELDS = ("apiVersion", "kind", "metadata", "type", "object", "items", "series", "spec", "status", "eventTime", "data")
METADATA = ("managedFields", "resourceVersion", "uid", "name", "namespace", "creationTimestamp", "ownerReferences")


@examples(10)
@given(
    fields=st.dictionaries(st.sampled_from(FIELDS), ANYTHING, max_size=3),
    metadata=st.dictionaries(st.sampled_from(METADATA), ANYTHING, max_size=3),
    kind=st.sampled_from(("ConfigMap", "Pod", "Event", "Lease", "Job", "Widget")),
)
def test_fields_of_any_type_kill_nothing(fields: dict[str, object], metadata: dict[str, object], kind: str) -> None:
    odd = {**made("odd", 5), "kind": kind}
    odd = {**odd, "metadata": {**odd["metadata"], **metadata}, **fields}
    good = made("good", 9)
    for content in (watch(("ADDED", odd), ("ADDED", good)), documents(good, odd), listed(odd, good)):
        assert "good" in {item.ref.name for item in read(content) if not isinstance(item, Skipped)}
    bookmark = watch(("ADDED", good), ("BOOKMARK", odd), ("ERROR", odd), ("DELETED", odd))
    assert len(read(bookmark)) >= 2
    assert json.loads(listed(odd))

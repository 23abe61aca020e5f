"""These tests read damaged input and arbitrary mixtures: the result is entries, skipped pieces or a refusal, and never
a crash."""

import gzip
import json
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from collectors.analysis import analyse
from collectors.formats import Limits, NotARecording, Skipped, own, read
from tests import DATA
from tests.inputs.events import entries_of
from tests.inputs.events import real as real_lines
from tests.inputs.objects import documents, listed, made, real, watch
from tests.inputs.wrapping import WRAPPERS
from tests.patience import processor_seconds
from tests.properties import examples
from tests.unit.formats.reading import observed
from tests.unit.formats.stream.test_damage import PACKS, WAYS, damaged
from tests.unit.formats.test_admission_format import review
from tests.unit.formats.test_otlp_format import PACKINGS, logs
from timeline.core.entries import Entry

LIMITS = Limits(line_bytes=1 << 20, content_bytes=16 << 20, members=100)
SECONDS = 5  # of processor time for one input
OBJECTS = ("services-w.json", "services-w.yaml", "pods.json", "pods.yaml", "watch/services.jsonl", "dump.txt")


@cache
def of_objects() -> tuple[bytes, ...]:
    """Return a short part of each recording of objects, so that damage hits what matters."""
    about = {"involvedObject": {"kind": "Pod", "name": "p"}, "reason": "LeaderElection"}
    event = {**made("e", 5), "kind": "Event", **about}
    several = documents(made("b", 2), {"apiVersion": "v1", "kind": "Status", "code": 410})
    some = [listed(made("a", 1), event), several, watch(("ADDED", made("c", 3)))]
    return (*some, *(real(name)[:20_000] for name in OBJECTS))


@cache
def snippets() -> tuple[bytes, ...]:
    """Return a few lines of every format, and of the ways to pack them."""
    lines = real_lines("restart.jsonl")[:3]
    found = [wrap([line.decode() for line in lines]).encode() for _, wrap in WRAPPERS.values()]
    found.append(b"".join(own.write(entries_of(*lines))))
    samples = ["kwok/recording.yaml", "kubectl-events/wide.txt", "event-exporter/events.json", "wrappers/gke.json"]
    found += [(DATA / name).read_bytes() for name in samples]
    export = logs({"type": "ADDED", "object": made("a", 7)})
    found += [pack([export, export]) for name, pack in PACKINGS.items() if "proto" in name or name == "json on lines"]
    found.append(json.dumps(review(False)).encode() + b"\n")
    found += [pack(b"".join(line + b"\n" for line in lines)) for pack, _ in PACKS.values()]
    return (*found, *of_objects()[:3])


def check(content: bytes, lines: int = 1 << 60, judge: bool = True) -> None:
    """Assert that the content, which has so many lines, is read and judged, or refused in words."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(content)
        file.flush()
        inputs = [(Path(file.name), "input")]
        try:
            for item in read(inputs, bodies=True, limits=LIMITS):
                if isinstance(item, Skipped):
                    assert item.reason and len(str(item)) < 1_000 and 0 <= item.line <= lines
                elif isinstance(item, Entry):
                    assert item.ref.kind and item.ref.name and item.place and 0 < item.place.line <= lines
            if judge:
                analyse(inputs, LIMITS).document()
        except NotARecording as refused:
            assert str(refused).endswith(".")


BITS = [b'"', b"{", b"}", b"[", b"]", b"\n", b",", b":", b"\\", b"\0", b"\xff", b"- ", b"---\n", b"*a", b"&a ", b"==="]
EXTRA = st.binary(min_size=1, max_size=40) | st.sampled_from(BITS)
HITS = st.lists(st.tuples(st.floats(0, 1, exclude_max=True), WAYS, EXTRA), min_size=1, max_size=4)


@examples(100)
@given(st.sampled_from(snippets() + of_objects() * 4), HITS)
def test_what_is_damaged_is_read_or_refused_in_words(content: bytes, hits: list[tuple[float, str, bytes]]) -> None:
    plain = content in of_objects()
    for place, way, extra in hits:
        content = damaged(content, int(place * len(content)), way, extra) or b"x"
    check(content, content.count(b"\n") + 1 if plain else 1 << 60, judge=False)


NOISE = st.one_of(
    st.binary(max_size=30),
    st.sampled_from([b"\n", b"---\n", b"{", b"}", b"[", b'{"items":[', b"]}", b",", b'"', b"\0" * 600, b"items:\n- "]),
    st.lists(st.none() | st.integers() | st.text(max_size=4), max_size=3).map(json.dumps).map(str.encode),
)


@st.composite
def mixtures(draw: st.DrawFn) -> bytes:
    parts = []
    for _ in range(draw(st.integers(1, 4))):
        whole = draw(st.sampled_from(snippets()))
        start, end = sorted(draw(st.tuples(st.integers(0, len(whole)), st.integers(0, len(whole)))))
        parts += [draw(st.sampled_from([whole, whole[start:], whole[start:end]])), draw(NOISE)]
    return b"".join(parts)


@examples(15, suppress_health_check=[HealthCheck.data_too_large])
@given(content=mixtures(), packed=st.booleans())
def test_any_mixture_is_read_and_judged_or_refused(content: bytes, packed: bool) -> None:
    assert processor_seconds(lambda: check(gzip.compress(content, 1) if packed else content)) < SECONDS


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
def test_fields_of_any_type_hide_no_other_object(fields: dict[str, Any], metadata: dict[str, Any], kind: str) -> None:
    odd = {**made("odd", 5), "kind": kind}
    odd = {**odd, "metadata": {**odd["metadata"], **metadata}, **fields}
    good = made("good", 9)
    for content in (watch(("ADDED", odd), ("ADDED", good)), documents(good, odd), listed(odd, good)):
        assert "good" in {item.ref.name for item in observed(content, True, LIMITS) if isinstance(item, Entry)}
    bookmark = watch(("ADDED", good), ("BOOKMARK", odd), ("ERROR", odd), ("DELETED", odd))
    assert len(observed(bookmark, True, LIMITS)) >= 2

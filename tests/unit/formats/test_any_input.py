"""These tests read arbitrary mixtures of input: the result is entries, skipped pieces or a refusal, and never a
crash."""

import gzip
import json
import tempfile
import time
from functools import cache
from pathlib import Path

from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from collectors.analysis import analyse
from collectors.formats import Limits, NotARecording, Skipped, own, read
from tests import DATA
from tests.events import entries_of
from tests.events import real as real_lines
from tests.objects import check_damaged, documents, listed, made, watch
from tests.properties import examples
from tests.unit.formats.test_admission_format import review
from tests.unit.formats.test_otlp_format import PACKINGS, logs
from tests.wrapping import WRAPPERS
from timeline.core.entries import Entry

LIMITS = Limits(line_bytes=1 << 20, content_bytes=16 << 20, members=100)
SECONDS = 5  # of processor time for one input


@cache
def snippets() -> tuple[bytes, ...]:
    """Return a few lines of every format, and of the ways to pack them."""
    lines = [line.decode() for line in real_lines("restart.jsonl")[:3]]
    found = [wrap(lines).encode() for _, wrap in WRAPPERS.values()]
    found += [listed(made("a", 1)), documents(made("b", 2)), watch(("ADDED", made("c", 3)))]
    found.append(b"".join(own.write(entries_of(*real_lines("restart.jsonl")[:3]))))
    samples = ["kwok/recording.yaml", "kubectl-events/wide.txt", "event-exporter/events.json", "wrappers/gke.json"]
    found += [(DATA / name).read_bytes() for name in samples]
    export = logs({"type": "ADDED", "object": made("a", 7)})
    found += [pack([export, export]) for name, pack in PACKINGS.items() if "proto" in name or name == "json on lines"]
    found.append(json.dumps(review(False)).encode() + b"\n")
    found.append(gzip.compress(found[0]))
    return tuple(found)


NOISE = st.one_of(
    st.binary(max_size=30),
    st.sampled_from([b"\n", b"---\n", b"{", b"}", b"[", b'{"items":[', b"]}", b",", b'"', b"\0" * 600, b"items:\n- "]),
    st.recursive(
        st.none() | st.integers() | st.text(max_size=4), lambda inner: st.lists(inner, max_size=3), max_leaves=9
    )
    .map(json.dumps)
    .map(str.encode),
)


@st.composite
def mixtures(draw: st.DrawFn) -> bytes:
    parts = []
    for _ in range(draw(st.integers(1, 4))):
        whole = draw(st.sampled_from(snippets()))
        start, end = sorted(draw(st.tuples(st.integers(0, len(whole)), st.integers(0, len(whole)))))
        parts += [draw(st.sampled_from([whole, whole[start:], whole[start:end]])), draw(NOISE)]
    return b"".join(parts)


@examples(40)
@given(st.sampled_from(snippets()), st.tuples(st.floats(0, 1), st.floats(0, 1)), st.binary(max_size=40))
def test_damage_anywhere_ends_no_reading(content: bytes, cut: tuple[float, float], noise: bytes) -> None:
    check_damaged(content, cut, noise)


@examples(15, suppress_health_check=[HealthCheck.data_too_large])
@given(content=mixtures(), packed=st.booleans())
def test_any_mixture_is_read_and_judged_or_refused(content: bytes, packed: bool) -> None:
    began = time.process_time()
    with tempfile.NamedTemporaryFile() as file:
        file.write(gzip.compress(content, 1) if packed else content)
        file.flush()
        inputs = [(Path(file.name), "input")]
        try:
            for item in read(inputs, bodies=True, limits=LIMITS):
                if isinstance(item, Skipped):
                    assert item.reason and len(str(item)) < 1_000
                elif isinstance(item, Entry):
                    assert item.ref.kind and item.place
            analyse(inputs, LIMITS).document()
        except NotARecording as refused:
            assert str(refused).endswith(".")
    assert time.process_time() - began < SECONDS

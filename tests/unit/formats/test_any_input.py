"""These tests read arbitrary mixtures of input: the result is entries, skipped pieces or a refusal, and never a
crash."""

import gzip
import json
import tempfile
import time
from functools import cache
from pathlib import Path

from google.protobuf.json_format import ParseDict
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from opentelemetry.proto.logs.v1.logs_pb2 import LogsData

from collectors.analysis import analyse
from collectors.formats import Limits, NotARecording, Skipped, own, read
from tests import DATA
from tests.events import entries_of
from tests.events import real as real_lines
from tests.objects import documents, listed, made, watch
from tests.properties import examples
from tests.unit.formats.test_admission_format import review
from tests.wrapping import WRAPPERS
from timeline.core.entries import Entry

LIMITS = Limits(line_bytes=1 << 20, content_bytes=16 << 20, members=100)
SECONDS = 5  # of processor time for one input


@cache
def snippets() -> tuple[bytes, ...]:
    """Return a few lines of every format, and of every way to compress one."""
    lines = [line.decode() for line in real_lines("restart.jsonl")[:3]]
    found = [wrap(lines).encode() for _, wrap in WRAPPERS.values()]
    found += [listed(made("a", 1)), documents(made("b", 2)), watch(("ADDED", made("c", 3)))]
    found.append(b"".join(own.write(entries_of(*real_lines("restart.jsonl")[:3]))))
    samples = ("otlp/k8sobjects.json", "kwok/recording.yaml", "kubectl-events/wide.txt", "event-exporter/events.json")
    found += [(DATA / name).read_bytes() for name in samples]
    found.append(ParseDict(json.loads(found[-4].splitlines()[0]), LogsData()).SerializeToString())
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

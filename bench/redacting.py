"""Measure how long the redaction of an object takes.

    python -m bench.redacting [FILE] [--rounds 20] [--runs 5]

FILE is an audit log with objects; without it, the sample is repeated. Each run redacts the objects of all answers in
their order, from empty caches, next to a bare loop of `orjson.loads` over the same objects.
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import orjson

from bench.figures import SAMPLE, Figure, show
from bench.larger import lines_of, write_rounds
from collectors.redaction import current, redact_json, use


class _Reference(msgspec.Struct):
    subresource: str = ""


class _Event(msgspec.Struct):
    responseObject: msgspec.Raw = msgspec.Raw(b"")
    objectRef: _Reference | None = None


class _Kind(msgspec.Struct):
    kind: str = ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--rounds", type=int, default=20, help="of the sample")
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = options.file or Path(folder, "sample.jsonl")
        if not options.file:
            write_rounds(SAMPLE, options.rounds, path)
        show(measure(list(objects_of(path)), options.runs))


def objects_of(path: Path) -> Iterator[tuple[bytes, str]]:
    """Yield the JSON and the kind of each object in the answers of an audit log."""
    for line in lines_of(path):
        event = msgspec.json.decode(line, type=_Event)
        if body := bytes(event.responseObject):
            kind = msgspec.json.decode(body, type=_Kind).kind
            if kind not in {"", "Status"}:
                yield body, kind


def measure(objects: list[tuple[bytes, str]], runs: int) -> Iterator[Figure]:
    """Yield the microseconds that an object takes, and how the redaction of all stands to the bare loop."""
    rows = [(_seconds(lambda: _redact(objects)), _seconds(lambda: _load(objects))) for _ in range(runs)]
    loops = tuple(loop for _, loop in rows)
    size = sum(len(body) for body, _ in objects) / len(objects)
    took = tuple(1e6 * seconds / len(objects) for seconds, _ in rows)
    what = f"redaction of an object, mean of {len(objects)} of {size:.0f} bytes"
    yield Figure(what, took, "µs", 10, at_most=True, loops=loops)
    ratios = tuple(seconds / loop for seconds, loop in rows)
    yield Figure("redaction ÷ loop over the same objects", ratios, at_most=True)


def _redact(objects: list[tuple[bytes, str]]) -> None:
    use(current())  # forgets what was redacted before
    for body, kind in objects:
        redact_json(body, kind)


def _load(objects: list[tuple[bytes, str]]) -> None:
    for body, _ in objects:
        orjson.loads(body)


def _seconds(work: Callable[[], None]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


if __name__ == "__main__":
    main()

"""Measure how long it takes to compare two owners with many children in a large recording.

    python -m bench.comparing [--size 1000000] [--children 1000] [--rounds 10] [--data-dir D]

The sample is repeated until there are so many lines. Two Jobs with so many Pods are spread over all of it, since that
is the worst case: their entries lie far apart. With --data-dir the recording stays there for the next run.
"""

import argparse
import statistics
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import zstandard

from bench.database import prepared_database
from bench.figures import SAMPLE
from bench.larger import lines_of, repeated
from bench.windows import import_recording

_FIRST = 100_000_000  # the first revision of the two Jobs, which is higher than all others
_STEPS = ("Pending", "Pending", "Running", "Running", "Succeeded")
_BEGINS = 1_795_247_520  # 2026-11-21T07:52:00Z, about when the sample begins


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=1_000_000)
    parser.add_argument("--children", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--data-dir", type=Path)
    options = parser.parse_args()
    with prepared_database(options.data_dir) as folder:
        measure(options.size, options.children, options.rounds, folder)


def measure(size: int, children: int, rounds: int, folder: Path) -> None:

    from timeline.models import Source, Track
    from timeline.queries.objects import comparing
    from timeline.queries.objects.comparing import Chosen

    name = f"comparing {size} {children}"
    if not Source.objects.filter(name=name, ready=True).exists():
        path = folder / "large.jsonl.zst"
        with path.open("wb") as file, zstandard.ZstdCompressor(level=1, threads=-1).stream_writer(file) as packed:
            for line in _lines(size, children):
                packed.write(line + b"\n")
        import_recording(path, name)
    source = Source.objects.get(name=name, ready=True)
    good, bad = (
        Chosen(source.pk, Track.objects.get(source=source, kind="Job", name=each).id) for each in ("good", "bad")
    )
    took, busy = [], []
    for _ in range(rounds):
        began, worked = time.perf_counter(), time.process_time()
        found = comparing.compare([good], bad)
        took.append(time.perf_counter() - began)
        busy.append(time.process_time() - worked)
    print(
        f"{source.entries} changes; two owners of {children} children: {statistics.median(took):.2f} s, at most"
        f" {max(took):.2f} s; {statistics.median(busy):.2f} s of processor time without PostgreSQL"
        f" ({rounds} times, {found['differences']} differences)"
    )


def _lines(size: int, children: int) -> Iterator[bytes]:
    """Yield the lines of the sample, repeated, with those of the two Jobs at even distances between them."""
    lines = list(_jobs(children))
    times = -(-size // sum(1 for _ in lines_of(SAMPLE)))
    every = max(1, (size - len(lines)) // len(lines))
    for number, line in enumerate(repeated(SAMPLE, times)):
        if number % every == 0 and lines:
            yield lines.pop()
        if number == size - len(lines):
            break
        yield line
    yield from lines


def _jobs(children: int) -> Iterator[bytes]:
    """Yield the audit events of the two Jobs, the last one first."""
    made = [_event("jobs", "batch", "Job", job, job, 0, "", job) for job in ("good", "bad")]
    for phase in range(len(_STEPS)):
        for number in range(children):
            for job in ("good", "bad"):
                made.append(_event("pods", "", "Pod", f"{job}-{number}-x7k2p", job, phase, job, f"{job}{number}"))
    for at in range(len(made) - 1, -1, -1):
        yield msgspec.json.encode(_dated(made[at], at))


def _event(
    resource: str, group: str, kind: str, name: str, job: str, phase: int, owner: str, uid: str
) -> dict[str, object]:
    version = f"{group}/v1" if group else "v1"
    metadata: dict[str, object] = {"name": name, "namespace": "bench", "uid": f"uid-{uid}", "labels": {"job": job}}
    if owner:
        reference = {"apiVersion": "batch/v1", "kind": "Job", "name": owner, "uid": f"uid-{owner}", "controller": True}
        metadata["ownerReferences"] = [reference]
    containers = [{"name": f"c{number}", "image": "app:1", "args": ["x" * 200]} for number in range(3)]
    body = {
        "kind": kind,
        "apiVersion": version,
        "metadata": metadata,
        "spec": {"containers": containers, "parallelism": 10},
        "status": {"phase": _STEPS[phase]} if kind == "Pod" else {},
    }
    reference = {"resource": resource, "namespace": "bench", "name": name, "apiGroup": group, "apiVersion": "v1"}
    return {
        "kind": "Event",
        "apiVersion": "audit.k8s.io/v1",
        "level": "RequestResponse",
        "auditID": f"{uid}-{phase}",
        "stage": "ResponseComplete",
        "requestURI": f"/apis/{version}/namespaces/bench/{resource}",
        "verb": "update" if phase else "create",
        "user": {"username": "somebody"},
        "userAgent": "kube-controller-manager/v1.36.0 (linux/amd64)",
        "objectRef": reference,
        "responseStatus": {"code": 200 if phase else 201},
        "responseObject": body,
    }


def _dated(event: dict[str, object], at: int) -> dict[str, object]:
    """Return the event with its times and its revision, which make it the one with this number."""
    body = event["responseObject"]
    assert isinstance(body, dict)
    body["metadata"] |= {
        "resourceVersion": str(_FIRST + at),
        "creationTimestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(_BEGINS + at)),
    }
    clock = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(_BEGINS + at))
    return event | {"requestReceivedTimestamp": f"{clock}.000001Z", "stageTimestamp": f"{clock}.004001Z"}


if __name__ == "__main__":
    main()

"""Declare the metrics that a process measures while it ingests and judges changes.

A worker has no port of its own: `dashboard.metrics.processes` writes its metrics to PostgreSQL, and the web process
adds up those of all processes. Pure modules do not measure anything; their callers do.
"""

from prometheus_client import CollectorRegistry, Counter, Histogram

REGISTRY = CollectorRegistry()

JUDGE_SECONDS = Histogram(
    "causeline_judge_seconds",
    "Time that judging took, for each import, commit of a live source, or repeated judgement.",
    ["cause"],
    buckets=(0.001, 0.005, 0.02, 0.1, 0.5, 2, 10, 60, 300),
    registry=REGISTRY,
)
INGESTED_CHANGES = Counter(
    "causeline_ingested_changes",
    "Changes that were new to their source and were committed.",
    ["how"],
    registry=REGISTRY,
)
INGESTED_BYTES = Counter(
    "causeline_ingested_bytes",
    "Bytes of uploaded files that became part of a recording, as they were sent.",
    ["how"],
    registry=REGISTRY,
)

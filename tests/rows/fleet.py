"""This module writes rows of many clusters and recordings with incidents, for tests of lists; it stores no changes."""

from datetime import UTC, datetime, timedelta
from typing import Any

from timeline.models import Cluster, Delta, Incident, Source, Stream

_SERVER = "https://10.0.0.1:6443"
USUAL: dict[str, Any] = {  # columns of an incident
    "rule": "service-gap",
    "rank": 0,
    "status": "confirmed",
    "group": "",
    "kind": "Service",
    "namespace": "shop",
    "name": "ring",
    "title": "Service ring was deleted while its Pods were running",
    "subjects": 1,
    "names": ["ring"],
    "findings": 1,
    "occurrences": 1,
    "open": False,
    "times": [],
    "effect": "possible",
    "effect_text": "Harm is possible.",
    "actors": [],
    "advice": [],
    "roots": [],
    "words": "",
}


def incident(source: Source, identity: str, *, ago: float = 0, rank: int = 0, **columns: Any) -> Incident:
    """Store an incident of two findings, whose last occurrence was some seconds ago."""
    last = datetime.now(UTC) - timedelta(seconds=ago)
    about = {"title": f"Service {identity} was away under its running Pods", "namespace": "batch", "worst": identity}
    times = {"first": last - timedelta(minutes=10), "last": last}
    more = {"findings": 2, "occurrences": 3, "actors": ["controller"], "effect": "observed", "words": identity}
    given: dict[str, Any] = {**USUAL, **about, **times, **more, "effect_text": "", "rank": rank, **columns}
    return Incident.objects.create(source=source, identity=identity, **given)


def recording(name: str, **columns: Any) -> Source:
    """Store a recording whose last change is a week old."""
    last = datetime.now(UTC) - timedelta(days=7)
    usual: dict[str, Any] = {"ready": True, "entries": 775, "first": last - timedelta(minutes=2), "last": last}
    return Source.objects.create(name=name, **{**usual, **columns})


def cluster(name: str, state: str = "live", *, ago: float = 3, **columns: Any) -> tuple[Cluster, Source]:
    """Store a cluster that a worker watches, and its source, whose last batch came some seconds ago."""
    now = datetime.now(UTC)
    held: dict[str, Any] = {"holder": "worker", "expires_at": now + timedelta(hours=1)}
    held["reference"] = {"how": "stored", "path": "", "context": "", "server": _SERVER}
    if state == "failing":
        held |= {"error": f"{_SERVER} refuses the connection.", "error_at": now}
    row = Cluster.objects.create(name=name, state=state, **{**held, **columns})
    source = recording(name, last=now - timedelta(seconds=ago), cluster=row, inputs=[name], sequence=1)
    Cluster.objects.filter(pk=row.pk).update(source=source)
    changed = {"tracks": [], "findings": [], "gone": [], "entries": 5, "lag": 120_000}
    Delta.objects.create(source=source, sequence=1, at=now - timedelta(seconds=ago), changed=changed)
    for resource in ("pods", "services"):
        kinds = {"group": "", "version": "v1", "kind": resource, "resource": resource, "state": "watching"}
        Stream.objects.create(source=source, **kinds)
    row.refresh_from_db()
    return row, source


def fill(clusters: int, recordings: int, incidents: int = 3) -> None:
    """Store clusters and recordings. Some clusters cannot be reached, and some have incidents that go on."""
    for number in range(clusters):
        state = "failing" if number % 4 == 2 else "live"
        _, source = cluster(f"prod-{number}", state, ago=number, paused=number % 7 == 5)
        for each in range(incidents if number % 2 == 0 else 0):
            incident(source, f"c{number}i{each}", ago=60 + 400 * each, rank=each % 3)
    for number in range(recordings):
        source = recording(f"audit-{number}")
        for each in range(incidents):
            incident(source, f"r{number}i{each}", ago=86_400 * 7 + each, rank=1 + each % 2)

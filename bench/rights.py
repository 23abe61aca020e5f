"""Measure what it costs to read and to ask the roles of somebody who has many grants.

    python -m bench.rights [--grants 200] [--turns 300] [--data-dir D]

An account has so many grants, half of them by groups, on namespaces of 20 clusters, and sees the sample whole. Printed
are the queries and the median time of reading the roles, as each request does once, of deciding by the table about one
address, and of a request for a window of the sample, for comparison.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.database import prepared_database
from bench.figures import SAMPLE
from bench.windows import import_recording

CLUSTERS = 20
GROUPS = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--grants", type=int, default=200)
    parser.add_argument("--turns", type=int, default=300)
    parser.add_argument("--data-dir", type=Path)
    options = parser.parse_args()
    with prepared_database(options.data_dir, CAUSELINE_LOGIN="on"):
        measure(options.grants, options.turns)


def measure(count: int, turns: int) -> None:
    from django.contrib.auth.models import User
    from django.db import connection
    from django.test import Client, RequestFactory
    from django.test.utils import CaptureQueriesContext
    from django.urls import resolve

    from dashboard.access.roles import grants, policy

    user = User.objects.create_user(f"bench-{time.time_ns()}")
    source = prepared(user, count)
    with CaptureQueriesContext(connection) as asked:
        grants.read(user.pk)
    queries = len(asked)
    path = f"/api/sources/{source}/window"

    def decide() -> None:
        request = RequestFactory().get(path)
        request.user, request.resolver_match = user, resolve(path)
        policy.check(request)

    client = Client(headers={"host": "localhost"})
    client.force_login(user)
    read = _median(lambda: grants.read(user.pk), turns)
    decided, made = _median(decide, turns), _median(lambda: RequestFactory().get(path) and resolve(path), turns)
    window = _median(lambda: client.get(path), max(20, turns // 10))
    began = time.process_time()
    for _ in range(turns):
        grants.read(user.pk)
    used = (time.process_time() - began) * 1000 / turns
    print(
        f"{count} grants: roles are read with {queries} query in {read:.2f} ms, {used:.2f} ms of them in this process"
    )
    print(f"deciding about an address: {max(0, decided - made):.3f} ms")
    share = (read + decided - made) / window
    print(f"request for a window of the sample: {window:.1f} ms, of which roles are {share:.1%}")


def prepared(user: Any, count: int) -> int:
    """Give a user so many grants on namespaces of clusters, half of them by groups, and a role on the sample.

    Return the source of the sample.
    """
    from django.contrib.auth.models import Group

    from dashboard.models import Grant
    from timeline.models import Cluster, Source

    name = "bench of rights"
    if not (sample := Source.objects.filter(name=name, ready=True).first()):
        import_recording(SAMPLE, name)
        sample = Source.objects.get(name=name, ready=True)
    clusters = [Cluster.objects.get_or_create(name=f"bench-{number}")[0] for number in range(CLUSTERS)]
    for cluster in clusters:
        if not cluster.sources.exists():
            Source.objects.create(name=cluster.name, ready=True, cluster=cluster)
    groups = [Group.objects.get_or_create(name=f"bench-{user.pk}-{number}")[0] for number in range(GROUPS)]
    user.groups.add(*groups)
    for number in range(count):
        whose = {"group": groups[number % GROUPS]} if number % 2 else {"user": user}
        Grant.objects.create(
            role="viewer",
            cluster=clusters[number % CLUSTERS],
            namespaces=[f"team-{number}"],
            created_by="bench",
            **whose,
        )
    Grant.objects.create(role="viewer", user=user, source=sample, created_by="bench")
    return sample.pk


def _median(ask: Callable[[], object], turns: int) -> float:
    """Return the median time in milliseconds."""
    took = []
    for _ in range(turns):
        began = time.perf_counter()
        ask()
        took.append((time.perf_counter() - began) * 1000)
    return statistics.median(took)


if __name__ == "__main__":
    main()

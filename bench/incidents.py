"""Measure how long pages, lists and commits take for a source with very many findings, and for a small one.

    python -m bench.incidents [--findings 100000] [--incidents 500] [--rounds 20]

The sample is imported into a PostgreSQL of its own. One source gets further findings up to 1000 in 100 incidents, with
which every list is full, and another one as many as the options say, as copies of a finding of the sample. The bench
asks for pages and answers of the API of both in turn. Then it commits changes of one finding in turn: of an incident
with 10 findings, and of one with a fifth of all findings. It prints medians and 95th percentiles, and their ratios.
"""

import argparse
import os
import secrets
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from bench.figures import SAMPLE
from dashboard.cli.terminal import say
from dashboard.services import Supervisor
from dashboard.services.launcher import served

if TYPE_CHECKING:
    from timeline.history.world.world import World
    from timeline.models import Finding, Source

_SMALL = 1000, 100  # findings and incidents of the small source
_STEP = 1_000_000  # µs between two copies of the finding
_RULE = "service-gap"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--findings", type=int, default=100_000)
    parser.add_argument("--incidents", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args()
    token = secrets.token_hex(32)
    with (
        tempfile.TemporaryDirectory() as folder,
        Supervisor(say) as supervisor,
        served(Path(folder, "data").absolute(), supervisor, join=True) as variables,
    ):
        os.environ.update(variables, CAUSELINE_LOGIN="token", CAUSELINE_TOKEN=token)
        measure((options.findings, options.incidents), options.rounds, token)


def measure(large: tuple[int, int], rounds: int, token: str) -> None:
    import django

    django.setup()
    from django.core.management import call_command
    from django.db import connection
    from django.test import Client

    call_command("migrate", verbosity=0)
    client = Client(headers={"Authorization": f"Bearer {token}", "Host": "localhost"})
    sources = []
    for findings, incidents in (_SMALL, large):
        began = time.perf_counter()
        sources.append(_source(findings, incidents))
        print(f"{findings} findings in {incidents} incidents: stored in {time.perf_counter() - began:.1f} s")
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    for name, path in _PATHS.items():
        _compare(name, [_asked(client, path, source) for source, _ in sources], rounds)
    few = _commits(*_grown(10))
    many = _commits(*_grown(large[0] // 5))
    _compare(f"a commit in an incident of {large[0] // 5} findings, and of 10", [few, many], rounds)


_PATHS = {
    "the timeline": "/sources/{source}/",
    "its overview": "/api/sources/{source}/overview",
    "a window of 40 lanes": "/api/sources/{source}/window?start=0&end=2000000000000000",
    "the page of incidents": "/sources/{source}/incidents/",
    "the list of incidents": "/api/sources/{source}/incidents?limit=10",
    "the list of findings": "/api/sources/{source}/findings?limit=20",
    "the page of an incident": "/sources/{source}/incidents/{incident}/",
    "the page of a finding": "/sources/{source}/findings/{finding}/",
    "the page of an object": "/sources/{source}/objects/{track}/",
    "a search": "/api/sources/{source}/search?q=ring",
    "the report as Markdown": "/sources/{source}/report?format=md",
}


def _compare(name: str, calls: list[Callable[[], object]], rounds: int) -> None:
    """Print how long the calls take at the median and the 95th percentile, made in turn, and the ratios."""
    took: list[list[float]] = [[], []]
    for turn in range(rounds + 2):
        for call, times in zip(calls, took, strict=True):
            began = time.perf_counter()
            call()
            if turn >= 2:  # the first ones warm the caches
                times.append((time.perf_counter() - began) * 1000)
    words = []
    for what, number in (("median", statistics.median), ("p95", lambda times: statistics.quantiles(times, n=20)[-1])):
        small, large = map(number, took)
        words.append(f"{what} {small:.1f} ms with few findings, {large:.1f} ms with many: {large / small:.2f}")
    print(f"{name}: {'; '.join(words)}")


def _asked(client: Any, path: str, source: "Source") -> Callable[[], object]:
    from timeline.models import Finding, Incident

    incident = Incident.objects.filter(source=source, rule=_RULE).order_by("-findings", "identity").first()
    finding = Finding.objects.filter(source=source, rule=_RULE).order_by("identity").first()
    assert incident and finding
    words = {"source": source.pk, "incident": incident.identity, "finding": finding.identity, "track": finding.subject}

    def ask() -> None:
        answer = client.get(path.format(**words))
        assert answer.status_code == 200 and answer.content, (path, answer.status_code)

    return ask


def _source(findings: int, incidents: int) -> "tuple[Source, World]":
    """Import the sample, and add copies of a finding until there are so many findings in so many incidents."""
    from django.db import transaction
    from psycopg import sql

    from collectors.formats import Skipped, read
    from timeline.history.world.world import World
    from timeline.models import Finding, Incident
    from timeline.pipeline import ingest
    from timeline.storage import store
    from timeline.storage.copying import upsert
    from timeline.storage.judged import findings as storing
    from timeline.storage.judged import incidents as deriving

    source, world = store.open_source(f"{findings} findings"), World()
    ingest(
        source, world, (each for each in read([(SAMPLE, SAMPLE.name)], bodies=True) if not isinstance(each, Skipped))
    )
    store.show_source(source)
    known = Finding.objects.filter(source=source)
    like = known.filter(rule=_RULE).order_by("identity")[0]
    about = max(0, incidents - Incident.objects.filter(source=source).count())
    rows = _copies(like, findings - known.count(), about)
    with transaction.atomic():
        upsert(sql.Identifier("timeline_finding"), storing.FINDING, ("source_id", "identity"), rows)
        storing.write_occurrences(source)
        deriving.write(source)
        source.last = max(known.values_list("last", flat=True))
        source.save(update_fields=["last"])
    return source, world


def _copies(like: "Finding", count: int, incidents: int) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of so many copies of a finding, about so many Services in turn, or about its own if that is 0."""
    from timeline.core.entries import moment
    from timeline.history.lifelines import Name
    from timeline.judging.findings import digest
    from timeline.judging.incidents.subjects import identity
    from timeline.storage.copying import as_json

    occurrence, subject = like.occurrences[0], like.document["subject"]
    for number in range(count):
        anchor = Name(*like.anchor)
        if incidents:
            anchor = anchor._replace(name=f"{anchor.name}-{number % incidents}")
        this = f"{number:016x}"
        document = {**like.document, "id": this, "count": 1}
        document["subject"] = {**subject, "name": f"{subject['name']}-{number}", "uid": digest("uid", this)}
        first, last = occurrence["first"] + number * _STEP, occurrence["last"] + number * _STEP
        happened = {**occurrence, "group": digest("row", this), "first": first, "last": last, "open": False}
        values = {name: getattr(like, name) for name in ("rule", "severity", "namespace", "subject", "root", "tracks")}
        times = moment(first), moment(last), as_json(document), as_json([happened])
        yield (like.source_id, this, *values.values(), *times, False, identity(like.rule, anchor), list(anchor))


def _grown(findings: int) -> "tuple[Source, World]":
    """Return a source in which one incident has so many findings."""
    return _source(findings, 0)


def _commits(source: "Source", world: "World") -> Callable[[], object]:
    """Return a function that commits another change of one finding."""
    from django.db import transaction

    from timeline.judge import judged
    from timeline.storage.judged.live_findings import LiveFindings

    found = judged(world, world.tracks())
    key, findings = next((key, of_it) for key, of_it in found.items() if of_it and of_it[0].rule == _RULE)
    written = LiveFindings(source, world)
    with transaction.atomic():
        written.write(found)
    turn = iter(range(1_000_000))

    def commit() -> None:
        changed = [replace(each, advice=(f"Turn {next(turn)}.",)) for each in findings]
        with transaction.atomic():
            assert written.write({key: changed})["findings"]

    return commit


if __name__ == "__main__":
    main()

"""These tests check that the rows of each source could be kept on one of several database servers: every query about a
source names it, and every key of these rows contains it. See docs/how-to/scale-out.md."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator

import pytest
from django.apps import apps
from django.db import connection, transaction
from django.test import Client
from pytest_django import DjangoDbBlocker

from collectors import tasks
from dashboard.alerting import notifying
from tests import DATA, ENGINE
from tests.database.access.test_leaks import addresses
from tests.inputs.live import batches, observations
from tests.inputs.recordings import SAMPLE, observations_of
from tests.rows.planned import Planned, hot_tables
from timeline.history.world.world import World
from timeline.models import Cluster, Finding, Incident, Source, Track, Upload, Way
from timeline.pipeline import follow, ingest
from timeline.queries.sources import live as live_sources
from timeline.queries.window import deltas, windows
from timeline.storage import live, store
from timeline.storage.entries import additions, chunks, inbox
from timeline.storage.exports import document
from timeline.storage.people import acknowledgements, baselines
from timeline.storage.permitted.limits import Permitted, seeing

JOBS = ENGINE / "jobs-watch"
LOG = DATA / "logs" / "kube-vip.log.zst"
# Each operation takes those of these parameters that it knows.
PARAMETERS = "q=train&start=0&end=9000000000000000&logs=1&number=1&sequence=1&copied=1&stood=2&about=1&name=web"
WINDOWS = ("group=namespace", "group=actor", "fold=true&active=true", "name=train&noise=true", "severity=error&scope=1")
pytestmark = pytest.mark.django_db

# Tables with a column for a source whose rows do not belong to it. They are small: every server has a copy of them.
COPIED = {
    "timeline_alert": "An alert may arrive before what it is about is observed.",
    "timeline_cluster": "A cluster names the source that it feeds now.",
    "timeline_hold": "A hold is of one source or of a cluster.",
    "timeline_silence": "A silence is for one source, for a cluster, or for everything.",
    "timeline_upload": "An upload exists before its source does.",
    "dashboard_accesstoken": "A token may be limited to one source.",
    "dashboard_auditrecord": "A record may be about one source.",
    "dashboard_grant": "A role may be granted on one source.",
    "dashboard_route": "A route may be for one source.",
    "dashboard_sharelink": "A link is read by its text, before it is known which source it shows.",
    "dashboard_told": "What a route has reported is read by route, for all sources at once.",
}
# The pages, operations and tasks that read rows of all sources on purpose, and why.
OVER_ALL = {
    "/": "The start page lists sources with their incidents.",
    "/incidents/": "The list has the incidents of all sources.",
    "/api/incidents": "The list has the incidents of all sources.",
    "/storage/": "The page lists what each source takes.",
    "/api/usage": "The answer lists what each source takes.",
    "/compare/": "The page offers runs of the same work in other sources.",
    "/routes/new": "The form offers incidents that name nobody if any source has one.",
    "/silences/new": "The form offers incidents that name nobody if any source has one.",
    "what routes tell": "One task asks the routes about all sources.",
}
# Whoever has ever acknowledged an incident, of any source, sees how many are hidden from the list.
ASKED_OF_ALL = {("/sources/{}/incidents/", "timeline_acknowledgement")}


def work(source: Source) -> dict[str, Callable[[], object]]:
    """Return what is done with a source besides answering requests."""
    found = Finding.objects.filter(source=source).first()
    incident = Incident.objects.filter(source=source).first()
    assert found and incident

    def add() -> None:
        upload = Upload.objects.create(name="audit", source=source, state=Upload.State.ADDING)
        additions.write(source, upload, observations(JOBS)[:1])
        additions.remove(additions.first_part(source) or pytest.fail("nothing waits"))
        additions.end_added(Upload.objects.filter(pk=upload.pk))

    def take_from_inbox() -> None:
        inbox.accept(source.cluster_id or 0, Way.AUDIT, inbox.Batch("0" * 64, b"", 1), most=1)
        inbox.take(inbox.waiting(source, Way.AUDIT))
        inbox.compared(source, {}, [])

    def as_limited_reader() -> None:
        names = frozenset(name for each in Finding.objects.filter(source=source) for name in each.namespaces or ())
        for seen in (Permitted(whole=frozenset({source.pk})), Permitted(namespaces={source.pk: names})):
            with seeing(seen):
                windows.window(source.pk)

    return {
        "an addition": add,
        "a batch of audit events": take_from_inbox,
        "an export": lambda: (document(source), list(chunks.lines(source.pk))),
        "a message to browsers": lambda: (
            deltas.missed(source.pk, source.sequence - 1),
            live_sources.live_health([source.pk]),
        ),
        "an acknowledgement": lambda: acknowledgements.acknowledge_incidents(source.pk, [incident.identity], "ann", ""),
        "an acknowledged finding": lambda: acknowledgements.acknowledge(source.pk, found.identity, "ann", ""),
        "a baseline": lambda: (baselines.set_baseline(source.pk, "ann"), baselines.clear_baseline(source.pk)),
        "what routes tell": notifying.notify,
        "retention": tasks.keep,
        "usage": tasks.measure_usage,
        "judging again": tasks.judge_again,
        "a limited reader": as_limited_reader,
    }


def requests(recording: Source, cluster: Cluster) -> Iterator[str]:
    """Return the addresses of all pages and operations about a recording, and of those that a live source adds."""
    for path in addresses(recording):
        yield f"{path}{'&' if '?' in path else '?'}{PARAMETERS}"
    for window in WINDOWS:
        yield f"/api/sources/{recording.pk}/window?{window}"
    run = f"{recording.pk}-{Track.objects.filter(source=recording, kind='Job').earliest('id').id}"
    yield f"/api/compare?bad={run}&good={run}"
    yield f"/clusters/{cluster.pk}/"
    for page in ("", "coverage/"):
        yield f"/sources/{cluster.source_id}/{page}"
    for operation in ("window", "health", "coverage"):
        yield f"/api/sources/{cluster.source_id}/{operation}"


def asked(path: str) -> str:
    """Return the page or operation of an address, without numbers and parameters."""
    return re.sub(r"/sources/\d+", "/sources/{}", path.partition("?")[0])


@pytest.fixture(scope="module")
def walked(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> dict[str, Planned]:
    """Return what was planned for all that is done with sources, by what was done."""
    found: dict[str, Planned] = defaultdict(Planned)
    client = Client()
    with django_db_blocker.unblock(), transaction.atomic():
        with found["an import"].planning():
            recording = store.open_source("recording")
            ingest(recording, World(), [*observations_of(SAMPLE), *observations_of(LOG)])
            store.show_source(recording)
        with found["commits"].planning():
            cluster = Cluster.objects.create(name="prod")
            held = live.open_again(live.begin(cluster))
            observed = observations(JOBS)
            for batch in (*batches(observed[:-3], 400), observed[-3:]):
                follow(held, batch)
        cluster.refresh_from_db()
        for path in requests(recording, cluster):
            with found[asked(path)].planning():
                answer = client.get(path)
            assert answer.status_code < 500, path
        for name, act in work(Source.objects.get(cluster=cluster)).items():
            with found[name].planning():
                act()
        transaction.set_rollback(True)
    return found


def test_each_query_about_a_source_names_it(walked: dict[str, Planned]) -> None:
    unnamed = {
        (what, table): query
        for what, found in walked.items()
        for query, tables in found.unnamed.items()
        for table in tables
        if what not in OVER_ALL
    }
    assert unnamed.keys() == ASKED_OF_ALL, unnamed


def test_the_walk_reaches_each_table(walked: dict[str, Planned]) -> None:
    assert set().union(*(found.tables for found in walked.values())) == hot_tables().keys()


def test_a_query_that_names_no_source_is_found() -> None:
    found = Planned()
    with found.planning():
        list(Finding.objects.filter(rule="orphan-pod"))
        list(Finding.objects.filter(source=1, rule="orphan-pod"))
        list(Incident.objects.filter(identity__in=Finding.objects.filter(source=1).values("incident")))
    assert [sorted(tables) for tables in found.unnamed.values()] == [["timeline_finding"], ["timeline_incident"]]


def test_each_key_contains_the_source() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relation.relname, key.relname FROM pg_index"
            " JOIN pg_class AS relation ON relation.oid = indrelid JOIN pg_class AS key ON key.oid = indexrelid"
            " WHERE indisunique AND relation.relname = ANY(%s) AND NOT EXISTS (SELECT FROM pg_attribute"
            " WHERE attrelid = indrelid AND attnum = ANY(indkey) AND attname = 'source_id')",
            [[*hot_tables()]],
        )
        assert cursor.fetchall() == []


def test_each_table_with_a_source_belongs_to_it_or_is_copied() -> None:
    with_source = {
        model._meta.db_table
        for model in apps.get_models()
        if any(field.name == "source" and not field.primary_key for field in model._meta.concrete_fields)
    }
    assert with_source == {*hot_tables(), *COPIED}

"""These tests open links of alerts among several clusters and recordings: which life a link opens, and when it offers a
choice.

Each recording is given as pairs (created, deleted) of lives of one Pod, in seconds since 07:00 of 21 November.
"""

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from html import unescape
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from tests.clients.markup import without_times
from tests.inputs import events
from timeline.history.world.world import World
from timeline.models import Cluster, Source, Track
from timeline.payloads.documents import timestamp
from timeline.pipeline import ingest
from timeline.queries.alerts import lookup
from timeline.queries.objects.candidates import Target, candidates, ready_sources
from timeline.storage import store

pytestmark = pytest.mark.django_db
SEVEN = 1_795_244_400_000_000
SECOND, MINUTE, HOUR, DAY = 1_000_000, 60, 3600, 86_400
Life = tuple[int, int | None]


def at(seconds: float) -> str:
    return timestamp(SEVEN + round(seconds * SECOND))


def lines(name: str, lives: list[Life], uids: str, namespace: str, end: int | None) -> Iterator[dict[str, object]]:
    """Return the creation and the deletion of each life, and a ConfigMap at the end of the recording."""
    revision = 100
    for number, (created, deleted) in enumerate(lives):
        for verb, time in (("create", created), ("delete", deleted)):
            if time is None:
                continue
            revision += 1
            seen = events.pod(name=name, namespace=namespace, uid=f"{uids}-{number}", resourceVersion=str(revision))
            yield events.event(
                verb=verb,
                auditID=f"{uids}-{revision}",
                objectRef={"resource": "pods", "namespace": namespace, "name": name, "apiVersion": "v1"},
                responseStatus={"code": 201 if verb == "create" else 200},
                responseObject=seen,
                requestReceivedTimestamp=at(time),
                stageTimestamp=at(time + 0.001),
            )
    if end is not None:
        about = {"name": "end", "namespace": "n", "uid": "end", "resourceVersion": "9999"}
        yield events.event(
            auditID="end",
            objectRef={"resource": "configmaps", "namespace": "n", "name": "end", "apiVersion": "v1"},
            responseObject={"kind": "ConfigMap", "apiVersion": "v1", "metadata": about},
            requestReceivedTimestamp=at(end),
            stageTimestamp=at(end + 0.001),
        )


def recorded(
    source_name: str,
    *lives: Life,
    uids: str = "u",
    name: str = "train-0",
    namespace: str = "team-a",
    end: int | None = None,
) -> Source:
    source = store.open_source(source_name)
    entries = events.entries_of(*lines(name, list(lives), uids, namespace, end))
    ingest(source, World(), entries)
    store.show_source(source)
    return source


def watched(cluster: str, *lives: Life, heard: int = 10 * DAY, uids: str = "u") -> Source:
    """Return the source of a connected cluster with these lives, whose watches are complete up to the second
    `heard`."""
    source = recorded(cluster, *lives, uids=uids)
    fed = Cluster.objects.create(name=cluster, state="live", source=source)
    Source.objects.filter(pk=source.pk).update(cluster=fed, sequence=1, last=datetime.fromisoformat(at(heard)))
    source.refresh_from_db()
    return source


def went(client: Client, seconds: float | None, **question: str | int) -> Any:
    time: dict[str, str | int] = {} if seconds is None else {"at": at(seconds)}
    return client.get("/go", {"namespace": "team-a", "pod": "train-0", **time, **question})


def opened(client: Client, seconds: float | None, **question: str | int) -> tuple[int, str, str]:
    """Return the source and the UID to which the link redirects, and the banner of the timeline."""
    answer = went(client, seconds, **question)
    assert answer.status_code == 302, unescape(answer.content.decode())
    address = urlsplit(answer.headers["Location"])
    source = int(address.path.split("/")[2])
    about = parse_qs(address.query)["about"][0]
    shown = without_times(client.get(answer.headers["Location"]).content.decode())
    match = re.search(r'id="landed">(.*?) <a', shown)
    assert match
    return source, Track.objects.get(source=source, id=about).uid, unescape(match[1])


def offered(client: Client, seconds: float | None, **question: str | int) -> str:
    answer = went(client, seconds, **question)
    assert answer.status_code == 200, answer.headers
    return unescape(re.sub(r"<[^>]*>", "", answer.content.decode()))


LATE = {1: "1 s", 19: "19 s", MINUTE: "1 min", 10 * MINUTE: "10 min", HOUR: "1 h"}


def test_a_late_alert_among_three_recordings(client: Client) -> None:
    """yesterday: ├──────┤ today: ├──── Pod ────┤ overlapping: ──┤ (ends while the Pod still exists)"""
    recorded("yesterday", (-DAY, 100 - DAY), uids="old", end=2 * HOUR - DAY)
    today = recorded("today", (0, 100), uids="new", end=101)
    recorded("overlapping", (0, None), uids="new", end=50)
    for late, words in LATE.items():
        for question in ({}, {"source": today.pk}, {"cluster": "today"}):
            source, uid, banner = opened(client, 100 + late, **question)
            assert (source, uid) == (today.pk, "new-0")
            assert banner.startswith(f"Pod train-0 ended {words} before the alert (")


def test_a_late_alert_opens_the_live_source(client: Client) -> None:
    recorded("copy", (-100, 90), uids="other", end=2 * DAY)
    live = watched("prod", (-500, -300), (-200, 0), (2 * HOUR, None))
    for late in LATE:
        assert opened(client, late)[:2] == (live.pk, "u-1")
    assert opened(client, -100)[:2] == (live.pk, "u-1"), "it stood then, and in the copy, too"


def test_what_a_live_source_tells_comes_before_recordings(client: Client) -> None:
    live = watched("prod", (0, 100))
    recorded("copy", (0, 300), uids="other", end=400)
    assert opened(client, 200)[0] == live.pk


def test_a_recording_counts_where_the_live_source_only_knows_a_later_life(client: Client) -> None:
    watched("prod", (HOUR, None))
    copy = recorded("copy", (0, 300), uids="other", end=400)
    assert opened(client, 200)[0] == copy.pk
    assert opened(client, 310)[0] == copy.pk


def test_the_same_uids_at_another_time_are_another_life(client: Client) -> None:
    recorded("yesterday", (-DAY, 100 - DAY))
    today = recorded("today", (0, 100))
    assert opened(client, 50)[0] == today.pk
    assert opened(client, 119)[0] == today.pk


def test_another_day_is_reported_and_not_opened(client: Client) -> None:
    recorded("monday", (0, 100), uids="a", end=101)
    recorded("tuesday", (DAY, DAY + 100), uids="b", end=DAY + 101)
    for question in ({}, {"source": "tuesday"}):
        choice = offered(client, 2 * DAY + 100, **question)
        assert "Nothing at that time" in choice and "ended 24 h before the alert" in choice
        assert "No known incarnation existed within 2 h of the alert (2026-11-23 07:01:40 UTC)." in choice
    choice = offered(client, 3 * DAY)
    assert choice.index("recording tuesday") < choice.index("recording monday"), "the newest first"
    assert opened(client, DAY + 100 + HOUR)[1] == "b-0"
    assert "ended 2 h before the alert" in offered(client, 100 + 2 * HOUR + 1)
    assert timedelta(hours=2) // timedelta(microseconds=1) == lookup.LATE


def test_a_recording_that_ended_long_before_is_not_opened_though_the_pod_stood(client: Client) -> None:
    source = recorded("monday", (0, None), end=100)
    assert "last seen 9 h 58 min" in offered(client, 10 * HOUR, source=source.pk)
    banner = opened(client, 100 + HOUR, source=source.pk)[2]
    assert banner.startswith("Pod train-0 existed when this recording ended, 1 h before the alert")


def test_a_cluster_that_was_not_heard_is_not_taken_to_stand(client: Client) -> None:
    watched("prod", (0, None), heard=HOUR)
    assert opened(client, HOUR + 4 * MINUTE)[2].startswith("Pod train-0 existed at the time of the alert")
    banner = opened(client, HOUR + 30 * MINUTE)[2]
    assert banner.startswith("Pod train-0 existed when the cluster was last observed, 30 min before the alert")


def test_of_many_incarnations_the_moment_chooses(client: Client) -> None:
    lives: list[Life] = [(60 * number, 60 * number + 40) for number in range(40)]
    recorded("jobs", *lives)
    for number in (0, 7, 39):
        assert opened(client, 60 * number + 20)[1] == f"u-{number}"
        assert opened(client, 60 * number + 41)[1:] == (
            f"u-{number}",
            f"Pod train-0 ended 1 s before the alert ({at(60 * number + 41)[:19].replace('T', ' ')} UTC).",
        )
    _, uid, banner = opened(client, -10)
    assert uid == "u-0" and banner.startswith("Pod train-0 began 10 s after the alert")
    assert opened(client, None)[1] == "u-39"
    assert offered(client, None, choose=1).count("recording jobs") == 40


def test_the_same_names_in_two_clusters(client: Client) -> None:
    east = watched("east", (0, None), uids="e")
    west = watched("west", (0, None), uids="w")
    assert "Which one?" in offered(client, 100)
    assert "cluster east" in offered(client, 100) and "cluster west" in offered(client, 100)
    assert opened(client, 100, cluster="east")[0] == east.pk
    assert opened(client, 100, cluster="west")[0] == west.pk
    assert opened(client, 100, source=west.pk)[0] == west.pk
    assert client.get("/go", {"pod": "train-0", "cluster": "north"}).status_code == 404


def test_lives_that_ended_in_two_clusters_are_asked_about(client: Client) -> None:
    watched("east", (0, 100), uids="e")
    watched("west", (0, 200), uids="w")
    assert "Which one?" in offered(client, 210)
    assert "Which one?" in offered(client, 150), "one stood then, but a late alert may mean the other one"


def test_the_same_name_in_two_namespaces_is_asked_about(client: Client) -> None:
    recorded("a", (0, 100), uids="a", namespace="team-a", end=200)
    recorded("b", (0, 100), uids="b", namespace="team-b", end=200)
    assert "Which one?" in offered(client, 50, namespace="")
    assert opened(client, 50, namespace="team-b")[1] == "b-0"


def test_one_object_in_two_recordings_is_one(client: Client) -> None:
    recorded("first", (0, 100), end=200)
    later = recorded("second", (0, 100), end=200)
    assert opened(client, 50)[:2] == (later.pk, "u-0")


def test_earlier_histories_of_a_cluster_belong_to_it(client: Client) -> None:
    before = recorded("prod (until 2026-11-21 08:00)", (0, 100), uids="a", end=HOUR)
    now = watched("prod", (2 * HOUR, None), uids="b")
    Source.objects.filter(pk=before.pk).update(cluster=now.cluster, ended="Its revisions went back.", sequence=9)
    assert opened(client, 120, cluster="prod")[:2] == (before.pk, "a-0")
    assert opened(client, 3 * HOUR, cluster="prod")[:2] == (now.pk, "b-0")


def test_a_history_of_a_cluster_that_is_not_connected_any_more_belongs_to_it(client: Client) -> None:
    source = recorded("prod (until 2026-11-21 08:00)", (0, 100), end=HOUR)
    Source.objects.filter(pk=source.pk).update(inputs=["prod, part 2"], sequence=9)
    assert opened(client, 120, cluster="prod")[0] == source.pk


def test_a_recording_bears_the_name_of_its_cluster(client: Client) -> None:
    recorded("staging", (0, 100), uids="s", end=200)
    prod = recorded("prod", (0, 100), uids="p", end=200)
    assert opened(client, 50, cluster="prod")[0] == prod.pk
    answer = client.get("/go", {"pod": "train-0", "source": "staging", "cluster": "prod"})
    assert "The recording staging does not belong to the cluster prod." in answer.content.decode()


def test_without_a_moment_the_life_that_goes_on_is_opened(client: Client) -> None:
    recorded("later", (DAY, DAY + 100), uids="later", end=2 * DAY)
    live = watched("prod", (0, 100), (200, None))
    Source.objects.filter(pk=live.pk).update(last=timezone.now())
    assert opened(client, None)[1:] == ("u-1", "This is the current incarnation of Pod train-0.")


def test_an_address_that_was_given_away_means_who_had_it(client: Client) -> None:
    def service(name: str, revision: int, second: int, address: str | None) -> dict[str, object]:
        ingress = [{"ip": address}] if address else []
        return events.event(
            verb="create" if revision < 103 else "update",
            auditID=f"s{revision}",
            objectRef={"resource": "services", "namespace": "n", "name": name, "apiVersion": "v1"},
            responseObject={
                "kind": "Service",
                "apiVersion": "v1",
                "metadata": {"name": name, "namespace": "n", "uid": name, "resourceVersion": str(revision)},
                "spec": {"type": "LoadBalancer", "clusterIP": f"10.96.0.{revision}", "clusterIPs": ["fd00::0:1"]},
                "status": {"loadBalancer": {"ingress": ingress}},
            },
            requestReceivedTimestamp=at(second),
            stageTimestamp=at(second + 0.001),
        )

    source = store.open_source("balancers")
    banner = [
        service("one", 101, 0, "192.0.2.7"),
        service("two", 102, 1, None),
        service("one", 103, 10, None),
        service("two", 104, 20, "192.0.2.7"),
    ]
    ingest(source, World(), events.entries_of(*banner))
    store.show_source(source)
    vip = {"pod": "", "namespace": "", "ip": "192.0.2.7"}
    assert [opened(client, second, **vip)[1] for second in (5, 12, 20)] == ["one", "one", "two"]
    assert opened(client, 5, **{**vip, "ip": "10.96.0.102"})[1] == "two"
    assert opened(client, 5, **{**vip, "ip": "", "instance": "[192.0.2.7]:443"})[1] == "one"


def test_each_search_walks_an_index_in_a_source_of_any_size() -> None:
    source = recorded("large", (0, 100))
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            INSERT INTO timeline_track_{source.pk}
                (source_id, id, lane, root, strip, place, number, life, family, "group", version, kind, namespace, name,
                 uid, lifeline, owner, needs, addresses, creator, writers, clues)
            SELECT {source.pk}, number, number, number, 0, number, 1, '[2026-11-21,)', 'Pods', '', 'v1', 'Pod', 'n',
                   'p-' || number, 'uid-' || number, '', 0, '{{}}', ARRAY[
                  '10.' || number / 65536 || '.' || number / 256 % 256
                   || '.' || number % 256], '', '{{}}', ''
            FROM generate_series(1000, 21000) AS number"""
        )
        cursor.execute(f"ANALYZE timeline_track_{source.pk}")
    sources = list(ready_sources().filter(pk=source.pk))
    for target, column in (
        (Target(name="p-2000"), "name"),
        (Target(uid="uid-2000"), "uid"),
        (Target(address="10.0.7.208"), "addresses"),
    ):
        with connection.execute_wrapper(explaining := Explaining()):
            try:
                candidates(sources, target, "")
            except Exception:
                assert target.address  # its row has no lifeline
        assert f"timeline_track_{source.pk}_{column}_idx" in explaining.plan, explaining.plan


class Explaining:
    """This wrapper of database queries collects the query plans of queries on tracks."""

    plan = ""

    def __call__(self, execute: object, query: str, values: object, many: bool, context: object) -> object:
        if "timeline_track" in query and not query.startswith("EXPLAIN"):
            with connection.cursor() as cursor:
                cursor.execute(f"EXPLAIN {query}", values)  # type: ignore[arg-type]
                self.plan += "\n".join(row for (row,) in cursor.fetchall())
        return execute(query, values, many, context)  # type: ignore[operator]


def test_a_name_that_is_longer_than_any_of_kubernetes_is_stored(client: Client) -> None:
    recorded("long", (0, 100), name="x" * 1_000)
    assert Track.objects.filter(name="x" * 1_000).exists()


def test_no_distance_is_finer_than_the_alert_is_written(client: Client) -> None:
    recorded("now", (0, 100))
    pod = Track.objects.get(source__name="now")
    Track.objects.filter(pk=pod.pk).update(life=(pod.life.lower, datetime.fromisoformat(at(99.7))))
    for moment, words in ((100, "less than 1 s"), (119, "19 s"), (119.25, "19.6 s"), (160, "1 min")):
        assert opened(client, moment)[2].startswith(f"Pod train-0 ended {words} before the alert (")


def test_far_choices_begin_with_the_nearest(client: Client) -> None:
    recorded("near", (0, 100), uids="near")
    watched("prod", *((3 * DAY + each, 3 * DAY + each + 5) for each in range(0, 600, 10)), heard=3 * DAY + 600)
    choice = offered(client, 4 * HOUR)
    assert "Nearest first" in choice and "These are the 50 nearest of 61." in choice
    assert choice.index("recording near") < choice.index("cluster prod")

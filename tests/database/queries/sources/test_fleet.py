"""These tests check the table of clusters and recordings on the home page: its order, its counts and its pages."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from dashboard.presentation.clusters import fleet as words
from tests.rows import fleet
from timeline.models import Acknowledgement, Silence, Stream
from timeline.queries.incidents import counts
from timeline.queries.incidents.counts import IncidentCounts
from timeline.queries.sources import fleet as fleet_queries

pytestmark = pytest.mark.django_db
ROW = re.compile(r"<tr data-(?:cluster|source)=.*?</tr>", re.DOTALL)


def rows(client: Client, query: str = "") -> list[str]:
    return ROW.findall(client.get(f"/{query}").content.decode())


def test_few_sources_are_shown_with_all_that_is_known_and_count_incidents(client: Client) -> None:
    for name in ("one", "two", "three"):
        source = fleet.recording(name)
    fleet.incident(source, "a", findings=10)
    fleet.incident(source, "b", rank=1, findings=1)
    fleet.incident(source, "c", rank=1, findings=1)
    page = client.get("/").content.decode()
    assert "Changes over time" in page and 'class="recordings fleet-table"' not in page
    assert "3 incidents · 3 symptoms · 12 findings" in page
    assert 'title="2 warnings"' in page and 'title="1 error"' in page
    fleet.recording("four")
    assert 'class="recordings fleet-table"' in client.get("/").content.decode()


def test_clusters_come_first_the_worst_on_top_and_then_the_newest_recordings() -> None:
    fleet.recording("older")
    fleet.recording("newer")
    fleet.cluster("quiet", ago=5)
    fleet.cluster("quiet but heard last", ago=1)
    fleet.cluster("not reached", "failing")
    fleet.cluster("paused", paused=True, ago=0)
    for name, rank in (("warned", 1), ("broken", 0), ("noted", 2)):
        fleet.incident(fleet.cluster(name)[1], name, rank=rank)
    fleet.incident(fleet.cluster("over")[1], "over", rank=0, ago=3600)
    found = fleet_queries.fleet()
    names = [row.name for row in found.rows]
    assert names[:4] == ["broken", "not reached", "warned", "noted"]
    assert names[-2:] == ["newer", "older"]
    assert names.index("quiet but heard last") < names.index("quiet")
    assert found.ongoing == 3


def test_health_is_said_in_words_and_nothing_that_is_not_reached_is_good(client: Client) -> None:
    fleet.cluster("fine")
    fleet.cluster("refused", "failing", ago=240)
    fleet.cluster("alone", expires_at=datetime.now(UTC) - timedelta(minutes=1))
    _, source = fleet.cluster("partly")
    Stream.objects.filter(source=source, resource="pods").update(state="failing")
    fleet.recording("half", mostly_skipped={"audit.log": [90, 100]})
    shown = {row.name: words.row(row, 0, may_change=False) for row in fleet_queries.fleet().rows}
    assert {name: (row.health, row.tone) for name, row in shown.items()} == {
        "fine": ("live", "good"),
        "refused": ("failing", "bad"),
        "alone": ("waiting for a worker", "bad"),
        "partly": ("1 kind not watched", "bad"),
        "half": ("mostly skipped", "bad"),
    }
    assert {name for name, row in shown.items() if row.lag} == {"fine"}
    assert shown["refused"].activity == "4 min ago"
    page = client.get("/").content.decode()
    assert page.count("state good") == 1 and "The API server refuses the connection." in page


def test_ongoing_incidents_are_counted_without_acknowledged_and_silenced_ones(client: Client) -> None:
    _, source = fleet.cluster("prod")
    for name in ("other-1", "other-2", "other-3"):
        fleet.recording(name)
    fleet.incident(source, "goes-on")
    fleet.incident(source, "acknowledged", rank=1)
    fleet.incident(source, "silenced", namespace="quiet")
    fleet.incident(source, "over", ago=3600, rank=2)
    Acknowledgement.objects.create(source=source, identity="acknowledged", by="me", note="", rank=1)
    until = datetime.now(UTC) + timedelta(hours=1)
    Silence.objects.create(source=None, namespace="quiet", reason="known", by="me", expires=until)
    (row,) = [each for each in fleet_queries.fleet().rows if each.cluster]
    assert row.counts == IncidentCounts(3, 3, 6, (1, 1, 1), (1, 0, 0), acknowledged=1, silenced=1)
    assert row.worst and row.worst["id"] == "goes-on"
    (text,) = [each for each in rows(client) if ">prod<" in each]
    assert "3 incidents · 3 symptoms · 6 findings" in text and "1 acknowledged · 1 silenced" in text
    assert "Service goes-on was away" in text
    assert "1 cluster, 3 recordings, 1 incident going on" in client.get("/").content.decode()


def test_the_worst_incident_is_the_gravest_that_nobody_has_acknowledged(client: Client) -> None:
    source = fleet.recording("two-errors")
    fleet.incident(source, "known", ago=1, rank=0)
    fleet.incident(source, "error", ago=7200, rank=0)
    fleet.incident(source, "warning", ago=60, rank=1)
    fleet.incident(source, "info", rank=2, open=True)
    Acknowledgement.objects.create(source=source, identity="known", by="me", note="", rank=0)
    (row,) = fleet_queries.fleet().rows
    assert row.worst and row.worst["id"] == "error"
    page = client.get(f"/sources/{source.pk}/incidents/?acknowledged=true").content.decode()
    assert list(dict.fromkeys(re.findall(r"Service (\w+) was away", page))) == ["error", "known", "warning", "info"]


def test_no_cluster_fills_the_list_of_the_newest_incidents(client: Client) -> None:
    _, loud = fleet.cluster("loud")
    for number in range(60):
        fleet.incident(loud, f"loud{number}", ago=number)
    _, calm = fleet.cluster("calm")
    fleet.incident(calm, "calm", ago=7200)
    fleet.incident(fleet.recording("old"), "old", ago=86_400 * 30)
    sources = fleet_queries.newest_sources()
    found = counts.newest_incidents(list(sources), 12, 4)
    assert [each["id"] for each in found] == ["loud0", "loud1", "loud2", "loud3", "calm", "old"]
    page = client.get("/").content.decode()
    for name in ("loud", "calm", "old"):
        assert f'<bdi title="{name}">{name}</bdi> · batch / Service ring' in page


def test_a_recording_that_ended_long_ago_does_not_go_on_above_a_cluster(client: Client) -> None:
    fleet.incident(fleet.recording("old"), "open", open=True)
    for number in range(3):
        fleet.cluster(f"live-{number}")
    assert fleet_queries.fleet().rows[-1].name == "old" and fleet_queries.fleet().ongoing == 0
    assert "ongoing when the recording ends" in rows(client)[-1]
    assert fleet_queries.fleet("ongoing").rows[0].name == "old"


def test_the_table_is_sorted_by_a_link(client: Client) -> None:
    now = datetime.now(UTC)
    fleet.recording("a", last=now - timedelta(days=30))
    many = fleet.recording("m")
    for number in range(3):
        fleet.incident(many, f"m{number}", ago=86_400)
    fleet.recording("z", last=now - timedelta(days=2))
    fleet.incident(fleet.cluster("prod")[1], "p")
    page = client.get("/").content.decode()
    for sort, ends in (("name", "az"), ("lag", "pz"), ("ongoing", "pa"), ("incidents", "ma"), ("activity", "pa")):
        found = [re.findall(r"<bdi>(.)", row)[0] for row in rows(client, f"?sort={sort}")]
        assert found[0] + found[-1] == ends, sort
        assert f'href="?sort={sort}"' in page


@pytest.mark.usefixtures("recorded_before")
def test_names_are_filtered_and_pages_are_bounded(client: Client) -> None:
    fleet.fill(20, 280)
    with CaptureQueriesContext(connection) as few:
        page = client.get("/").content.decode()
    assert len(ROW.findall(page)) == 50 and "Page 1 of 6" in page
    assert "20 clusters, 280 recordings" in page
    assert 'href="?page=2" rel="next"' in page
    assert len(few) <= 39
    assert len(rows(client, "?page=6")) == 50 and len(rows(client, "?page=99")) == 50
    one = client.get("/?name=PROD-1").content.decode()
    assert len(ROW.findall(one)) == 11 and "11 clusters," in one
    assert 'href="?sort=name&amp;name=PROD-1"' in one
    assert "No cluster and no recording has “nothing”" in client.get("/?name=nothing").content.decode()
    for odd in ("?page=x", "?page=-1", "?sort=nothing", "?name=%00", "?page=99999999999999999999"):
        assert client.get(f"/{odd}").status_code == 200
    fleet.fill(0, 1)
    with CaptureQueriesContext(connection) as more:
        client.get("/")
    assert abs(len(more) - len(few)) <= 1

"""Lists of incidents, of one source and of all: what they have, their filters, orders and pages."""

import re
from itertools import pairwise
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from tests.database.queries.incidents.listing import GAP, TITLE, gap_of, listed, of, page, rules, silence, titles
from tests.database.storage.sources import asked
from tests.inputs.recordings import SAMPLE, entries_of
from tests.rows.following import Followed
from tests.unit.judging.incidents.test_incidents import analysed, expected
from timeline.core.entries import Entry
from timeline.models import Cluster, Finding, Incident, Source, Symptom, Track
from timeline.queries.incidents import scoping
from timeline.queries.window import deltas
from timeline.queries.window.view import FindingFilter
from timeline.storage.judged import incidents

pytestmark = pytest.mark.django_db


def test_the_list_tells_what_analyze_tells(client: Client, sample: Source) -> None:
    reported = listed(client, sample, order="gravest")
    columns = "id", "title", "severity", "findings", "occurrences"
    rows = [tuple(row[column] for column in columns) for row in reported["incidents"]]
    assert rows == [
        (each.id, each.title, each.worst.severity, len(each.findings), each.occurrences)
        for each in analysed().incidents()
    ]
    for row, each in zip(reported["incidents"], analysed().incidents(), strict=True):
        assert [one["title"] for one in row["symptoms"]] == [one.title for one in each.symptoms]
        assert (row["root"], row["symptoms_total"]) == (each.root, len(each.symptoms))
    counts = reported["total"], reported["symptoms"], reported["findings"]
    assert counts == (len(rows), len(expected()), len(analysed().findings))
    assert reported["incidents"][0] == asked(client, sample, f"incidents/{rows[0][0]}")
    for each in reported["incidents"]:  # the rows of an incident are its occurrences
        found = asked(client, sample, "findings", incident=each["id"])
        assert found["total"] == each["occurrences"]
        assert all(row["incidents"] == [each["id"]] for row in found["findings"])
        assert len({one["id"] for row in found["findings"] for one in row["findings"]}) == each["findings"]


def test_the_page_has_the_gravest_first_and_counts(client: Client, sample: Source) -> None:
    shown = page(client, of(sample))
    for words in (
        "2 incidents · 4 symptoms · 7 findings",
        "2 more without harm",
        "ongoing when the recording ends",
        "vol-restart / Service ring",
        "4 occurrences between 2026-11-21 07:51:33 and 2026-11-21 07:52:59 UTC",
    ):
        assert words in shown, words
    assert titles(client, of(sample)) == titles(client, of(sample), order="gravest")
    assert titles(client, of(sample))[0] == GAP
    assert titles(client, of(sample), order="time")[1] == GAP
    assert titles(client, of(sample), order="newest")[0].startswith("Workloads with different schedulers")
    assert titles(client, "/incidents/") == titles(client, of(sample), order="newest")
    assert f'<a href="/sources/{sample.pk}/incidents/"><bdi>sample</bdi></a>' in page(client, "/incidents/")


def test_an_incident_whose_beginning_is_not_proven_caused_nothing(client: Client, sample: Source) -> None:
    shown = page(client, f"{of(sample)}{gap_of(sample).identity}/")
    assert "What it began with is not proven." in shown
    assert "Its symptoms" in shown and "What it caused" not in shown


def test_the_headings_sort_the_list_by_links_and_say_how_it_is_sorted(client: Client, sample: Source) -> None:
    for order, heading, direction in (
        ("gravest", "What", "descending"),
        ("time", "In the recording", "ascending"),
        ("newest", "Last", "descending"),
    ):
        shown = page(client, of(sample), order=order, severity="info")
        assert f'aria-sort="{direction}"><a href="?order={order}&amp;severity=info"' in shown, order
        assert re.search(rf'aria-sort="{direction}"><a [^>]+>{heading}', shown), order
        assert shown.count("aria-sort") == 1, order


def test_incidents_of_two_namespaces_have_no_title_in_common(client: Client, sample: Source) -> None:
    gap = gap_of(sample)
    twin = {**gap.__dict__, "identity": "0" * 16, "namespace": "other", "_state": None}
    Incident.objects.create(**{name: value for name, value in twin.items() if name != "_state"})
    named = [row["title"] for row in listed(client, sample)["incidents"] if row["rule"] == "service-gap"]
    assert sorted(named) == [f"other: {gap.title}", f"{gap.namespace}: {gap.title}"]


@pytest.mark.parametrize(
    ("query", "number"),
    [
        ({"severity": "info"}, 2),
        ({"state": "ongoing"}, 1),
        ({"state": "over", "harmless": "true"}, 3),
        ({"rule": "service-gap"}, 1),
        ({"rule": "pod-before-service"}, 1),
        ({"namespace": "vol-restart"}, 1),
        ({"actor": "admin"}, 2),
        ({"q": "RING steady"}, 1),
        ({"q": "nothing like this"}, 0),
    ],
    ids=lambda value: "-".join(value.values()) if isinstance(value, dict) else "",
)
def test_the_filter_is_in_the_address(client: Client, sample: Source, query: dict[str, str], number: int) -> None:
    shown = page(client, of(sample), **query)
    assert len(TITLE.findall(shown)) == listed(client, sample, **query)["total"] == number
    assert f"{number} incident{'' if number == 1 else 's'} ·" in shown
    for value in query.values():
        assert f"<option selected>{value}</option>" in shown or f'value="{value}"' in shown


def test_incidents_are_found_by_the_kind_and_name_of_a_subject_and_by_a_root_owner(
    client: Client, sample: Source
) -> None:
    totals: list[tuple[dict[str, Any], int]] = [
        ({"kinds": "Pods"}, 1), ({"kinds": "Leases,Workloads"}, 2), ({"name": "steady-2"}, 1),
        ({"kinds": "Pods", "name": "vs-o"}, 0), ({"root": 10**9}, 0), ({"actor": "nobody"}, 0),
    ]  # fmt: skip
    for query, total in totals:
        assert listed(client, sample, **query)["total"] == total, query
    assert rules(client, sample, namespace="vol-restart") == ["pod-before-service", "service-gap"]
    assert rules(client, sample, rule="pod-before-service") == ["pod-before-service", "service-gap"]
    assert rules(client, sample, state="ongoing") == ["lease-contention", "lease-shared-config"]
    owners = Track.objects.filter(source=sample, kind__in=["Job", "Deployment"])
    roots = dict(owners.values_list("name", "root"))
    assert rules(client, sample, root=roots["ring"]) == ["pod-before-service", "service-gap"]
    of_offline = ["lease-contention", "lease-shared-config", "stale-write"]
    assert rules(client, sample, root=roots["vs-offline"]) == of_offline
    found = asked(client, sample, "findings", scope=roots["ring"])
    assert {row["rule"] for row in found["findings"]} == {"pod-before-service", "service-gap"}


def test_an_incident_is_in_view_only_if_an_occurrence_is(client: Client, sample: Source) -> None:
    gap = next(each for each in listed(client, sample)["incidents"] if each["rule"] == "service-gap")
    assert gap["title"] == GAP
    rows = asked(client, sample, "findings", incident=gap["id"])["findings"]
    spans = sorted((row["start"], row["end"]) for row in rows)
    _, ended, began = max((began - ended, ended, began) for (_, ended), (began, _) in pairwise(spans))

    def seen(start: int, end: int) -> list[str]:
        reported = listed(client, sample, start=start, end=end)
        view = scoping.incidents_in_view(sample.pk, FindingFilter(), start, end, limit=50, rows=50)
        assert reported["total"] == len(reported["incidents"]) == view.incidents_total
        assert {each["id"] for each in reported["incidents"]} == {each.incident["id"] for each in view.incidents}
        return [each["rule"] for each in reported["incidents"]]

    assert seen(ended + 1, began - 1) == []  # though the spans of two incidents reach across it
    assert "service-gap" in seen(ended, began - 1) and "service-gap" in seen(ended + 1, began)
    assert "service-gap" in seen(gap["start"] - 1, gap["end"] + 1)


def test_it_comes_page_by_page_and_a_cursor_is_of_one_order(client: Client, sample: Source) -> None:
    first = listed(client, sample, limit=3)
    rest = listed(client, sample, limit=3, cursor=first["next"])
    assert (len(first["incidents"]), len(rest["incidents"]), rest["next"]) == (3, 1, None)
    listed(client, sample, order="time", cursor=first["next"], limit=3)
    asked(client, sample, "incidents", 422, cursor=3)
    asked(client, sample, "incidents", 422, order="newest", cursor=first["next"])
    asked(client, sample, f"incidents/{'0' * 16}", 404)
    for query in ({"severity": "bad"}, {"cursor": "3"}, {"cursor": f"newest.1.1.{'0' * 16}.1"}, {"q": "\0"}):
        assert client.get(of(sample), query).status_code == 400, query
    assert client.get("/sources/999999/incidents/").status_code == 404


def test_the_page_leads_to_the_next_one(client: Client, sample: Source) -> None:
    fields = {name: value for name, value in gap_of(sample).__dict__.items() if name not in ("_state", "identity")}
    Incident.objects.bulk_create(Incident(**fields, identity=f"{number:016x}") for number in range(49))
    link = re.compile(r'<a href="(\?[^"]+)">Next')
    assert not link.search(page(client, of(sample), namespace="vol-restart"))  # 50 of them fit
    first = page(client, of(sample))
    following = link.search(first)
    assert len(TITLE.findall(first)) == 50 and following is not None
    rest = page(client, of(sample) + following[1].replace("&amp;", "&"))
    assert len(TITLE.findall(rest)) == 1
    assert "First page" in rest and "Next ›" not in rest


def test_a_commit_tells_which_incidents_changed_and_which_are_gone() -> None:
    followed = Followed()
    before = followed.commit([])
    followed.commit(sorted(entries_of(SAMPLE), key=lambda entry: entry.staged if isinstance(entry, Entry) else 0))
    of_source = Incident.objects.filter(source=followed.source)
    reported = deltas.missed(followed.source.pk, before)
    assert reported
    assert {each["id"] for each in reported["incidents"]} == set(of_source.values_list("identity", flat=True))
    assert {row["incidents"][0] for row in reported["findings"]} <= {each["id"] for each in reported["incidents"]}
    gap = of_source.get(rule="service-gap").identity
    of_source.filter(rule="service-gap").delete()
    reported = deltas.missed(followed.source.pk, before)
    assert reported and reported["incidents_gone"] == [gap]


def test_an_incident_goes_when_its_last_finding_is_withdrawn(sample: Source) -> None:
    gap = gap_of(sample)
    Finding.objects.filter(source=sample, incident=gap.identity).update(withdrawn=True)
    assert incidents.write(sample, [gap.identity]) == ([], [gap.identity])
    assert not Incident.objects.filter(source=sample, rule="service-gap").exists()


@pytest.fixture
def other(sample: Source) -> Source:
    """Return a source of a connected cluster that shows the same incidents again, newer ones."""
    cluster = Cluster.objects.create(name="prod")
    source = Source.objects.create(name="prod", ready=True, cluster=cluster, last=timezone.now())
    Cluster.objects.update(source=source)
    for found in Finding.objects.filter(source=sample):
        found.source = source
        found.save(force_insert=True)
    incidents.write(source)
    return source


def test_the_list_of_all_sources_comes_newest_first_and_page_by_page(client: Client, other: Source) -> None:
    Incident.objects.filter(source=other, rule="service-gap").update(last=timezone.now(), open=False)
    rows: list[Any] = []
    cursor: Any = ""
    while cursor is not None:
        reported = client.get("/api/incidents", {"limit": 3, "cursor": cursor}).json()
        assert reported["total"] == 8
        rows += reported["incidents"]
        cursor = reported["next"]
    assert (rows[0]["source"], rows[0]["rule"], rows[0]["state"]) == (other.pk, "service-gap", "ongoing")
    assert len({(row["source"], row["id"]) for row in rows}) == 8
    assert [row["end"] for row in rows] == sorted((row["end"] for row in rows), reverse=True)
    ongoing = client.get("/api/incidents", {"state": "ongoing", "rule": "service-gap"}).json()
    assert [row["source"] for row in ongoing["incidents"]] == [other.pk]
    assert client.get("/api/incidents", {"cursor": "newest.1.1.0123456789abcdef"}).status_code == 422


def test_in_the_list_of_all_sources_a_silence_and_a_baseline_hold_for_their_own(
    client: Client, sample: Source, other: Source
) -> None:
    silence(client, source=other.pk, rule="service-gap")
    client.put(f"/api/sources/{sample.pk}/baseline")
    reported = client.get("/api/incidents").json()
    assert (reported["total"], reported["silenced"]) == (4, 4)
    assert {row["source"] for row in reported["incidents"]} == {other.pk}
    every = client.get("/api/incidents", {"silenced": "true"}).json()["incidents"]
    assert {row["source"] for row in every if any(one["silenced"] for one in row["symptoms"])} >= {other.pk}
    assert {row["source"] for row in every if row["silenced"]} == {sample.pk}


def test_what_is_deleted_is_not_in_the_list_of_all_sources(client: Client, sample: Source) -> None:
    Source.objects.filter(pk=sample.pk).update(delete_after=timezone.now())
    assert titles(client, "/incidents/") == []
    assert client.get(of(sample)).status_code == 404
    assert "begin at one of its incidents" in page(client, f"/silences/new?source={sample.pk}")


def test_the_link_of_an_alert_leads_on_to_the_only_incident_or_to_all(client: Client, sample: Source) -> None:
    def landed(question: str) -> str:
        """Return what a reader sees above the timeline to which the link of an alert leads."""
        found = re.search(r'id="landed">(.*?)</p>', client.get(f"/go?{question}", follow=True).content.decode())
        assert found is not None
        return found[1]

    apart = Symptom.objects.get(source=sample, rule="lease-contention").identity
    for connected in (True, False):
        only = f'<a href="{of(sample)}'
        if not connected:  # as an older version of Causeline has stored it
            Finding.objects.filter(source=sample, rule="lease-contention").update(incident=apart)
            incidents.write(sample)
            only = '<a href="([^"]+)">2 incidents</a>'
        several = re.search(only, landed("lease=volcano&at=2026-11-21T07:52:33Z"))
        assert several is not None
    assert several is not None
    address = several[1].replace("&amp;", "&")
    assert len(titles(client, address)) == 2
    assert "of one object and what belongs to its root owner" in page(client, address)
    only = f'<a href="{of(sample)}{gap_of(sample).identity}/">{GAP}</a>'
    assert only in landed("pod=ring-steady-0&at=2026-11-21T07:52:33Z")
    assert f"Part of the incident {only}" in page(client, f"/sources/{sample.pk}/findings/{gap_of(sample).worst}/")

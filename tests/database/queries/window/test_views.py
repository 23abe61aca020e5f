"""These tests show on pages, on the timeline and in reports on which old copies of an object an actor acted."""

import orjson
import pytest
from django.test import Client

from tests import RULES
from tests.database.queries.window.looking import window
from tests.database.storage.sources import asked, imported
from tests.inputs.recordings import findings_of, observations_of, world_of
from timeline.history.packing import ENTRIES, Packer
from timeline.layout.excerpt import excerpt
from timeline.models import Finding, ObjectView, Occurrence, Source, Track

EXCESS = RULES / "stale-view/fires-after-its-job-was-complete.jsonl"


@pytest.fixture
def source(db: None) -> Source:
    return imported(EXCESS)


def test_the_timeline_and_reports_show_the_view_below_the_lane_of_its_object(source: Source) -> None:
    assert source.views == 1
    world = world_of(observations_of(EXCESS))
    for drawn in (window(source), excerpt(world, findings_of(world)).window):
        (shown,) = drawn["views"]
        assert drawn["lanes"][shown["lane"]]["name"] == "report-0"
    later = max(each["time"] for each in shown["uses"]) + 1_000_000
    assert window(source, later, later + 1)["views"] == []


def test_of_several_actors_the_one_with_the_oldest_copy_is_shown_until_the_others_are_opened(source: Source) -> None:
    (row,) = ObjectView.objects.filter(source=source)
    document = orjson.dumps([row.document[0], {**row.document[0], "actor": "another"}])
    ObjectView.objects.filter(source=source).update(document=Packer(ENTRIES).pack(document))
    (first,) = window(source)["views"]
    assert (first["actor"], first["others"]) == ("job-controller", 1)
    opened = window(source, open=(first["key"],))["views"]
    assert [(each["actor"], each["others"]) for each in opened] == [("job-controller", 1), ("another", 0)]
    key = Occurrence.objects.get(source=source, rule="stale-view").key
    proving = window(source, finding=key)["views"]  # its acts prove the selected finding
    assert [(each["actor"], each["others"]) for each in proving] == [("job-controller", 0), ("another", 0)]


def test_pages_and_the_api_compare_the_copy_with_what_stood(source: Source, client: Client) -> None:
    for rule in ("stale-view", "job-excess-pods"):
        finding = Finding.objects.get(rule=rule)
        for page in (f"findings/{finding.identity}", f"incidents/{finding.incident}"):
            answer = client.get(f"/sources/{source.pk}/{page}/")
            view = answer.context["view"]
            assert (view["actor"], view["about"]) == ("job-controller", "Job report-0")
            assert (view["copy"]["copied"], view["copy"]["stood"]) == ("481", "581")
            assert "had seen of" in answer.content.decode()
    path = f"tracks/{Track.objects.get(source=source, kind='Job').id}/copy"
    found = asked(client, source, path, copied="481", stood="581")
    assert (found["name"], found["copied"], found["stood"]) == ("report-0", "481", "581")
    assert any(sign == "+" and "Complete" in text for sign, text in found["lines"])
    asked(client, source, path, 404, copied="481", stood="99999")
    asked(client, source, path, 422, copied="0", stood="581")


@pytest.mark.django_db
def test_a_source_without_acts_on_old_copies_stores_no_view() -> None:
    source = imported(RULES / "stale-view/quiet-the-copy-was-the-newest.jsonl")
    assert source.entries and source.views == 0 and not ObjectView.objects.filter(source=source).exists()

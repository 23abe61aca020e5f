"""These tests show on pages, on the timeline and in reports on which old copies of an object an actor acted."""

import orjson
import pytest
from django.test import Client

from dashboard.drawing.views import picture
from tests import RULES
from tests.database.queries.window.looking import window
from tests.database.storage.sources import asked, imported
from tests.recordings import findings_of, observations_of, world_of
from timeline.history.packing import ENTRIES, Packer
from timeline.layout.excerpt import excerpt
from timeline.models import Finding, Incident, ObjectView, Source, Track
from timeline.payloads.views import ViewPayload, acted_on, views, within

EXCESS = RULES / "stale-view/fires-after-its-job-was-complete.jsonl"


@pytest.fixture
def source(db: None) -> Source:
    return imported(EXCESS)


@pytest.fixture(scope="module")
def found() -> ViewPayload:
    world = world_of(observations_of(EXCESS))
    (owner,) = acted_on(findings_of(world), world)
    (view,) = views(owner, world, lambda track: track.ref.name.count("-"))
    return view


def test_a_view_lists_commits_and_the_acts_on_old_copies_and_is_drawn(found: ViewPayload) -> None:
    assert (found["kind"], found["name"], found["actor"]) == ("Job", "report-0", "job-controller")
    assert {"481", "581"} <= {each["resource_version"] for each in found["commits"]}
    (old,) = [each for each in found["uses"] if each["unseen"] and each["what"].startswith("created")]
    assert old["what"] == "created Pod report-0-r9wx8"
    assert (old["resource_version"], old["unseen"], old["lag"]) == ("481", "581", "≈ 0.979 s")
    assert old["matters"] == "was Complete"
    drawn = picture(found, old["unseen_at"] - 100_000, old["time"] + 100_000, old)
    (act,) = [each for each in drawn.acts if each.main]
    (lag,) = [each for each in drawn.lags if each.text]
    assert (act.copied, act.stood, lag.text) == ("481", "581", "copy ≈ 0.979 s old")
    assert act.top < act.y  # what stood is above the copy
    assert drawn.levels[0].revision == "581"


def test_a_part_of_a_view_without_an_act_on_an_old_copy_is_none(found: ViewPayload) -> None:
    first = min(each["time"] for each in found["uses"] if each["unseen"])
    assert within(found, 0, first - 1) is None
    part = within(found, first, first)
    assert part is not None and [each["time"] for each in part["uses"]] == [first]


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
    opened = window(source, opened=(first["key"],))["views"]
    assert [(each["actor"], each["others"]) for each in opened] == [("job-controller", 1), ("another", 0)]


def test_pages_and_the_api_compare_the_copy_with_what_stood(source: Source, client: Client) -> None:
    for rule in ("stale-view", "job-excess-pods"):
        finding, incident = Finding.objects.get(rule=rule), Incident.objects.get(rule=rule)
        for page in (f"findings/{finding.identity}", f"incidents/{incident.identity}"):
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

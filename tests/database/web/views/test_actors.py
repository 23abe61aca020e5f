"""These tests add up what each actor of a source did, and read it from the page and the API."""

import random

import pytest
from django.test import Client
from msgspec.structs import replace

from collectors.formats import Limits
from collectors.uploads.recordings import Count, import_into
from tests import RULES
from tests.inputs.live import batches
from tests.inputs.recordings import findings_of, observations_of, world_of
from tests.unit.judging.test_live_causes import watched
from timeline.core.entries import Change, Entry
from timeline.judging.activity import activities
from timeline.models import Cluster, Source
from timeline.payloads.actors import ActorRowPayload, actor_row
from timeline.pipeline import follow
from timeline.queries.changes import actors as actors_queries
from timeline.queries.window import windows
from timeline.storage import live, store
from timeline.storage.judged import actors

EXCESS = RULES / "stale-view/fires-after-its-job-was-complete.jsonl"
LEADER = RULES / "write-after-lease-lost/fires-the-old-leader-wakes-up.jsonl"


def rows(*observed: object) -> dict[str, ActorRowPayload]:
    world = world_of(*observed)  # type: ignore[arg-type]
    return {str(each.actor): actor_row(key, each) for key, each in activities(world, findings_of(world)).items()}


@pytest.fixture
def source(db: None) -> Source:
    source = store.open_source("r")
    import_into(source, [(EXCESS, EXCESS.name)], Limits(), Count())
    return source


def test_an_actor_has_its_writes_conflicts_and_the_age_of_its_copies() -> None:
    found = rows(observations_of(EXCESS))["job-controller"]
    assert found["writes"] > 0 and found["busiest"] <= found["writes"]
    assert (found["stale"] > 0, found["raced"], found["unclear"]) == (True, 0, 0)
    assert found["old"] and found["copies"] >= found["old"]
    assert found["worst_lag"] is not None and found["median_lag"] is not None
    assert found["worst_lag"] >= found["median_lag"] > 0
    assert found["findings"] >= 2
    assert not found["bound"]


def test_the_old_and_the_new_leader_are_two_actors_and_one_holds_the_lease_now() -> None:
    found = [each for each in rows(observations_of(LEADER)).values() if each["leases"]]
    assert len(found) == 2 and {each["bound"] for each in found} == {True}
    assert sorted(lease["now"] for each in found for lease in each["leases"]) == [False, True]


def test_a_holder_of_a_lease_of_which_no_write_was_seen_is_no_actor() -> None:
    """A watch begins with a list. It shows who had written each Lease before."""
    leases = [each for each in observations_of(LEADER) if isinstance(each, Entry) and each.ref.kind == "Lease"]
    assert rows(leases)
    assert rows([replace(each, change=Change.OBSERVED) for each in leases]) == {}


def test_what_actors_did_depends_on_no_order_and_no_repetition() -> None:
    for path in (EXCESS, LEADER):
        observed = list(observations_of(path))
        shuffled = [*observed, *observed[::3]]
        random.Random(7).shuffle(shuffled)
        assert rows(shuffled) == rows(observed)


def test_a_page_of_actors_is_sorted_searched_and_bounded(source: Source) -> None:
    found = actors_queries.actors(source.pk)
    writes = [each["writes"] for each in found["actors"]]
    assert writes == sorted(writes, reverse=True) and found["total"] == found["all"] == len(writes)
    assert [each["name"] for each in actors_queries.actors(source.pk, words="job-controller manager")["actors"]] == [
        "job-controller"
    ]
    assert actors_queries.actors(source.pk, words="nobody")["actors"] == []
    named = [each["name"] for each in actors_queries.actors(source.pk, order="name")["actors"]]
    assert named == sorted(named)
    assert actors_queries.actors(source.pk, offset=1, limit=1)["actors"] == found["actors"][1:2]


def test_only_the_actors_with_most_writes_are_kept(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(actors, "ACTORS", 1)
    world = world_of(observations_of(EXCESS))
    before = actors_queries.actors(source.pk)["actors"]
    actors.write(source, actors.added_up(world, findings_of(world)))
    found = actors_queries.actors(source.pk)
    assert found["actors"][0]["name"] == before[0]["name"] and len(found["actors"]) == 1 and found["more"]


def test_the_page_and_the_api_say_the_same(source: Source, client: Client) -> None:
    answer = client.get(f"/sources/{source.pk}/actors/", {"q": "job-controller", "order": "lag"})
    assert answer.status_code == 200
    (shown,) = answer.context["rows"]
    (listed,) = client.get(f"/api/sources/{source.pk}/actors", {"q": "job-controller"}).json()["actors"]
    assert shown["id"] == listed["id"]
    page = answer.content.decode()
    assert f"/sources/{source.pk}/?actor=" in page and "possibly several processes" in page
    assert client.get(f"/sources/{source.pk}/actors/", {"order": "no", "offset": "x"}).status_code == 200
    assert client.get(f"/api/sources/{source.pk}/actors", {"order": "no"}).status_code == 422
    assert client.get("/sources/999999/actors/").status_code == 404
    assert client.get("/api/sources/999999/actors").status_code == 404


@pytest.mark.django_db
def test_a_live_source_lists_its_actors_and_the_copies_on_which_they_acted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "_TOTALS_EVERY", 0.0)
    monkeypatch.setattr(live, "_TOTALS_SHARE", 0)
    held = live.open_again(live.begin(Cluster.objects.create(name="prod")))
    log = observations_of(EXCESS)
    for batch in batches([*watched(log), *log], 200):
        follow(held, batch)
    (found,) = actors_queries.actors(held.source.pk, words="job-controller 127.0.0.1")["actors"]
    assert found == rows(log)["job-controller"] | {"findings": found["findings"]}
    assert found["findings"] >= 2
    window = windows.window(held.source.pk)
    assert [each["actor"] for each in window["views"]] == ["job-controller"]

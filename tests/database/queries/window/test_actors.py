"""These tests ask who changed what: as a filter, as a heading of lanes, and beside everything that is drawn."""

import json
from typing import Any

import pytest
from django.test import Client

from tests import RULES
from tests.database.queries.window.looking import change, key_of, names, paged, window
from tests.database.storage.sources import asked, ingested
from tests.inputs import events
from timeline.core.actors import is_called
from timeline.kinds import NOISE
from timeline.models import Source, Track
from timeline.payloads.windows import WindowPayload
from timeline.queries.window.overview import overview

pytestmark = pytest.mark.django_db


def recorded(*lines: dict[str, Any]) -> Source:
    return ingested(events.entries_of(*lines))


@pytest.fixture
def two() -> Source:
    """Return a source in which ann creates the Pods a and b, bob starts a, and nothing says who starts b."""
    return recorded(
        change("a", 1),
        change("b", 2),
        change("a", 3, by="bob", agent="kubectl/v1.31 (linux)", verb="update", phase="Running"),
        change("b", 4, by="", verb="update", phase="Running"),
    )


def test_everything_that_is_drawn_says_who_made_it(two: Source) -> None:
    shown = window(two)

    def drawn_by(columns: str, text: str) -> list[str]:
        table: Any = shown[columns]  # type: ignore[literal-required]
        drawn = zip(table["actor"], table["text"], strict=True)
        return sorted(shown["actors"][actor] for actor, words in drawn if words == text)

    assert [shown["actors"][actor] for actor in shown["births"]["actor"]] == ["ann", "ann"]
    assert drawn_by("bars", "Pending") == ["ann", "ann"]
    assert drawn_by("bars", "Running") == drawn_by("marks", "running") == ["", "bob"]


def test_a_mark_of_several_actors_names_none_of_them() -> None:
    lines = [
        change("p", 2 + number / 1e6, by=f"user {number}", verb="update", phase="Running" if number % 2 else "Pending",
               resourceVersion=str(200 + number))
        for number in range(40)  # so many within a second that they are merged
    ]  # fmt: skip
    assert -1 in window(recorded(change("p", 1), *lines, change("q", 59)))["marks"]["actor"]


def test_the_filter_keeps_the_lanes_that_an_actor_changed(two: Source) -> None:
    lanes = {actor: names(window(two, actor=actor)) for actor in ("", "ann", "bob", "?", "bo", "%")}
    assert lanes == {"": ["a", "b"], "ann": ["a", "b"], "bob": ["a"], "?": ["b"], "bo": [], "%": []}


def grouped(shown: WindowPayload) -> list[tuple[str, str, int]]:
    return [(group["key"], group["label"], group["lanes"]) for group in shown["groups"]]


def test_lanes_stand_under_the_actor_that_created_them(two: Source, sample: Source) -> None:
    assert grouped(window(two, group="actor")) == [("ann", "ann", 2)]
    whole = window(sample, group="actor")
    of_groups = [group["key"] for group in whole["groups"]]
    assert of_groups == sorted(of_groups)
    assert sorted(names(whole)) == sorted(names(window(sample)))
    created = {key_of(head): head.creator for head in Track.objects.filter(source=sample, span__isnull=False)}
    assert all(lane["group"] == created[lane["key"]] for lane in whole["lanes"])
    assert sum(group["lanes"] for group in whole["groups"]) == whole["lanes_total"]
    paged(whole, sample, 7, group="actor")
    first = whole["groups"][0]["key"]
    closed = window(sample, group="actor", closed=(first,))
    assert (closed["groups"][0]["closed"], closed["groups"][0]["key"]) == (True, first)
    assert closed["lanes_total"] == whole["lanes_total"] - whole["groups"][0]["lanes"] + 1


def test_who_created_what_was_there_before_is_not_known() -> None:
    source = recorded(change("p", 1, by="bob", verb="update"))
    assert grouped(window(source, group="actor")) == [("", "not known", 1)]
    assert names(window(source, actor="bob")) == ["p"]


def test_lanes_of_a_strip_stand_under_their_own_creators() -> None:
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "job", "controller": True}
    whose = ["bob", "ann"] * 15
    lines = [change(f"p{at:02d}", at, by=by, ownerReferences=[owner]) for at, by in enumerate(whose)]
    source = recorded(*lines)
    assert grouped(window(source, group="actor")) == [("ann", "ann", 15), ("bob", "bob", 15)]
    assert len(window(source, actor="bob")["lanes"]) == 15, "a strip would also show those of ann"


def test_an_overview_lists_actors_with_their_changes(two: Source, sample: Source) -> None:
    assert list(map(tuple, overview(two.pk)["actors"])) == [("ann", 2), ("", 1), ("bob", 1)]
    counts = [changes for _, changes in overview(sample.pk)["actors"]]
    assert counts == sorted(counts, reverse=True)
    tracks = Track.objects.filter(source=sample).exclude(family__in=NOISE)
    assert sum(counts) == sum(len(track.lifeline) for track in tracks)


def test_incidents_and_findings_are_those_whose_proofs_an_actor_wrote(client: Client, sample: Source) -> None:
    whole = asked(client, sample, "incidents")["incidents"]
    assert whole
    for actor in ("admin", "vc-cm-head (admin)", "vc-cm-head", "ann", "ops/admin", "?"):
        his = asked(client, sample, "incidents", actor=actor)["incidents"]
        assert his == [each for each in whole if any(is_called(one, actor) for one in each["actors"])]
        assert bool(his) == (actor in ("admin", "vc-cm-head (admin)"))
        rows = asked(client, sample, "findings", actor=actor)["findings"]
        assert {incident for row in rows for incident in row["incidents"]} == {each["id"] for each in his}


def test_what_nobody_is_named_for_is_an_actor_of_its_own(client: Client) -> None:
    gap = (RULES / "service-gap" / "fires-plain-pods.jsonl").read_text(encoding="utf-8").splitlines()
    source = recorded(*({**json.loads(line), "user": {}, "userAgent": ""} for line in gap))
    assert asked(client, source, "incidents", actor="?")["total"] == 1
    page = client.get(f"/sources/{source.pk}/incidents/", query_params={"actor": "?"}).text
    assert "1 incident · 1 symptom · 3 findings" in page
    assert '<option value="?" selected>not known</option>' in page


def test_any_name_of_an_actor_is_only_a_name(client: Client, two: Source) -> None:
    for hostile in ("%", "_", "'", '"', "\\", "a,b", "\x01\x1b", "x" * 1000, "\u202e", "{}", "$1"):
        assert asked(client, two, "window", actor=hostile, group="actor")["lanes"] == [], hostile

"""These tests ask who changed what: as a filter, as a heading of lanes, and beside everything that is drawn."""

import json
from typing import Any

import pytest
from django.test import Client

from tests import ROOT, events, stored
from tests.database.queries.test_queries import window
from timeline.core.entries import _writer, writer
from timeline.history.world.world import World
from timeline.kinds import NOISE
from timeline.models import Source, Track
from timeline.payloads.windows import WindowPayload
from timeline.pipeline import ingest
from timeline.queries.window.overview import overview

pytestmark = pytest.mark.django_db


def change(name: str, second: int, **changes: Any) -> dict[str, Any]:
    """Return the creation of a Pod, or another write of it, in a second after midnight."""
    time = f"2026-11-21T00:00:{second:02d}.000000Z"
    reference = {**events.event()["objectRef"], "name": name}
    body = events.pod(name=name, uid=f"uid-of-{name}", resourceVersion=str(100 + second))
    body["status"]["phase"] = changes.pop("phase", "Pending")
    code = 200 if "verb" in changes else 201
    made = {
        "responseStatus": {"code": code},
        "auditID": f"{name}{second}",
        "objectRef": reference,
        "responseObject": body,
        **changes,
    }
    return events.event(**made, requestReceivedTimestamp=time, stageTimestamp=time)


def recorded(*lines: dict[str, Any]) -> Source:
    source = stored.opened()
    ingest(source, World(), events.entries_of(*lines))
    return source


def by(user: str, agent: str = "") -> dict[str, Any]:
    return {"user": {"username": user}, "userAgent": agent}


@pytest.fixture
def two() -> Source:
    """Return a source in which ann creates the Pods a and b, bob starts a, and nothing says who starts b."""
    return recorded(
        change("a", 1, **by("ann")),
        change("b", 2, **by("ann")),
        change("a", 3, **by("bob", "kubectl/v1.31 (linux)"), verb="update", phase="Running"),
        change("b", 4, **by(""), verb="update", phase="Running"),
    )


def drawn_by(shown: WindowPayload, columns: str, text: str) -> list[str]:
    """Return who made the changes of the bars or marks with a text."""
    table: Any = shown[columns]  # type: ignore[literal-required]
    return [shown["actors"][actor] for actor, words in zip(table["actor"], table["text"], strict=True) if words == text]


def lanes(shown: WindowPayload) -> list[str]:
    return [lane["name"] for lane in shown["lanes"]]


@pytest.mark.parametrize(
    ("account", "agent", "who"),
    [
        ("ann", "kubectl/v1.31", "ann"),
        ("", "kubelet/v1.31 (linux/amd64)", "kubelet"),
        ("", "kubectl-client-side-apply", "kubectl-client-side-apply"),
        (None, None, ""),
        ("a\0" + "b" * 500, "", "a\ufffd" + "b" * 251),
    ],
)
def test_an_actor_is_an_account_or_else_a_program(account: str | None, agent: str | None, who: str) -> None:
    assert writer(account, agent) == who


def test_long_user_agents_are_not_remembered_whole() -> None:
    assert writer(None, "a" * 300_000) == "a" * 253
    found = _writer.cache_info().currsize
    assert writer(None, "a" * 300_001) == "a" * 253  # is the same to the cache
    assert _writer.cache_info().currsize == found


def test_everything_that_is_drawn_says_who_made_it(two: Source) -> None:
    shown = window(two)
    assert [shown["actors"][actor] for actor in shown["births"]["actor"]] == ["ann", "ann"]
    assert sorted(drawn_by(shown, "bars", "Pending")) == ["ann", "ann"]
    assert sorted(drawn_by(shown, "bars", "Running")) == ["", "bob"]
    assert sorted(drawn_by(shown, "marks", "running")) == ["", "bob"]


def test_a_mark_of_several_actors_names_none_of_them() -> None:
    lines = [change("p", 1, **by("ann"))]
    for number in range(40):  # so many within a second that they are merged
        line = change("p", 2, **by(f"user {number}"), verb="update", phase="Running" if number % 2 else "Pending")
        line["responseObject"]["metadata"]["resourceVersion"] = str(200 + number)
        line["auditID"] = f"of {number}"
        time = f"2026-11-21T00:00:02.0000{number:02d}Z"
        lines.append({**line, "requestReceivedTimestamp": time, "stageTimestamp": time})
    source = recorded(*lines, change("q", 59, **by("ann")))
    assert -1 in window(source)["marks"]["actor"]


def test_the_filter_keeps_the_lanes_that_an_actor_changed(two: Source) -> None:
    assert lanes(window(two)) == ["a", "b"]
    assert lanes(window(two, actor="ann")) == ["a", "b"]
    assert lanes(window(two, actor="bob")) == ["a"]
    assert lanes(window(two, actor="?")) == ["b"], "nothing says who started b"
    assert lanes(window(two, actor="bo")) == lanes(window(two, actor="%")) == []


def test_lanes_stand_under_the_actor_that_created_them(two: Source, sample: Source) -> None:
    shown = window(two, grouping="actor")
    assert [(group["key"], group["label"], group["lanes"]) for group in shown["groups"]] == [("ann", "ann", 2)]
    shown = window(sample, grouping="actor")
    keys = [group["key"] for group in shown["groups"]]
    assert keys == sorted(keys)
    assert sorted(lanes(shown)) == sorted(lanes(window(sample)))
    heads = Track.objects.filter(source=sample, span__isnull=False)
    created = {(head.kind, head.namespace, head.name): head.creator for head in heads}
    assert all(lane["group"] == created[lane["kind"], lane["namespace"], lane["name"]] for lane in shown["lanes"])
    assert sum(group["lanes"] for group in shown["groups"]) == shown["lanes_total"]


def test_who_created_what_was_there_before_is_not_known() -> None:
    source = recorded(change("p", 1, **by("bob"), verb="update"))
    (group,) = window(source, grouping="actor")["groups"]
    assert (group["key"], group["label"]) == ("", "not known")
    assert lanes(window(source, actor="bob")) == ["p"]


def test_pages_of_lanes_by_actor_follow_each_other(sample: Source) -> None:
    whole = window(sample, grouping="actor")
    keys = [lane["key"] for lane in whole["lanes"]]
    found = [
        lane["key"]
        for at in range(0, len(keys), 7)
        for lane in window(sample, offset=at, limit=7, grouping="actor")["lanes"]
    ]
    assert found == keys
    first = whole["groups"][0]["key"]
    closed = window(sample, grouping="actor", closed=(first,))
    assert (closed["groups"][0]["closed"], closed["groups"][0]["key"]) == (True, first)
    assert closed["lanes_total"] == whole["lanes_total"] - whole["groups"][0]["lanes"] + 1


def test_lanes_of_a_strip_stand_under_their_own_creators() -> None:
    lines = [change(f"p{number:02d}", number, **by("ann" if number % 2 else "bob")) for number in range(30)]
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "job", "controller": True}
    for line in lines:
        line["responseObject"]["metadata"]["ownerReferences"] = [owner]
    source = recorded(*lines)
    assert {group["key"]: group["lanes"] for group in window(source, grouping="actor")["groups"]} == {
        "ann": 15,
        "bob": 15,
    }
    assert len(window(source, actor="bob")["lanes"]) == 15, "a strip would also show those of ann"


def test_an_overview_lists_actors_with_their_changes(two: Source, sample: Source) -> None:
    assert list(map(tuple, overview(two.pk)["actors"])) == [("ann", 2), ("", 1), ("bob", 1)]
    counts = [changes for _, changes in overview(sample.pk)["actors"]]
    assert counts == sorted(counts, reverse=True)
    tracks = Track.objects.filter(source=sample).exclude(family__in=NOISE)
    assert sum(counts) == sum(len(track.lifeline) for track in tracks)


def test_incidents_and_findings_are_those_whose_proofs_an_actor_wrote(client: Client, sample: Source) -> None:
    api = f"/api/sources/{sample.pk}"
    whole = client.get(f"{api}/incidents").json()
    assert whole["total"] > 0
    for actor in ("admin", "ann", "?"):
        his = client.get(f"{api}/incidents", query_params={"actor": actor}).json()
        assert his["incidents"] == [each for each in whole["incidents"] if actor in each["actors"]]
        rows = client.get(f"{api}/findings", query_params={"actor": actor}).json()["findings"]
        assert {incident for row in rows for incident in row["incidents"]} == {each["id"] for each in his["incidents"]}


def test_what_nobody_is_named_for_is_an_actor_of_its_own(client: Client) -> None:
    source = stored.opened()
    lines = [{**line, "user": {}, "userAgent": ""} for line in _gap()]
    ingest(source, World(), events.entries_of(*lines))
    api = f"/api/sources/{source.pk}"
    assert client.get(f"{api}/incidents", query_params={"actor": "?"}).json()["total"] == 1
    page = client.get(f"/sources/{source.pk}/incidents/", query_params={"actor": "?"}).text
    assert "1 incident · 3 findings" in page
    assert '<option value="?" selected>not known</option>' in page


def _gap() -> list[dict[str, Any]]:

    fixture = ROOT / "tests/rules/service-gap/fires-plain-pods.jsonl"
    return [json.loads(line) for line in fixture.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("hostile", ["%", "_", "'", '"', "\\", "a,b", "\x01\x1b", "x" * 1000, "\u202e", "{}", "$1"])
def test_any_name_of_an_actor_is_only_a_name(client: Client, two: Source, hostile: str) -> None:
    answer = client.get(f"/api/sources/{two.pk}/window", query_params={"actor": hostile, "group": "actor"})
    assert (answer.status_code, answer.json()["lanes"]) == (200, [])

"""These tests check that a search by kind, node or image narrows lanes, findings, incidents and lists alike."""

from typing import Any

import pytest
from django.test import Client

from tests.database.queries.window.looking import names, window
from tests.database.storage.sources import asked
from timeline.kinds import NOISE
from timeline.models import Source, Track

pytestmark = pytest.mark.django_db


def lanes(source: Source, **filter_: Any) -> list[str]:
    return sorted(names(window(source, **filter_)))


def those(source: Source, **conditions: Any) -> list[str]:
    tracks = Track.objects.filter(source=source, span__isnull=False, **conditions).exclude(family__in=NOISE)
    return sorted(tracks.values_list("name", flat=True))


def test_lanes_are_those_of_a_kind_node_or_image(sample: Source) -> None:
    assert lanes(sample, kind=("deploy",)) == those(sample, kind="Deployment") != []
    assert lanes(sample, kind=("po", "leases")) == sorted(those(sample, kind="Pod") + those(sample, kind="Lease"))
    on_node = {track.lane for track in Track.objects.filter(source=sample) if "on node-004" in track.clues.split("\n")}
    assert lanes(sample, node="NODE-004") == those(sample, lane__in=on_node) != []
    assert lanes(sample, node="node-00") == []
    assert set(lanes(sample, node="node-00*")) > set(lanes(sample, node="node-004"))
    assert "node-004" in lanes(sample, node="node-004", noise=True)
    (clue, *_) = (
        line
        for track in Track.objects.filter(source=sample, kind="Pod")
        for line in track.clues.split("\n")
        if line.startswith("image ")
    )
    image = clue.split(" ")[1]
    assert lanes(sample, image=image[2:].upper()) == lanes(sample, image=image) != []
    assert lanes(sample, image="no-such.image") == lanes(sample, image="in container") == []
    assert lanes(sample, image=image, node="node-004", kind=("svc",)) == []


def test_findings_and_incidents_are_those_that_name_such_objects(client: Client, sample: Source) -> None:
    whole = asked(client, sample, "incidents")["incidents"]
    found = asked(client, sample, "incidents", node="node-004")["incidents"]
    assert found and [each["id"] for each in found] == [
        each["id"] for each in whole if each["id"] in {row["id"] for row in found}
    ]
    assert len(found) < len(whole)
    rows = asked(client, sample, "findings", node="node-004")["findings"]
    assert {incident for row in rows for incident in row["incidents"]} == {each["id"] for each in found}
    assert asked(client, sample, "incidents", q="node:node-004")["incidents"] == found
    assert asked(client, sample, "incidents", kind="deploy")["incidents"] != found
    for row in asked(client, sample, "findings")["findings"]:
        rows = asked(client, sample, "incidents", q=row["findings"][0]["subject"]["name"])["incidents"]
        assert {each["id"] for each in rows} >= {*row["incidents"]}


def test_lists_and_the_api_read_the_terms_of_a_search(client: Client, sample: Source) -> None:
    answer = client.get("/api/incidents", {"q": "ns:vol-restart is:over ring"}).json()
    assert answer["incidents"] and {each["anchor"]["namespace"] for each in answer["incidents"]} == {"vol-restart"}
    assert answer == client.get("/api/incidents", {"namespace": "vol-restart", "state": "over", "q": "ring"}).json()
    first = answer["incidents"][0]
    for name in (first["id"], first["name"]):
        assert first in client.get("/api/incidents", {"q": name}).json()["incidents"]
        found = client.get(f"/api/sources/{sample.pk}/search", {"q": name}).json()["findings"]
        assert found and {identity for each in found for identity in each["incidents"]} == {first["id"]}
    refused = client.get("/api/incidents", {"q": "node:node-004"})
    assert refused.status_code == 422 and "one cluster or recording" in refused.text
    page = client.get("/incidents/", {"q": "node:node-004"})
    assert page.status_code == 200 and "The list is not narrowed by the search" in page.text
    assert client.post("/incidents/?q=node:node-004", {"act": "acknowledge", "all": "1"}).status_code == 400
    assert "The list is not narrowed" not in client.get(f"/sources/{sample.pk}/incidents/?q=node:node-004").text


def test_a_search_with_terms_answers_with_the_filter_that_it_means(client: Client, sample: Source) -> None:
    def search(text: str) -> Any:
        return client.get(f"/api/sources/{sample.pk}/search", {"q": text}).json()

    assert search("ns:vol-restart kind:pod ring")["filter"] == {
        "namespace": "vol-restart",
        "kinds": "Pods",
        "name": "ring",
    }
    assert search("ring")["filter"] is None and search("ring")["objects"]
    assert "error, warning, info" in search("severity:bad")["wrong"]

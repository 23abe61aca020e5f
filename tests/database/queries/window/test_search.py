"""These tests search a source: for names, and for nodes, images, addresses, UIDs and actors."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from pytest_django import DjangoDbBlocker

from tests.database.queries.window.looking import change, timed
from tests.database.storage.sources import asked, ingested, lasting
from tests.inputs import events
from tests.properties import examples
from timeline.models import Source, Track
from timeline.payloads.windows import FoundObjectPayload
from timeline.queries.window.search import FOUND, search

pytestmark = pytest.mark.django_db
UID = "0af3c1de-7b52-4e1c-9d3a-6f0b2c4d8e10"
NGINX = "registry.example/shop/nginx"


def placed(name: str, second: int, node: str, image: str, address: str = "", **changes: Any) -> dict[str, Any]:
    """Return the creation of a Pod that already has a node, an image and an address."""
    line = change(name, second, **changes)
    line["responseObject"]["spec"] = {"nodeName": node, "containers": [{"name": "web", "image": image}]}
    line["responseObject"]["status"] |= {"podIP": address, "podIPs": [{"ip": address}]} if address else {}
    return line


def service() -> dict[str, Any]:
    body = {
        "kind": "Service",
        "apiVersion": "v1",
        "metadata": {"name": "front", "namespace": "n", "uid": "uid-of-front", "resourceVersion": "140"},
        "spec": {"clusterIP": "10.96.0.10", "type": "LoadBalancer"},
        "status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.44"}, {"hostname": "lb.example.org"}]}},
    }
    reference = {"resource": "services", "namespace": "n", "name": "front", "apiVersion": "v1"}
    return timed(4, auditID="front", objectRef=reference, responseObject=body)


@pytest.fixture(scope="module")
def shop(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Source]:
    lines = [
        placed("web-0", 1, "node-3", f"{NGINX}:1.27", "10.0.3.7", uid=UID),
        placed("web-0", 5, "node-3", f"{NGINX}:1.27", "10.0.3.7", uid=UID, verb="delete", by="bob"),
        placed("web-0", 9, "node-4", f"{NGINX}:1.28", "10.0.4.9", uid=UID[:-1] + "1"),
        placed("node-3-agent", 2, "node-30", "agent", "fd00::12"),
        placed("db-0", 3, "node-3", "postgres:18", "10.0.3.70"),
        service(),
        change("p%_x", 6, by="system:serviceaccount:shop:deployer"),
    ]
    with lasting(django_db_blocker, events.entries_of(*lines), "shop") as source:
        yield source


def found(source: Source, text: str) -> list[FoundObjectPayload]:
    return search(source.pk, text)["objects"]


def said(source: Source, text: str) -> list[str]:
    return [f"{each['kind']} {each['name']} · {each['why']}" for each in found(source, text)]


@pytest.mark.parametrize("text", ["Pods on node-3", "node-3 pod", "PO node-3", "on NODE-3 pods"])
def test_a_node_finds_its_pods_and_not_at_first_those_of_another(shop: Source, text: str) -> None:
    assert sorted(said(shop, text)[:2]) == ["Pod db-0 · on node-3", "Pod web-0 · on node-3"]


@pytest.mark.parametrize(
    ("text", "hits"),
    [
        ("node-3-agent", ["Pod node-3-agent · "]),  # its name says why
        ("10.0.3.7", ["Pod web-0 · address 10.0.3.7", "Pod db-0 · address 10.0.3.70"]),
        ("10.0.3.70", ["Pod db-0 · address 10.0.3.70"]),
        ("fd00:0:0::12", ["Pod node-3-agent · address fd00::12"]),
        ("10.96.0.10", ["Service front · address 10.96.0.10"]),
        ("192.0.2.44", ["Service front · address 192.0.2.44"]),
        ("lb.example", ["Service front · address lb.example.org"]),
        ("postgres", ["Pod db-0 · image postgres:18 in container web"]),
        ("Shop/NGINX:1.28", [f"Pod web-0 · image {NGINX}:1.28 in container web"]),
        ("image agent", ["Pod node-3-agent · image agent in container web"]),
    ],
)
def test_a_name_an_address_and_a_part_of_an_image_find_objects_and_say_why(
    shop: Source, text: str, hits: list[str]
) -> None:
    assert said(shop, text) == hits


def test_eight_characters_of_a_uid_find_that_incarnation(shop: Source) -> None:
    row = Track.objects.get(source=shop, uid=UID)
    for length in (8, 9, 20, len(UID)):
        (first,) = found(shop, UID[:length].upper() if length < len(UID) else UID)
        assert (first["name"], first["why"]) == ("web-0", f"UID {UID}")
        assert (first["track"], first["start"]) == (row.id, int(row.life.lower.timestamp() * 1_000_000))
    for text in (UID[:7], "life-1", UID[9:], "zzzzzzzz"):
        assert found(shop, text) == []
    (one,) = found(shop, UID[:-1] + "1")
    (other,) = found(shop, "node-4")
    assert one["track"] == other["track"] == Track.objects.get(source=shop, uid=UID[:-1] + "1").id


def test_actors_are_found_by_parts_of_their_names(shop: Source, client: Client) -> None:
    answer = asked(client, shop, "search", q="DEPLOYER shop")
    assert answer["actors"] == [{"name": "system:serviceaccount:shop:deployer", "changes": 1}]
    assert [each["name"] for each in search(shop.pk, "bob")["actors"]] == ["bob"]
    asked(client, shop, "search", 422, q="x" * 1001)


def test_hits_are_limited_and_more_is_said() -> None:
    lines = [placed(f"web-{number:02d}", number, "node-1", "nginx") for number in range(FOUND + 5)]
    source = ingested(events.entries_of(*lines))
    answer = search(source.pk, "node-1")
    assert (len(answer["objects"]), answer["more"]) == (FOUND, True)
    assert search(source.pk, "web-07")["more"] is False


def test_signs_of_patterns_are_only_signs(shop: Source) -> None:
    for text in ("%", "_", "p%_x"):
        assert [each["name"] for each in found(shop, text)] == ["p%_x"], text
    for text in ("p_%x", "w%", "\\", "'", '"'):
        assert found(shop, text) == [], text


@given(text=st.text(max_size=300))
@examples(10, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_is_only_a_text(shop: Source, client: Client, text: str) -> None:
    search(shop.pk, text)
    answer = client.get(f"/api/sources/{shop.pk}/search", query_params={"q": text.encode("utf-8", "replace")})
    assert answer.status_code == (422 if "\0" in text else 200)


@given(st.data())
@examples(10, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_track_is_found_by_each_part_of_what_it_is_known_by(shop: Source, data: st.DataObject) -> None:
    row = data.draw(st.sampled_from(list(Track.objects.filter(source=shop))))
    known = [row.name, row.namespace, row.uid, *row.addresses, *row.clues.split("\n")]
    whole = data.draw(st.sampled_from([each for each in known if each]))
    words = whole.split()
    if whole != row.uid:
        start = data.draw(st.integers(0, len(words[-1]) - 1))
        words[-1] = words[-1][start:]
    hits = found(shop, " ".join(words))
    assert row.lane in {Track.objects.get(source=shop, id=each["track"]).lane for each in hits}

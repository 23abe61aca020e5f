"""These tests search a source: for names, and for nodes, images, addresses, UIDs and actors."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from tests import events, stored
from tests.database.queries.test_actors import by, change
from tests.properties import examples
from timeline.history.world.world import World
from timeline.models import Source, Track
from timeline.payloads.windows import FoundObjectPayload
from timeline.pipeline import ingest
from timeline.queries.window.search import FOUND, search
from timeline.storage import store

pytestmark = pytest.mark.django_db
UID = "0af3c1de-7b52-4e1c-9d3a-6f0b2c4d8e10"


def placed(name: str, second: int, node: str, image: str, address: str = "", uid: str = "", **changes: Any) -> Any:
    """Return the creation of a Pod that already has a node, an image and an address."""
    line = change(name, second, **{**by("ann"), **changes})
    body = line["responseObject"]
    body["spec"] = {"nodeName": node, "containers": [{"name": "web", "image": image}]}
    body["status"] |= {"podIP": address, "podIPs": [{"ip": address}]} if address else {}
    body["metadata"] |= {"uid": uid} if uid else {}
    return line


def service(name: str, second: int, cluster_ip: str, balancer: str) -> dict[str, Any]:
    time = f"2026-11-21T00:00:{second:02d}.000000Z"
    body = {
        "kind": "Service",
        "apiVersion": "v1",
        "metadata": {"name": name, "namespace": "n", "uid": f"uid-of-{name}", "resourceVersion": str(100 + second)},
        "spec": {"clusterIP": cluster_ip, "type": "LoadBalancer"},
        "status": {"loadBalancer": {"ingress": [{"ip": balancer}, {"hostname": "lb.example.org"}]}},
    }
    reference = {"resource": "services", "namespace": "n", "name": name, "apiVersion": "v1"}
    line = {"auditID": name, "objectRef": reference, "responseObject": body}
    return events.event(**line, requestReceivedTimestamp=time, stageTimestamp=time)


@pytest.fixture(scope="module")
def shop(django_db_setup: None, django_db_blocker: Any) -> Iterator[Source]:
    gone = {"verb": "delete", **by("bob")}
    with django_db_blocker.unblock():
        source = stored.opened("shop")
        lines = [
            placed("web-0", 1, "node-3", "registry.example/shop/nginx:1.27", "10.0.3.7", UID),
            placed("web-0", 5, "node-3", "registry.example/shop/nginx:1.27", "10.0.3.7", UID, **gone),
            placed("web-0", 9, "node-4", "registry.example/shop/nginx:1.28", "10.0.4.9", UID[:-1] + "1"),
            placed("node-3-agent", 2, "node-30", "agent", "fd00::12"),
            placed("db-0", 3, "node-3", "postgres:18", "10.0.3.70"),
            service("front", 4, "10.96.0.10", "192.0.2.44"),
            change("p%_x", 6, **by("system:serviceaccount:shop:deployer")),
        ]
        ingest(source, World(), events.entries_of(*lines))
    yield source
    with django_db_blocker.unblock():
        store.discard_source(source)


def found(source: Source, text: str) -> list[FoundObjectPayload]:
    return search(source.pk, text)["objects"]


def said(source: Source, text: str) -> list[str]:
    return [f"{each['kind']} {each['name']} · {each['why']}" for each in found(source, text)]


@pytest.mark.parametrize("text", ["Pods on node-3", "node-3 pod", "PO node-3", "on NODE-3 pods"])
def test_a_node_finds_its_pods_and_not_at_first_those_of_another(shop: Source, text: str) -> None:
    hits = said(shop, text)
    assert sorted(hits[:2]) == ["Pod db-0 · on node-3", "Pod web-0 · on node-3"]


def test_what_is_named_like_the_words_says_no_reason(shop: Source) -> None:
    assert said(shop, "node-3-agent") == ["Pod node-3-agent · "]


@pytest.mark.parametrize(
    ("text", "hits"),
    [
        ("10.0.3.7", ["Pod web-0 · address 10.0.3.7", "Pod db-0 · address 10.0.3.70"]),
        ("10.0.3.70", ["Pod db-0 · address 10.0.3.70"]),
        ("fd00:0:0::12", ["Pod node-3-agent · address fd00::12"]),
        ("10.96.0.10", ["Service front · address 10.96.0.10"]),
        ("192.0.2.44", ["Service front · address 192.0.2.44"]),
        ("lb.example", ["Service front · address lb.example.org"]),
    ],
)
def test_an_address_finds_pods_services_and_load_balancers(shop: Source, text: str, hits: list[str]) -> None:
    assert said(shop, text) == hits


def test_a_part_of_an_image_finds_pods_and_their_containers(shop: Source) -> None:
    assert said(shop, "postgres") == ["Pod db-0 · image postgres:18 in container web"]
    assert said(shop, "Shop/NGINX:1.28") == ["Pod web-0 · image registry.example/shop/nginx:1.28 in container web"]
    assert said(shop, "image agent") == ["Pod node-3-agent · image agent in container web"]


@pytest.mark.parametrize("length", [8, 9, 20, len(UID)])
def test_a_uid_or_its_beginning_finds_that_incarnation(shop: Source, length: int) -> None:
    first, *others = found(shop, UID[:length].upper() if length < len(UID) else UID)
    assert (first["name"], first["why"], others) == ("web-0", f"UID {UID}", [])
    row = Track.objects.get(source=shop, uid=UID)
    assert (first["track"], first["start"]) == (row.id, int(row.life.lower.timestamp() * 1_000_000))


def test_the_later_incarnation_of_a_name_is_found_as_well(shop: Source) -> None:
    (one,) = found(shop, UID[:-1] + "1")
    (other,) = found(shop, "node-4")
    assert one["track"] == other["track"] == Track.objects.get(source=shop, uid=UID[:-1] + "1").id


@pytest.mark.parametrize("text", [UID[:7], "life-1", UID[9:], "zzzzzzzz"])
def test_less_than_eight_characters_of_a_uid_find_nothing(shop: Source, text: str) -> None:
    assert found(shop, text) == []


def test_actors_are_found_by_parts_of_their_names(shop: Source, client: Client) -> None:
    answer = client.get(f"/api/sources/{shop.pk}/search", query_params={"q": "DEPLOYER shop"}).json()
    assert answer["actors"] == [{"name": "system:serviceaccount:shop:deployer", "changes": 1}]
    assert [each["name"] for each in search(shop.pk, "bob")["actors"]] == ["bob"]


def test_hits_are_limited_and_more_is_said(django_db_blocker: Any) -> None:
    source = stored.opened()
    lines = [placed(f"web-{number:02d}", number, "node-1", "nginx") for number in range(FOUND + 5)]
    ingest(source, World(), events.entries_of(*lines))
    answer = search(source.pk, "node-1")
    assert (len(answer["objects"]), answer["more"]) == (FOUND, True)
    assert search(source.pk, "web-07")["more"] is False


@pytest.mark.parametrize(
    ("text", "names"),
    [("%", ["p%_x"]), ("_", ["p%_x"]), ("p%_x", ["p%_x"]), ("p_%x", []), ("w%", []), ("\\", []), ("'", []), ('"', [])],
)
def test_signs_of_patterns_are_only_signs(shop: Source, text: str, names: list[str]) -> None:
    assert [each["name"] for each in found(shop, text)] == names


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


@pytest.mark.parametrize("text", ["a" * 1000, "a " * 400, "\x01\x1b[31m", "\u202e\ud7ff", "' OR 1=1 --", "E'\\n'"])
def test_hostile_texts_are_harmless(shop: Source, client: Client, text: str) -> None:
    assert client.get(f"/api/sources/{shop.pk}/search", query_params={"q": text}).status_code == 200
    assert client.get(f"/api/sources/{shop.pk}/search", query_params={"q": "x" * 1001}).status_code == 422

"""These tests hold the pages and the API of routes, destinations and deliveries."""

import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest
from django.core.management import call_command
from django.db import OperationalError, connection, connections, transaction
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from dashboard.access import encryption
from dashboard.alerting import editing, notifying
from dashboard.models import AuditRecord, Delivery, Destination, Route
from tests.rows import routed
from tests.rows.people import member
from tests.servers.answering import Receiver
from timeline.models import NoticedIncident

JSON: dict[str, Any] = {"content_type": "application/json"}
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def accounts(settings: Settings) -> None:
    settings.LOGIN_REQUIRED = True


@pytest.fixture
def admin(client: Client) -> Client:
    client.force_login(member("admin", name="ada"))
    return client


def form(to: Destination, **values: Any) -> dict[str, Any]:
    given = {"name": "on call", "destinations": [to.pk], "severity": "error", "changes": ["began", "over"]}
    given |= {"grouping": ["rule"], "wait_seconds": "30", "repeat_minutes": "240", "enabled": "yes"}
    given |= {"quiet_zone": "Europe/Berlin", "quiet_from": "22:00", "quiet_until": "07:00"}
    return given | values


def text(answer: Any) -> str:
    return " ".join(answer.content.decode().split())


def test_a_destination_and_a_route_are_made_changed_and_deleted_on_the_pages(admin: Client, receiver: Receiver) -> None:
    assert "A route needs a destination first." in text(admin.get("/routes/"))
    fields = {"name": "pager", "value-url": f"{receiver.url}/t0k3n", "value-secret": routed.SECRET}
    assert admin.post("/destinations/new?kind=webhook", fields | {"value-secret": "short"}).status_code == 400
    assert admin.post("/destinations/new?kind=webhook", fields | {"value-url": "http://evil:1/"}).status_code == 400
    assert admin.post("/destinations/new?kind=webhook", fields).status_code == 302
    to = Destination.objects.get()
    assert "t0k3n" not in text(admin.get("/routes/")) + text(admin.get(f"/destinations/{to.pk}/"))
    assert admin.post(f"/destinations/{to.pk}/", {"name": "phone"}).status_code == 302
    to.refresh_from_db()
    assert to.name == "phone" and encryption.decrypted(bytes(to.sealed))["url"].endswith("t0k3n")  # it stays
    elsewhere = {"name": "phone", "value-url": "http://localhost:9/t0k3n"}
    refused = admin.post(f"/destinations/{to.pk}/", elsewhere)  # the secret is not sent to another host
    assert refused.status_code == 400 and "Fill in again: Secret." in text(refused)
    there = {"name": "phone", "value-url": f"{receiver.url}/others/t0k3n"}
    assert admin.post(f"/destinations/{to.pk}/", there).status_code == 302

    wrong = admin.post("/routes/new", form(to, quiet_days=["0"], quiet_zone="Mars/Olympus"))
    assert wrong.status_code == 400 and "is not a time zone" in text(wrong)
    assert "on call" in text(wrong)  # nothing has to be typed again
    assert "Choose where" in text(admin.post("/routes/new", form(to, destinations=[])))
    source = routed.live_source()
    routed.incident(source)
    NoticedIncident.objects.all().delete()
    good = form(to, quiet_days=["5", "6"], scope=f"cluster-{source.cluster_id}")
    assert admin.post("/routes/new", good).status_code == 302
    route = Route.objects.get()
    assert (route.rank, route.changes, route.quiet_days) == (0, ["began", "over"], [5, 6])
    assert route.cluster == source.cluster
    assert NoticedIncident.objects.count() == 1  # what goes on is reported by a new route, too
    shown = text(admin.get("/routes/"))
    assert "Tells errors that begin or are over" in shown and "on Saturday and Sunday" in shown
    assert f'value="cluster-{source.cluster_id}" selected' in text(admin.get(f"/routes/{route.pk}/"))
    used = admin.post(f"/destinations/{to.pk}/", {"act": "delete", "confirmed": "yes"})
    assert "has no other destination" in text(used)
    assert "Delete" in text(admin.post(f"/routes/{route.pk}/", {"act": "delete"})) and Route.objects.exists()
    admin.post(f"/routes/{route.pk}/", {"act": "delete", "confirmed": "yes"})
    admin.post(f"/destinations/{to.pk}/", {"act": "delete", "confirmed": "yes"})
    assert not Route.objects.exists() and not Destination.objects.exists()


def test_routes_are_moved_and_disabled(admin: Client) -> None:
    to = routed.destination("http://localhost:1/")
    routes = [routed.route(to, name=name, place=place) for place, name in enumerate("abc")]
    admin.post("/routes/", {"act": "down", "number": routes[0].pk})
    admin.post("/routes/", {"act": "disable", "number": routes[1].pk})
    order = Route.objects.order_by("place").values_list("name", "enabled")
    assert list(order) == [("b", False), ("a", True), ("c", True)]
    wanted = [routes[2].pk, routes[0].pk, routes[1].pk]
    assert admin.put("/api/route-order", {"routes": wanted}, **JSON).status_code == 204
    assert [name for name, _ in order.all()] == ["c", "a", "b"]
    assert admin.put("/api/route-order", {"routes": wanted[:2]}, **JSON).status_code == 422


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("by_api", [True, False])
def test_nothing_is_locked_while_a_test_message_is_sent(admin: Client, receiver: Receiver, by_api: bool) -> None:
    to = routed.destination(receiver.url)
    receiver.always = "hang"
    page = partial(admin.post, "/routes/", {"act": "test", "number": to.pk})
    trail = AuditRecord.objects.filter(action="destination" if by_api else "route")
    with ThreadPoolExecutor(1) as pool:
        sent = pool.submit(partial(admin.post, f"/api/destinations/{to.pk}/test", **JSON) if by_api else page)
        while not receiver.requests:
            assert not sent.done()
            time.sleep(0.01)
        try:
            with transaction.atomic():  # which fails if the row is locked
                assert Destination.objects.select_for_update(nowait=True).get(pk=to.pk).holder
            with connection.cursor() as cursor:
                cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in transaction%'")
                assert cursor.fetchone() == (0,)
            assert [each.outcome for each in trail] == ["done"]
        finally:
            receiver.release.set()
            pool.submit(connections.close_all)
        assert sent.result().status_code == 200
    assert trail.all().count() == 1


def test_deliveries_are_listed_filtered_and_sent_again(admin: Client, receiver: Receiver) -> None:
    to = routed.destination(receiver.url)
    routed.route(to)
    routed.incident(routed.live_source(), title="Service <ring> was deleted")
    notifying.notify()
    assert "began: Service &lt;ring&gt; was deleted" in text(admin.get("/deliveries/"))
    assert "No delivery matches." in text(admin.get("/deliveries/?state=sent"))
    Delivery.objects.update(state="refused", answer="It answered 400 Bad Request.")
    row = Delivery.objects.get()
    assert "It answered 400" in text(admin.get(f"/deliveries/?state=refused&destination={to.pk}"))
    assert admin.post("/deliveries/", {"delivery": row.pk}).status_code == 302
    row.refresh_from_db()
    assert row.state == "waiting" and row.key in str(admin.get("/api/deliveries").json())
    assert admin.post(f"/api/deliveries/{row.pk}/resend", **JSON).status_code == 409


def test_secrets_need_a_key_and_are_encrypted_again_with_a_new_one(
    admin: Client, settings: Settings, receiver: Receiver, capsys: pytest.CaptureFixture[str]
) -> None:
    to = routed.destination(receiver.url)
    shown = text(admin.post("/routes/", {"act": "test", "number": to.pk}))
    assert "<strong>Test message to <bdi>webhook</bdi>: sent.</strong> 200 OK" in shown
    settings.CREDENTIALS_KEYS = ["n" * 32, "k" * 32]
    call_command("causeline", "clusters", "--renew-secrets")
    assert "1 encrypted again" in capsys.readouterr().err
    settings.CREDENTIALS_KEYS, receiver.always = ["n" * 32], 500
    shown = text(admin.post("/routes/", {"act": "test", "number": to.pk}))
    assert "failed.</strong> It answered 500 Internal Server Error." in shown
    settings.CREDENTIALS_KEYS = []
    fields = {"name": "pager", "value-url": "http://localhost:1/", "value-secret": routed.SECRET}
    answer = admin.post("/destinations/new?kind=webhook", fields)
    assert answer.status_code == 400 and "CAUSELINE_CREDENTIALS_KEY" in text(answer)
    assert Destination.objects.get() == to


def test_the_api_makes_and_changes_routes_without_showing_secrets(admin: Client, receiver: Receiver) -> None:
    body = {"name": "pager", "kind": "webhook", "values": {"url": f"{receiver.url}/t0k3n", "secret": routed.SECRET}}
    made = admin.post("/api/destinations", body, **JSON)
    assert made.status_code == 201 and not [each for each in ("t0k3n", routed.SECRET) if each in text(made)]
    to = f"/api/destinations/{made.json()['id']}"
    new = {"name": "all", "destinations": [made.json()["id"]], "quiet_days": [0]}
    new |= {"quiet_from": "22:00", "quiet_until": "07:00"}
    route = admin.post("/api/routes", new, **JSON)
    assert route.status_code == 201, route.content
    assert route.json()["severity"] == "warning" and route.json()["quiet_from"] == "22:00:00"
    assert admin.get("/api/routes").json() == [route.json()]
    changed = {**route.json(), "name": "none", "enabled": False}
    assert admin.put(f"/api/routes/{changed['id']}", changed, **JSON).json()["name"] == "none"
    other = {**changed, "id": changed["id"] + 1}
    assert admin.put(f"/api/routes/{changed['id']}", other, **JSON).status_code == 422
    assert admin.post("/api/routes", other, **JSON).status_code == 422
    assert admin.post("/api/routes", new | {"destinations": [99]}, **JSON).status_code == 422
    tested = admin.post(f"{to}/test", **JSON).json()
    assert tested["answer"] == "200 OK" and tested["state"] == "sent"
    assert admin.delete(to).status_code == 422
    assert admin.delete(f"/api/routes/{route.json()['id']}").status_code == 204
    assert admin.delete(to).status_code == 204


def test_a_route_is_stored_whole_or_not_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails() -> None:
        raise OperationalError("the server closed the connection unexpectedly")

    to = routed.destination("http://localhost:1/")
    monkeypatch.setattr(editing, "ask_again", fails)
    with pytest.raises(OperationalError):
        editing.save_route(editing.route_values({"name": "on call", "destinations": [to.pk]}))
    assert not Route.objects.exists()


def test_responders_see_routes_without_secrets(client: Client) -> None:
    """What they may not change is refused, as the matrix of roles in `access/roles/test_rights_matrix.py` says."""
    client.force_login(member("responder"))
    to = routed.destination("http://localhost:1/t0k3n")
    notifying.delivery(to, [], now=timezone.now(), route=routed.route(to), group="g").save()
    for page in ("/routes/", "/deliveries/", "/api/routes", "/api/destinations", "/api/deliveries"):
        answer = client.get(page)
        assert answer.status_code == 200 and "t0k3n" not in answer.content.decode()

"""These tests check who may change a recording: the user who sent it, and administrators."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings

from collectors import tasks
from collectors.uploads import importing
from tests.people import member
from tests.recordings import SAMPLE
from timeline.models import Source, Upload
from timeline.storage import store

pytestmark = pytest.mark.django_db(transaction=True)
OCTETS = "application/octet-stream"


class People:
    """This class holds signed-in clients: the owner, another user, and an administrator."""

    def __init__(self) -> None:
        self.users = {
            "owner": member("responder", name="owner"),
            "stranger": member("responder", name="stranger"),
            "admin": member("admin", name="admin"),
        }

    def __getitem__(self, name: str) -> Client:
        client = Client()
        client.force_login(self.users[name])
        return client


@pytest.fixture
def people(settings: Settings) -> People:
    settings.LOGIN_REQUIRED = True
    return People()


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    yield
    for source in Source.everything.all():
        store.discard_source(source)
    for upload in Upload.objects.all():
        importing.cancel(upload)


def announced(client: Client) -> int:
    files = [{"name": "audit.zst", "size": SAMPLE.stat().st_size}]
    body = json.dumps({"name": "mine", "files": files})
    payload = client.post("/api/uploads", body, content_type="application/json").json()
    return int(payload["id"])


def whole(client: Client) -> int:
    return int(client.generic("POST", "/api/uploads?name=audit.zst", SAMPLE.read_bytes(), OCTETS).json()["id"])


def refused(answer: Any) -> bool:
    if answer.status_code != 403:
        return False
    payload = answer.json()
    assert answer["Content-Type"] == "application/problem+json"
    told = ("This needs the role editor on this recording", "Only the person who has begun it, or an administrator")
    return bool(payload["detail"].startswith(told))


def test_a_recording_is_whose_upload_it_was(people: People) -> None:
    for send in (announced, whole):
        upload = send(people["owner"])
        assert Upload.objects.get(pk=upload).owner == people.users["owner"]
        if send is announced:
            people["owner"].generic("PUT", f"/api/uploads/{upload}/files/0", SAMPLE.read_bytes(), OCTETS)
            people["owner"].post(f"/api/uploads/{upload}/finish", content_type=OCTETS)
        tasks.import_upload(upload)
        payload = people["stranger"].get(f"/api/uploads/{upload}").json()
        assert (payload["state"], payload["owner"]) == ("done", people.users["owner"].pk)
        assert Source.objects.get(pk=payload["source"]).owner == people.users["owner"]


def test_only_its_owner_and_administrators_change_a_recording(people: People) -> None:
    def rename(who: str, source: Source) -> Any:
        body = json.dumps({"name": who})
        return people[who].patch(f"/api/sources/{source.pk}", body, "application/json")

    source = store.open_source("mine", people.users["owner"].pk)
    store.show_source(source)
    nobodys = store.open_source("of earlier versions")
    store.show_source(nobodys)
    assert refused(rename("stranger", source)) and refused(people["stranger"].delete(f"/api/sources/{source.pk}"))
    assert refused(rename("owner", nobodys)) and refused(people["owner"].delete(f"/api/sources/{nobodys.pk}"))
    assert set(Source.objects.values_list("name", flat=True)) == {"mine", "of earlier versions"}
    assert rename("owner", source).status_code == rename("admin", nobodys).status_code == 200
    assert people["owner"].delete(f"/api/sources/{source.pk}").status_code == 204
    assert people["admin"].delete(f"/api/sources/{nobodys.pk}").status_code == 204
    assert people["admin"].delete(f"/api/sources/{nobodys.pk}").status_code == 404


def test_only_its_owner_and_administrators_go_on_with_an_upload(people: People) -> None:
    for who in ("owner", "admin"):
        upload = announced(people["owner"])
        where = f"/api/uploads/{upload}"
        assert refused(people["stranger"].generic("PUT", f"{where}/files/0", b"{}", OCTETS))
        assert refused(people["stranger"].post(f"{where}/finish", content_type=OCTETS))
        assert refused(people["stranger"].post(f"{where}/cancel", content_type=OCTETS))
        piece = SAMPLE.read_bytes()[:1000]
        assert people[who].generic("PUT", f"{where}/files/0", piece, OCTETS).json() == {"received": 1000}
        assert people[who].post(f"{where}/cancel", content_type=OCTETS).json()["state"] == "cancelled"


def test_what_somebody_leaves_behind_is_the_administrators(people: People) -> None:
    source = store.open_source("mine", people.users["owner"].pk)
    store.show_source(source)
    people.users["owner"].delete()
    member("responder", name="owner")
    source.refresh_from_db()
    assert source.owner is None


def test_the_home_page_shows_buttons_to_those_who_may(people: People) -> None:
    source = store.open_source("mine", people.users["owner"].pk)
    store.show_source(source)
    shown = {who: b"data-delete" in people[who].get("/").content for who in people.users}
    assert shown == {"owner": True, "stranger": False, "admin": True}


def test_without_accounts_everybody_who_is_let_in_may(settings: Settings) -> None:
    settings.LOGIN_REQUIRED = False
    upload = announced(Client())
    assert Upload.objects.get(pk=upload).owner is None
    assert Client().post(f"/api/uploads/{upload}/cancel", content_type=OCTETS).status_code == 200


def test_clusters_are_the_administrators(people: People) -> None:
    for where in ("/clusters/", "/clusters/1/"):
        assert people["stranger"].post(where).status_code == 403
    assert people["admin"].get("/clusters/").status_code == 200

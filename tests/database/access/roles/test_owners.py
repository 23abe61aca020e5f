"""These tests check who may change a recording: the user who sent it, and administrators."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import Settings

from collectors import tasks
from collectors.uploads import importing
from tests.database.access.asking import JSON, signed_in
from tests.inputs.recordings import SAMPLE
from tests.rows.people import member
from timeline.models import Source, Upload
from timeline.storage import store

pytestmark = pytest.mark.django_db
OCTETS = "application/octet-stream"
WHO = {"owner": "responder", "stranger": "responder", "admin": "admin"}


@pytest.fixture
def people() -> dict[str, Client]:
    return {name: signed_in(member(role, name=name)) for name, role in WHO.items()}


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    yield
    for source in Source.everything.all():
        store.discard_source(source)
    for upload in Upload.objects.all():
        importing.cancel(upload)


def recording(owner: str = "") -> Source:
    source = store.open_source(owner or "of earlier versions", user(owner) if owner else None)
    store.show_source(source)
    return source


def user(name: str) -> int:
    return int(User.objects.get(username=name).pk)


def announced(client: Client) -> str:
    body = {"name": "mine", "files": [{"name": "audit.zst", "size": SAMPLE.stat().st_size}]}
    return f"/api/uploads/{client.post('/api/uploads', body, JSON).json()['id']}"


def refused(answer: Any) -> bool:
    if answer.status_code != 403:
        return False
    assert answer["Content-Type"] == "application/problem+json"
    why = ("This needs the role editor on this recording", "Only the person who has begun it, or an administrator")
    return bool(answer.json()["detail"].startswith(why))


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("whole", [False, True])
def test_a_recording_is_whose_upload_it_was(people: dict[str, Client], whole: bool) -> None:
    client = people["owner"]
    if whole:
        sent = client.generic("POST", "/api/uploads?name=audit.zst", SAMPLE.read_bytes(), OCTETS)
        where = f"/api/uploads/{sent.json()['id']}"
    else:
        where = announced(client)
        client.generic("PUT", f"{where}/files/0", SAMPLE.read_bytes(), OCTETS)
        client.post(f"{where}/finish", content_type=OCTETS)
    upload = Upload.objects.get()
    assert upload.owner_id == user("owner")
    tasks.import_upload(upload.pk)
    payload = people["stranger"].get(where).json()
    assert (payload["state"], payload["owner"]) == ("done", user("owner"))
    assert Source.objects.get(pk=payload["source"]).owner_id == user("owner")


def test_only_its_owner_and_administrators_change_a_recording(people: dict[str, Client]) -> None:
    def rename(who: str, source: Source) -> Any:
        return people[who].patch(f"/api/sources/{source.pk}", {"name": who}, JSON)

    own, nobodys = recording("owner"), recording()
    for who, source in (("stranger", own), ("owner", nobodys)):
        assert refused(rename(who, source)) and refused(people[who].delete(f"/api/sources/{source.pk}"))
    assert set(Source.objects.values_list("name", flat=True)) == {"owner", "of earlier versions"}
    assert rename("owner", own).status_code == rename("admin", nobodys).status_code == 200
    assert {who: b"data-delete" in people[who].get("/").content for who in people} == {
        "owner": True,
        "stranger": False,
        "admin": True,
    }
    assert people["owner"].delete(f"/api/sources/{own.pk}").status_code == 204
    assert [people["admin"].delete(f"/api/sources/{nobodys.pk}").status_code for _ in range(2)] == [204, 404]


def test_only_its_owner_and_administrators_go_on_with_an_upload(people: dict[str, Client]) -> None:
    stranger, piece = people["stranger"], SAMPLE.read_bytes()[:1000]
    for who in ("owner", "admin"):
        where = announced(people["owner"])
        assert refused(stranger.generic("PUT", f"{where}/files/0", b"{}", OCTETS))
        assert refused(stranger.post(f"{where}/finish", content_type=OCTETS))
        assert refused(stranger.post(f"{where}/cancel", content_type=OCTETS))
        assert people[who].generic("PUT", f"{where}/files/0", piece, OCTETS).json() == {"received": 1000}
        assert people[who].post(f"{where}/cancel", content_type=OCTETS).json()["state"] == "cancelled"


def test_what_somebody_leaves_behind_is_the_administrators(people: dict[str, Client]) -> None:
    source = recording("owner")
    User.objects.get(username="owner").delete()
    member("responder", name="owner")
    source.refresh_from_db()
    assert source.owner is None


def test_without_accounts_everybody_who_is_let_in_may(settings: Settings) -> None:
    settings.LOGIN_REQUIRED = False
    where = announced(Client())
    assert Upload.objects.get().owner is None
    assert Client().post(f"{where}/cancel", content_type=OCTETS).status_code == 200

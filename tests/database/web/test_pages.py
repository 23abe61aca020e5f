"""These tests request pages without a browser: who may see them, and what they answer to invalid requests."""

from unittest import mock

import pytest
from django.db import OperationalError, connection
from django.test import Client
from pytest_django import Settings

from timeline.models import Cluster, Source

pytestmark = pytest.mark.django_db


@pytest.fixture
def guarded(settings: Settings) -> Client:
    """Return a client that is not signed in on a site that requires signing in."""
    settings.LOGIN_REQUIRED = True
    return Client(raise_request_exception=False)


def test_visitors_are_asked_to_sign_in(guarded: Client) -> None:
    for address in ("/", "/sources/1/"):
        assert guarded.get(address).headers["Location"] == f"/login/?next={address}"
    page = guarded.get("/login/?next=/")
    assert b"Sign in" in page.content
    assert b'name="next" value="/"' in page.content


def test_a_wrong_password_is_reported(guarded: Client) -> None:
    page = guarded.post("/login/", {"username": "nobody", "password": "x"})
    assert b'role="alert"' in page.content


def test_health_needs_no_sign_in_but_a_database_and_tells_strangers_nothing_of_it(
    guarded: Client, caplog: pytest.LogCaptureFixture
) -> None:
    assert guarded.get("/healthz").content == b"ok"
    with mock.patch.object(connection, "cursor", side_effect=OperationalError("gone from 10.0.0.7")):
        answer = guarded.get("/healthz")
    assert (answer.status_code, answer.content) == (503, b"not ok")
    assert "gone from 10.0.0.7" in caplog.text


def test_the_home_page_of_the_demo_offers_the_tour(client: Client, sample: Source) -> None:
    Source.objects.filter(pk=sample.pk).update(name="volcano-restart")
    assert b"Take the tour" not in client.get("/").content
    Cluster.objects.create(name="demo", reference={"how": "path", "path": "/data/kubeconfigs/demo.kubeconfig"})
    assert f'href="/sources/{sample.pk}/#tour"' in client.get("/").content.decode()


def test_errors_have_pages_of_their_own(client: Client) -> None:
    missing = client.get("/sources/999999/")
    assert missing.status_code == 404
    assert b"There is nothing here" in missing.content
    assert b"No such recording" in missing.content and b"404" in missing.content
    assert b"No page has this address" in client.get("/nowhere").content
    strange = client.get("/", headers={"host": "elsewhere.example"})
    assert strange.status_code == 400
    assert b"CAUSELINE_HOSTS" in strange.content
    client.raise_request_exception = False
    with mock.patch("timeline.queries.sources.home.newest_recordings", side_effect=RuntimeError):
        broken = client.get("/")
    assert broken.status_code == 500
    assert b"Something went wrong" in broken.content


def test_a_form_from_elsewhere_is_refused_in_words() -> None:
    answer = Client(enforce_csrf_checks=True).post("/login/", {"username": "a", "password": "b"})
    assert answer.status_code == 403
    assert b"The form was too old" in answer.content
    assert b"CAUSELINE_ORIGINS" in answer.content

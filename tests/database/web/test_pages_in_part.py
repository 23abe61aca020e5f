"""These tests read what pages say to people who see only some namespaces: they claim nothing about the others."""

import re

import pytest
from django.test import Client
from pytest_django import Settings

from dashboard.models import Grant
from tests.rows.people import member
from timeline.models import Source

pytestmark = pytest.mark.django_db


@pytest.fixture
def mine(settings: Settings, client: Client, sample: Source) -> Client:
    """Return the browser of a viewer of one namespace."""
    settings.LOGIN_REQUIRED, settings.TOKEN_REQUIRED = True, False
    client.force_login(member(Grant.Role.VIEWER, on=sample, namespaces=["vol-restart"]))
    return client


def text(client: Client, path: str, status: int = 200) -> str:
    """Return the words of a page."""
    answer = client.get(path)
    assert answer.status_code == status
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", answer.content.decode()))


def test_coverage_and_actors_say_that_they_are_not_shown_instead_of_that_nothing_is_there(
    mine: Client, sample: Source
) -> None:
    coverage = text(mine, f"/sources/{sample.pk}/coverage/")
    assert (
        "You see 1 namespace of this recording or cluster" in coverage and "shown to readers of all of it" in coverage
    )
    for claim in (
        "No change of any object",
        "before Causeline counted",
        "every line was read",
        "What each rule can say",
        "What can be joined",
    ):
        assert claim not in coverage
    assert "Order" not in text(mine, f"/sources/{sample.pk}/actors/")


def test_what_is_absent_is_said_of_what_is_seen_only(mine: Client, sample: Source) -> None:
    before = "?before=2020-01-01T00:00:00Z"
    assert "What you see of the recording shows no change" in text(mine, f"/sources/{sample.pk}/changes/{before}")
    assert "None that you may see has arrived." in text(mine, "/alerts/")
    assert "No silence of what you may see holds now." in text(mine, "/silences/")
    missing = text(mine, "/sources/999999/", status=404)
    assert missing.count("deleted") == 1 and "not among what you may see" in missing


def test_a_responder_of_a_namespace_is_led_to_an_incident_to_silence_it(client: Client, mine: Client) -> None:
    user = member(Grant.Role.RESPONDER, name="rena", on=Source.objects.get(), namespaces=["vol-restart"])
    client.force_login(user)
    assert "New silence…" not in text(client, "/silences/")
    form = text(client, "/silences/new")
    assert "begin at one of its incidents" in form and "Reason" not in form
    source = Source.objects.get().pk
    form = text(client, f"/silences/new?source={source}")
    assert "Reason" in form and "All clusters and recordings" not in form


def test_somebody_without_a_role_learns_so_at_the_first_page(mine: Client) -> None:
    mine.force_login(member(name="zoe"))
    first = text(mine, "/", status=403)
    assert "You have no role yet" in first and "All recordings" not in first
    assert "Nothing was changed" not in text(mine, "/clusters/", status=403)

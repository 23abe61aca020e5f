"""These tests check that the opening of a timeline has exactly what the single operations answer."""

from typing import Any
from urllib.parse import urlencode

import pytest
from django.test import Client

from tests import ENGINE
from tests.inputs.live import observations
from timeline.models import Cluster, Source
from timeline.pipeline import follow
from timeline.storage import live

ENGINE = ENGINE / "jobs-watch"
pytestmark = pytest.mark.django_db
AWAY = "131d605c1f1d7aac"  # the finding that the Service ring was away
RANGE = {"start": 1795247520740000, "end": 1795247521200000}


def opening(client: Client, source: Source, **address: Any) -> dict[str, Any]:
    answer = client.get(f"/api/sources/{source.pk}/opening", address)
    assert answer.status_code == 200, answer.content
    found: dict[str, Any] = answer.json()
    return found


def agree(client: Client, source: Source, found: dict[str, Any]) -> None:
    """Check that each answer is that of the operation at its address, also the window."""
    for address, answer in found["answers"].items():
        assert client.get(address).json() == answer, address
    if first := found["first"]:
        asked = {**first["asked"], **first["asked"]["rest"]}
        del asked["rest"]
        assert client.get(f"/api/sources/{source.pk}/window?{urlencode(asked)}").json() == first["window"]


@pytest.mark.parametrize(
    "address",
    [
        {},
        {"finding": AWAY},
        {"finding": AWAY, **RANGE, "noise": "1", "group": "kind"},
        {"finding": "0" * 16, **RANGE},
        {**RANGE, "kinds": "Pods,Services", "hidden": "1"},
        {"rule": "nothing-has-it"},
        {"namespace": "vol-restart", "name": "ring", "severity": "warning"},
        {"focus": "1", "closed": "1"},
    ],
)
def test_the_answers_are_those_of_the_single_operations(
    client: Client, sample: Source, address: dict[str, Any]
) -> None:
    found = opening(client, sample, **address)
    agree(client, sample, found)
    paths = [each.partition("?")[0].rpartition("/")[2] for each in found["answers"]]
    assert paths[:2] == ["overview", "incidents"]


def test_a_recording_opens_on_its_gravest_finding(client: Client, sample: Source) -> None:
    found = opening(client, sample)
    assert found["first"]["asked"]["rest"]["finding"] == AWAY
    assert found["first"]["asked"]["start"] < RANGE["start"] < RANGE["end"] < found["first"]["asked"]["end"]


def test_a_range_in_the_address_is_kept(client: Client, sample: Source) -> None:
    asked = opening(client, sample, **RANGE)["first"]["asked"]
    assert (asked["start"], asked["end"]) == (RANGE["start"], RANGE["end"])


def test_without_findings_and_without_a_range_no_window_is_foreseen(client: Client, sample: Source) -> None:
    assert opening(client, sample, rule="nothing-has-it")["first"] is None


def test_a_live_source_opens_on_its_last_minute(client: Client) -> None:
    source = live.begin(Cluster.objects.create(name="prod"))
    assert opening(client, source)["first"] is None  # nothing has been observed yet
    follow(live.open_again(source), observations(ENGINE))
    for address, width in (({}, 60_000_000), ({"start": 0, "end": 1000, "follow": 1}, 1000)):
        found = opening(client, source, **address)
        agree(client, source, found)
        asked, last = found["first"]["asked"], found["first"]["window"]["last"]
        assert (asked["start"], asked["end"]) == (last - width * 9 // 10, last + width // 10)
        assert "finding" not in asked["rest"]


def test_what_cannot_be_asked_for_is_refused(client: Client, sample: Source) -> None:
    assert client.get(f"/api/sources/{sample.pk}/opening?start=2&end=1").status_code == 422
    assert client.get(f"/api/sources/{sample.pk}/opening?severity=none").status_code == 422
    assert client.get("/api/sources/999999/opening").status_code == 404

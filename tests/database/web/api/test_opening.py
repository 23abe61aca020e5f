"""These tests check what a timeline shows first, and that it comes with exactly what the single operations answer."""

import html
import re
from typing import Any
from urllib.parse import parse_qsl

import pytest
from django.test import Client

from dashboard.web.api import opening as opening_api
from tests import ENGINE, ROOT
from tests.inputs.live import observations
from timeline.models import Cluster, Source
from timeline.pipeline import follow
from timeline.queries.filters import ObjectFilter
from timeline.storage import live

ENGINE = ENGINE / "jobs-watch"
STORE = ROOT / "dashboard/static/dashboard/js/state/store.js"
pytestmark = pytest.mark.django_db
AWAY = "131d605c1f1d7aac"  # the finding that the Service ring was away
GONE = "abab8ebf9f3f484b"  # its incident
RANGE = {"start": 1795247520740000, "end": 1795247521200000}


def opening(client: Client, source: Source, **address: Any) -> dict[str, Any]:
    answer = client.get(f"/api/sources/{source.pk}/opening", address)
    assert answer.status_code == 200, answer.content
    found: dict[str, Any] = answer.json()
    return found


def asked_of(client: Client, source: Source, operation: str, **question: Any) -> Any:
    return client.get(f"/api/sources/{source.pk}/{operation}", question).json()


def agree(client: Client, source: Source, found: dict[str, Any], address: dict[str, Any]) -> None:
    """Check that each part is what its operation answers to a page with this address."""
    view, finding, scope = found["view"], found["finding"], address.get("focus")
    narrowing = {name: address[name] for name in ObjectFilter.model_fields if name in address}
    assert found["overview"] == asked_of(client, source, "overview", **({"scope": scope} if scope else {}))
    known = address.get("hidden", "0")
    shown = dict.fromkeys(("harmless", "silenced", "acknowledged"), known)
    listed = {"limit": 100, **shown, **({"root": scope} if scope else {})}
    assert found["incidents"] == asked_of(client, source, "incidents", **narrowing, **listed)
    if finding:
        assert view["finding"] == finding["key"]
        assert [finding] == asked_of(client, source, "findings", key=finding["key"])["findings"]
    if found["findings"]:
        (incident,) = {each for row in found["findings"]["findings"] for each in row["incidents"]}
        assert found["findings"] == asked_of(client, source, "findings", incident=incident, limit=50)
        assert finding["key"] in {row["key"] for row in found["findings"]["findings"]}
    if found["window"]:
        asked: dict[str, Any] = {**narrowing, "fold": 1, "limit": found["lanes"], "scope": scope}
        asked["focus"] = finding["focus"] if finding else scope
        for given, names in ((address, ("noise", "group", "closed", "incident")), (view, ("start", "end", "finding"))):
            asked |= {name: given[name] for name in names if name in given}
        asked = {name: value for name, value in asked.items() if value is not None}
        assert found["window"] == asked_of(client, source, "window", **asked)


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
        {"incident": GONE},
        {"incident": GONE, "finding": AWAY, **RANGE},
        {"incident": "0" * 16},
    ],
)
def test_the_parts_are_what_the_single_operations_answer(
    client: Client, sample: Source, address: dict[str, Any]
) -> None:
    agree(client, sample, opening(client, sample, **address), address)


def test_an_incident_alone_is_shown_with_all_its_occurrences_and_its_gravest_finding(
    client: Client, sample: Source
) -> None:
    found = opening(client, sample, incident=GONE)
    (incident,) = (each for each in found["incidents"]["incidents"] if each["id"] == GONE)
    view = found["view"]
    assert view["start"] < incident["start"] and incident["end"] < view["end"]
    assert incident["worst"] in {each["id"] for each in found["finding"]["findings"]}
    assert found["findings"]["total"] == 4
    assert found["window"]["groups"][0]["label"] == "ring"


@pytest.mark.parametrize("most", [100, 2])  # incidents that come with the opening
def test_a_recording_opens_on_the_first_of_the_gravest_incidents(
    client: Client, sample: Source, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(opening_api, "_INCIDENTS", most)
    found = opening(client, sample)
    listed = asked_of(client, sample, "incidents", order="gravest")["incidents"]
    chosen = listed[0]
    assert found["view"]["finding"] == AWAY and found["finding"]["incidents"] == [chosen["id"]]
    rows = asked_of(client, sample, "findings", order="gravest", incident=chosen["id"])["findings"]
    assert found["finding"] == rows[0]
    assert [found["view"]["start"], found["view"]["end"]] == found["finding"]["ranges"]["time"]
    assert found["view"]["start"] < RANGE["start"] < RANGE["end"] < found["view"]["end"]
    ordered = opening(client, sample, axis="order")
    assert [ordered["view"]["start"], ordered["view"]["end"]] == found["finding"]["ranges"]["order"]


def test_a_range_in_the_address_is_kept(client: Client, sample: Source) -> None:
    kept = {"finding": "", "follow": False, **RANGE}
    assert opening(client, sample, **RANGE)["view"] == kept
    assert opening(client, sample, **RANGE, finding=AWAY)["view"] == {**kept, "finding": AWAY}


def test_without_findings_and_without_a_range_the_whole_source_is_shown(client: Client, sample: Source) -> None:
    found = opening(client, sample, rule="nothing-has-it")
    assert found["view"] == {"start": None, "end": None, "finding": "", "follow": False}
    assert found["window"]["start"] == found["overview"]["first"]


def test_a_live_source_opens_on_its_last_minute(client: Client) -> None:
    source = live.begin(Cluster.objects.create(name="prod"))
    assert opening(client, source, **RANGE)["window"] is None  # nothing has been observed yet
    assert opening(client, source, **RANGE)["view"]["start"] is None
    follow(live.open_again(source), observations(ENGINE))
    for address, width in (({}, 60_000_000), ({"start": 0, "end": 1000, "follow": 1}, 1000)):
        found = opening(client, source, **address)
        agree(client, source, found, address)
        last = found["window"]["last"]
        shown = {"start": last - width * 9 // 10, "end": last + width // 10, "finding": "", "follow": True}
        assert found["view"] == shown
    key = asked_of(client, source, "findings", limit=1)["findings"][0]["key"]
    assert not opening(client, source, finding=key)["view"]["follow"]


@pytest.mark.parametrize("query", [f"kinds=Pods&start=1&end=2&finding={AWAY}&hidden=1", "axis=order&group=namespace"])
def test_the_page_asks_for_what_its_address_says(client: Client, sample: Source, query: str) -> None:
    page = client.get(f"/sources/{sample.pk}/?{query}&lane=Pod/a/b&at=1&table=1").content.decode()
    asked = html.unescape(page.partition('data-asked="')[2].partition('"')[0])
    assert dict(parse_qsl(asked.partition("?")[2])) == dict(parse_qsl(query))
    page = client.get(f"/sources/{sample.pk}/?start=5&end=4&group=x&axis=y&noise=true").content.decode()
    assert f'data-asked="/api/sources/{sample.pk}/opening"' in page  # the page does not understand these either


def test_what_cannot_be_asked_for_is_refused(client: Client, sample: Source) -> None:
    assert client.get(f"/api/sources/{sample.pk}/opening?start=2&end=1").status_code == 422
    assert client.get(f"/api/sources/{sample.pk}/opening?severity=none").status_code == 422
    assert client.get("/api/sources/999999/opening").status_code == 404


def test_the_page_has_all_parameters_on_which_its_first_view_depends() -> None:
    fields = STORE.read_text(encoding="utf-8").partition("const FIELDS = {")[2].partition("};")[0]
    assert {"start", "end", *re.findall(r"(\w+): \w+", fields)} >= set(opening_api.ASKED)

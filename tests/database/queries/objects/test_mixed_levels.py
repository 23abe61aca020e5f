"""These tests read changes of one object at different audit levels: none is hidden, and none causes an error."""

from itertools import permutations, product
from typing import Any

import pytest
from django.test import Client

from tests.database.storage.sources import asked, ingested
from tests.inputs import events
from tests.properties import sampled
from timeline.models import Source, Track

pytestmark = pytest.mark.django_db
LEVELS = ("Metadata", "Request", "RequestResponse")
VERBS = ("create", "patch", "delete")
CREATED = "2026-11-21T07:52:01Z"


def line(verb: str, level: str, second: int, revision: int, uid: str = "u1") -> dict[str, Any]:
    """Return the line of one request at this level: with the answer, with the request only, or with neither."""
    seen = events.pod(uid=uid, resourceVersion=str(revision), creationTimestamp=CREATED)
    seen["metadata"]["annotations"] = {"revision": str(revision)}
    request = {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "p", "namespace": "n"}}
    return events.event(
        verb=verb,
        level=level,
        auditID=f"a{revision}",
        responseStatus={"code": 201 if verb == "create" else 200},
        responseObject=seen if level == "RequestResponse" else None,
        requestObject=(request if verb == "create" else {}) if level != "Metadata" else None,
        requestReceivedTimestamp=f"2026-11-21T07:52:{second:02}.100001Z",
        stageTimestamp=f"2026-11-21T07:52:{second:02}.200002Z",
    )


def recorded(*lines: dict[str, Any]) -> Source:
    return ingested(events.entries_of(*lines, bodies=True))


def revisions(client: Client, life: Track) -> list[Any]:
    shown: list[Any] = asked(client, life.source, f"tracks/{life.id}/revisions")["revisions"]
    return shown


def changes_of(client: Client, source: Source, uid: str) -> list[tuple[str, str]]:
    """Return the changes of the life with this UID, and by what each is known to be one of it."""
    life = Track.objects.get(source=source, uid=uid)
    return [(each["change"], each["attribution"]) for each in revisions(client, life)]


def check_all_shown(client: Client, source: Source, count: int) -> None:
    """Assert that every entry is listed by its life and that every page opens."""
    entries = asked(client, source, "entries", bodies="true")["entries"]
    assert [each["sequence"] for each in entries] == list(range(1, count + 1))
    whole = {each["sequence"] for each in entries if each["body"] is not None}
    listed = {}
    for life in Track.objects.filter(source=source):
        page = f"/sources/{source.pk}/objects/{life.id}/"
        listed[life.id] = [each["sequence"] for each in revisions(client, life)]
        assert client.get(page).status_code == 200
        for sequence in listed[life.id]:
            assert client.get(f"{page}{sequence}/").status_code == (200 if sequence in whole else 404)
    assert all(each["sequence"] in listed[each["track"]] for each in entries)
    for address in (f"/sources/{source.pk}/report", f"/api/sources/{source.pk}/recording"):
        assert client.get(address).status_code == 200


@pytest.mark.parametrize("levels", sampled(product(LEVELS, repeat=3), 5), ids="-".join)
def test_changes_of_any_levels_are_all_shown(client: Client, levels: tuple[str, str, str]) -> None:
    lines = [line(verb, level, at, 100 + at) for at, (verb, level) in enumerate(zip(VERBS, levels, strict=True), 1)]
    orders = list(permutations(lines))
    if levels != ("RequestResponse", "Metadata", "Request"):
        orders = [orders[sum(map(len, levels)) % len(orders)]]
    for order in orders:
        source = recorded(*order)
        check_all_shown(client, source, 3)
        if "RequestResponse" in levels:
            known = ["uid" if level == "RequestResponse" else "time" for level in levels]
            expected = list(zip(("created", "modified", "deleted"), known, strict=True))
            assert changes_of(client, source, "u1") == expected, order


def test_a_patch_of_level_metadata_is_a_change_of_the_object_that_bore_the_name(client: Client) -> None:
    source = recorded(
        line("create", "RequestResponse", 1, 101),
        line("patch", "Metadata", 2, 102),
        line("patch", "RequestResponse", 3, 103),
    )
    life = Track.objects.get(source=source, uid="u1")
    page = client.get(f"/sources/{source.pk}/objects/{life.id}/").content.decode()
    assert "The log line names no UID. It is a change of this object" in page
    assert "Compared with the last state that was observed. 1 change in between did not include the object." in page
    assert page.count("Compared with") == 1


def test_what_may_be_of_two_objects_says_so(client: Client) -> None:
    later = line("create", "RequestResponse", 4, 104, uid="u2")
    between = line("patch", "Metadata", 4, 0) | {"requestReceivedTimestamp": "2026-11-21T07:52:03.900000Z"}
    source = recorded(line("create", "RequestResponse", 1, 101), between, later)
    for uid in ("u1", "u2"):
        assert changes_of(client, source, uid) == [("created", "uid"), ("modified", "possible")]


def test_lives_without_uid_each_have_their_own_changes(client: Client) -> None:
    verbs = (*VERBS, *VERBS, "create")
    source = recorded(*(line(verb, "Metadata", at, 100 + at) for at, verb in enumerate(verbs, 1)))
    check_all_shown(client, source, len(verbs))
    lives = Track.objects.filter(source=source).order_by("life")
    shown = [[each["sequence"] for each in revisions(client, life)] for life in lives]
    assert shown == [[1, 2, 3], [4, 5, 6], [7]]
    listed = asked(client, source, "entries", kind="Pod", name="p", namespace="n")["entries"]
    assert [each["track"] for each in listed] == [life.id for life in lives for _ in range(3)][:7]


def test_entries_of_an_object_whose_lane_retention_removed_are_reported(client: Client) -> None:
    source = recorded(line("create", "RequestResponse", 1, 101))
    Track.objects.filter(source=source).delete()
    (entry,) = asked(client, source, "entries")["entries"]
    assert entry["track"] is None and entry["object"]["uid"] == "u1"

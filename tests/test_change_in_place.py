"""These tests read single changes as a timeline shows them beside its lanes: when, who wrote it, what it changed."""

import itertools
import json
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from django.test import Client

from collectors.formats import Limits
from collectors.uploads.recordings import Count, import_into
from dashboard.presentation import changes
from tests.test_rules import FIXTURES
from timeline import queries
from timeline.models import Source, Track
from timeline.storage import store

pytestmark = pytest.mark.django_db
PLAIN = FIXTURES / "service-gap" / "fires-plain-pods.jsonl"


@pytest.fixture
def plain() -> Iterator[Source]:
    source = store.open_source("plain")
    import_into(source, [(PLAIN, PLAIN.name)], Limits(), Count())
    yield source
    store.discard_source(source)


def change_of(client: Client, source: Source, track: Track, query: str, status: int = 200) -> Any:
    answer = client.get(f"/api/sources/{source.pk}/tracks/{track.id}/change?{query}")
    assert answer.status_code == status, answer.content
    return json.loads(answer.content)


def pod_of(source: Source) -> Track:
    return Track.objects.get(source=source, kind="Pod", name="ring-0")


def test_every_mark_of_an_object_leads_to_its_change(client: Client, sample: Source) -> None:
    job = Track.objects.get(source=sample, kind="Job", name="ring")
    for time, revision, change, *_ in job.lifeline:
        shown = change_of(client, sample, job, f"at={time}&revision={revision}" if revision else f"at={time}")
        assert (shown["at"], shown["resource_version"], shown["change"]) == (time, revision, change)
        assert (shown["track"], shown["lane"]) == (job.id, "Job.batch.volcano.sh/vol-restart/ring")


def test_a_creation_is_shown_as_the_object_and_with_its_revision(client: Client, plain: Source) -> None:
    pod = pod_of(plain)
    first = change_of(client, plain, pod, f"at={pod.lifeline[0][0]}")
    assert (first["number"], first["earlier"], first["whole"]) == (1, None, True)
    assert first["resource_version"] == pod.lifeline[0][1]
    assert ["kind: Pod" in text for _, text in first["lines"]].count(True) == 1
    assert first["lines_total"] == len(first["lines"]) and {sign for sign, _ in first["lines"]} == {" "}


def test_a_change_is_shown_as_its_difference_and_leads_to_those_beside_it(client: Client, plain: Source) -> None:
    shown = change_of(client, plain, pod_of(plain), "at=0")
    seen = [shown]
    while shown["later"] is not None:
        shown = change_of(client, plain, pod_of(plain), f"sequence={shown['later']}")
        seen.append(shown)
    assert [each["number"] for each in seen] == list(range(1, shown["total"] + 1)) and len(seen) > 1
    for one, other in itertools.pairwise(seen):
        assert change_of(client, plain, pod_of(plain), f"sequence={other['earlier']}") == one
    assert any(["+", "  phase: Running"] in each["lines"] and not each["whole"] for each in seen)
    page = client.get(shown["url"].partition("#")[0]).content.decode()
    assert f'id="{shown["url"].partition("#")[2]}"' in page
    assert client.get(shown["revision_url"]).status_code == 200


def test_a_change_says_within_which_bounds_it_was_committed(client: Client, sample: Source) -> None:
    service = Track.objects.filter(source=sample, kind="Service", name="ring", namespace="vol-restart").order_by(
        "life"
    )[0]
    deleted = change_of(client, sample, service, f"at={service.lifeline[-1][0]}")
    assert (deleted["change"], deleted["time"]) == ("deleted", "2026-11-21T07:52:00.841106Z")
    before, after = deleted["within"]
    assert (
        deleted["at"] - before == deleted["at"] and deleted["latest"] == "2026-11-21T07:52:00.849006Z" and after == 7900
    )


def test_a_writer_that_is_not_known_has_a_reason(plain: Source, sample: Source) -> None:
    reasons = set()
    for source in (plain, sample):
        for row in Track.objects.filter(source=source):
            found = queries.change_in_place(source.pk, row.id)
            if found is not None:
                shown = changes.beside(found, withheld=False)
                assert bool(shown["unknown_writer"]) == (not shown["actor"] and not shown["user_agent"])
                reasons.add(shown["unknown_writer"])
    assert "" in reasons


def test_the_answer_is_bounded_and_says_how_much_it_leaves_out(plain: Source) -> None:
    found = queries.change_in_place(plain.pk, pod_of(plain).id)
    assert found is not None
    large = json.dumps({"data": {f"{number:05}": "x" * 9000 for number in range(1000)}}).encode()
    entry = msgspec.structs.replace(found.revision.entry, body=large)
    shown = changes.beside(found._replace(revision=found.revision._replace(entry=entry)), withheld=False)
    assert shown["lines_total"] == 1001 and len(shown["lines"]) == 400
    assert max(len(text) for _, text in shown["lines"]) == 500


def test_what_is_not_a_change_of_the_object_is_not_found(client: Client, plain: Source) -> None:
    assert "no such change" in change_of(client, plain, pod_of(plain), "sequence=999999", 404)["detail"]
    assert change_of(client, plain, Track(id=999999), "at=0", 404)["title"].startswith("No such")
    service = Track.objects.filter(source=plain, kind="Service").order_by("life")[0]
    other = change_of(client, plain, service, "at=0")["sequence"]
    change_of(client, plain, pod_of(plain), f"sequence={other}", 404)

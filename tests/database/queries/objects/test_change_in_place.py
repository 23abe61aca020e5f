"""These tests read single changes as a timeline shows them beside its lanes: when, who wrote it, what it changed."""

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from time import thread_time
from typing import Any

import msgspec
import pytest
from django.test import Client
from pytest_django import DjangoDbBlocker

from dashboard.presentation import changes
from tests import RULES
from tests.database.queries.objects.widgets import imported, widgets
from tests.database.storage.sources import asked, lasting, with_bodies
from timeline.models import Source, Track
from timeline.queries.objects import revisions
from timeline.storage.entries import chunks

pytestmark = pytest.mark.django_db
PLAIN = RULES / "service-gap" / "fires-plain-pods.jsonl"
LARGE = 280 * 1024


@pytest.fixture(scope="module")
def plain(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Source]:
    with lasting(django_db_blocker, with_bodies(PLAIN), "plain") as source:
        yield source


def change_of(client: Client, track: Track, status: int = 200, **query: Any) -> Any:
    return asked(client, track.source, f"tracks/{track.id}/change", status, **query)


def pod_of(source: Source) -> Track:
    return Track.objects.get(source=source, kind="Pod", name="ring-0")


def walked(client: Client, track: Track) -> list[Any]:
    """Return all changes of an object. Each leads to the next one, and back to the one before."""
    seen = [change_of(client, track, at=0)]
    while seen[-1]["later"] is not None:
        seen.append(change_of(client, track, sequence=seen[-1]["later"]))
    assert [each["number"] for each in seen] == list(range(1, seen[0]["total"] + 1)) and len(seen) > 1
    assert [each["earlier"] for each in seen] == [None, *(each["sequence"] for each in seen[:-1])]
    return seen


def test_every_mark_of_an_object_leads_to_its_change(client: Client, sample: Source) -> None:
    job = Track.objects.get(source=sample, kind="Job", name="ring")
    for time, revision, change, *_ in job.lifeline:
        shown = change_of(client, job, at=time, **({"revision": revision} if revision else {}))
        assert (shown["at"], shown["resource_version"], shown["change"]) == (time, revision, change)
        assert (shown["track"], shown["lane"]) == (job.id, "Job.batch.volcano.sh/vol-restart/ring")


def test_a_creation_is_shown_whole_and_each_change_as_its_difference(client: Client, plain: Source) -> None:
    pod = pod_of(plain)
    first, *rest = walked(client, pod)
    assert [first["at"], first["resource_version"]] == pod.lifeline[0][:2] and first["whole"]
    assert ["kind: Pod" in text for _, text in first["lines"]].count(True) == 1
    assert first["lines_total"] == len(first["lines"]) and {sign for sign, _ in first["lines"]} == {" "}
    for one, other in itertools.pairwise([first, *rest]):
        assert change_of(client, pod, sequence=other["earlier"]) == one
    assert any(["+", "  phase: Running"] in each["lines"] and not each["whole"] for each in rest)
    address, _, place = rest[-1]["url"].partition("#")
    assert f'id="{place}"' in client.get(address).content.decode()
    assert client.get(rest[-1]["revision_url"]).status_code == 200


def test_a_change_says_within_which_bounds_it_was_committed(client: Client, sample: Source) -> None:
    services = Track.objects.filter(source=sample, kind="Service", name="ring", namespace="vol-restart")
    service = services.order_by("life")[0]
    deleted = change_of(client, service, at=service.lifeline[-1][0])
    assert (deleted["change"], deleted["time"]) == ("deleted", "2026-11-21T07:52:00.841106Z")
    assert (deleted["latest"], deleted["within"]) == ("2026-11-21T07:52:00.849006Z", [0, 7900])


def test_a_writer_that_is_not_known_has_a_reason(plain: Source, sample: Source) -> None:
    reasons = set()
    for source in (plain, sample):
        for row in Track.objects.filter(source=source).order_by("id")[::3]:
            found = revisions.change_in_place(source.pk, row.id)
            if found is not None:
                shown = changes.beside(found, withheld=False)
                assert bool(shown["unknown_writer"]) == (not shown["actor"] and not shown["user_agent"])
                reasons.add(shown["unknown_writer"])
    assert "" in reasons


def test_the_answer_is_bounded_and_says_how_much_it_leaves_out(plain: Source) -> None:
    found = revisions.change_in_place(plain.pk, pod_of(plain).id)
    assert found is not None
    large = json.dumps({"data": {f"{number:05}": "x" * 9000 for number in range(1000)}}).encode()
    entry = msgspec.structs.replace(found.revision.entry, body=large)
    shown = changes.beside(found._replace(revision=found.revision._replace(entry=entry)), withheld=False)
    assert shown["lines_total"] == 1001 and len(shown["lines"]) == 400
    assert max(len(text) for _, text in shown["lines"]) == 500


def test_what_is_not_a_change_of_the_object_is_not_found(client: Client, plain: Source) -> None:
    pod, service = pod_of(plain), Track.objects.filter(source=plain, kind="Service").order_by("life")[0]
    assert "no such change" in change_of(client, pod, 404, sequence=999999)["detail"]
    assert asked(client, plain, "tracks/999999/change", 404, at=0)["title"].startswith("No such")
    change_of(client, pod, 404, sequence=change_of(client, service, at=0)["sequence"])


def test_changes_of_large_objects_are_not_compared_and_both_texts_can_be_downloaded(
    client: Client, tmp_path: Path
) -> None:
    def spec(number: int) -> dict[str, str]:
        return {f"key-{j}": f"value {j} {0 if j % 3 else number}" for j in range(LARGE // 29)}

    file = widgets(tmp_path, [*(spec(number) for number in range(8)), {"replicas": 1}, {"replicas": 2}])
    with imported(file) as (source, track):
        start = thread_time()
        page = client.get(f"/sources/{source.pk}/objects/{track.id}/").content.decode()
        assert thread_time() - start < 1.5
        assert page.count("Too large to compare here. Download both texts:") == 8 and "replicas: 2" in page
        shown = change_of(client, track, revision=103)
        assert (shown["too_large"], shown["nothing"], shown["lines"]) == (True, "Too large to compare here.", [])
        before, after = (client.get(url) for url in shown["texts"])
        assert before.json()["metadata"]["resourceVersion"] == "102" and after.json()["spec"]["key-0"] == "value 0 3"
        assert after.headers["Content-Disposition"].startswith('attachment; filename="Widget-w-')
        assert all(url in page for url in shown["texts"])
        small = change_of(client, track, revision=109)
        assert not small["too_large"] and ["+", "  replicas: 2"] in small["lines"]
        assert client.get(f"/sources/{source.pk}/objects/{track.id}/999.json").status_code == 404


def test_an_object_that_is_too_large_for_a_page_is_downloaded(client: Client, tmp_path: Path) -> None:
    with imported(widgets(tmp_path, [dict.fromkeys(("text", "more"), "line\n" * 250_000)])) as (source, track):
        page = client.get(f"/sources/{source.pk}/objects/{track.id}/1/").content.decode()
        assert "Too large to show here" in page and len(page) < 20_000
        texts = change_of(client, track, at=0)["texts"]
        assert client.get(texts[0]).json()["spec"]["text"].count("\n") == 250_000


def paged(client: Client, source: Source, path: str, **query: Any) -> Iterator[Any]:
    """Yield the pages of what the API answers."""
    cursor: str | None = ""
    while cursor is not None:
        page = asked(client, source, path, cursor=cursor, **query)
        yield page
        cursor = page["next"]


def test_many_changes_are_read_in_parts(client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "ENTRIES", 2)  # of a chunk
    monkeypatch.setattr(chunks, "_PART_ENTRIES", 6)
    with imported(widgets(tmp_path, [{"replicas": number} for number in range(20)])) as (source, track):
        pages = list(paged(client, source, f"tracks/{track.id}/revisions", limit=4, differences=1))
        assert [page["total"] for page in pages] == [20] * 7
        seen = [each for page in pages for each in page["revisions"]]
        assert [each["resource_version"] for each in seen] == [str(100 + number) for number in range(20)]
        for number, each in enumerate(seen[1:], 1):  # also the first of each part
            assert ["+", f"  replicas: {number}"] in each["difference"]["lines"]
        assert len(walked(client, track)) == 20
        for number in (0, 3, 7, 19):
            assert change_of(client, track, revision=100 + number)["number"] == number + 1
        html = client.get(f"/sources/{source.pk}/objects/{track.id}/?at={track.lifeline[9][0]}").content.decode()
        assert "shown in 4 parts" in html and "replicas: 9" in html
        assert client.get(f"/sources/{source.pk}/objects/{track.id}/{seen[9]['sequence']}/").status_code == 200


def test_a_page_of_large_objects_ends_early(client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "BODIES", 3_000)
    with imported(widgets(tmp_path, [{"text": f"{number} " * 500} for number in range(9)])) as (source, track):
        for path, listed in ((f"tracks/{track.id}/revisions", "revisions"), ("entries", "entries")):
            pages = [page[listed] for page in paged(client, source, path, bodies=1)]
            assert all(1 < len(page) < 5 for page in pages[:-1])
            assert [each["body"]["spec"]["text"][0] for page in pages for each in page] == list("012345678")

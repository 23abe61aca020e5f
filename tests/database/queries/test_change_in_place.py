"""These tests read single changes as a timeline shows them beside its lanes: when, who wrote it, what it changed."""

import itertools
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import thread_time
from typing import Any

import msgspec
import pytest
from django.test import Client

from collectors.formats import Limits
from collectors.uploads.recordings import Count, import_into
from dashboard.presentation import changes
from tests import RULES
from timeline.models import Source, Track
from timeline.queries.objects import revisions
from timeline.storage import store
from timeline.storage.entries import chunks

pytestmark = pytest.mark.django_db
PLAIN = RULES / "service-gap" / "fires-plain-pods.jsonl"


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
    assert "no such change" in change_of(client, plain, pod_of(plain), "sequence=999999", 404)["detail"]
    assert change_of(client, plain, Track(id=999999), "at=0", 404)["title"].startswith("No such")
    service = Track.objects.filter(source=plain, kind="Service").order_by("life")[0]
    other = change_of(client, plain, service, "at=0")["sequence"]
    change_of(client, plain, pod_of(plain), f"sequence={other}", 404)


LARGE = 280 * 1024


def widgets(folder: Path, specs: list[Any]) -> Path:
    """Write an audit log in which an object has these specs, one after the other."""
    file = folder / "widgets.jsonl"
    with file.open("w") as out:
        for number, spec in enumerate(specs):
            time = f"2026-11-21T07:{number // 60:02}:{number % 60:02}.000000Z"
            metadata = {"name": "w", "namespace": "a", "uid": "u", "resourceVersion": str(100 + number)}
            event = {
                "kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "RequestResponse", "auditID": str(number),
                "stage": "ResponseComplete", "verb": "update" if number else "create", "user": {"username": "x"},
                "objectRef": {"resource": "widgets", "namespace": "a", "name": "w", "apiGroup": "example.com",
                              "apiVersion": "v1"},
                "responseStatus": {"code": 200 if number else 201},
                "responseObject": {"kind": "Widget", "apiVersion": "example.com/v1", "metadata": metadata,
                                   "spec": spec},
                "requestReceivedTimestamp": time, "stageTimestamp": time,
            }  # fmt: skip
            out.write(json.dumps(event) + "\n")
    return file


@contextmanager
def imported(file: Path) -> Iterator[tuple[Source, Track]]:
    source = store.open_source("widgets")
    import_into(source, [(file, file.name)], Limits(), Count())
    yield source, Track.objects.get(source=source, name="w")
    store.discard_source(source)


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
        shown = change_of(client, source, track, "revision=103")
        assert (shown["too_large"], shown["nothing"], shown["lines"]) == (True, "Too large to compare here.", [])
        before, after = (client.get(url) for url in shown["texts"])
        assert before.json()["metadata"]["resourceVersion"] == "102" and after.json()["spec"]["key-0"] == "value 0 3"
        assert after.headers["Content-Disposition"].startswith('attachment; filename="Widget-w-')
        assert all(url in page for url in shown["texts"])
        small = change_of(client, source, track, "revision=109")
        assert not small["too_large"] and ["+", "  replicas: 2"] in small["lines"]
        none = client.get(f"/sources/{source.pk}/objects/{track.id}/999.json")
        assert none.status_code == 404


def test_an_object_that_is_too_large_for_a_page_is_downloaded(client: Client, tmp_path: Path) -> None:
    with imported(widgets(tmp_path, [dict.fromkeys(("text", "more"), "line\n" * 250_000)])) as (source, track):
        page = client.get(f"/sources/{source.pk}/objects/{track.id}/1/").content.decode()
        assert "Too large to show here" in page and len(page) < 20_000
        shown = change_of(client, source, track, "at=0")
        assert client.get(shown["texts"][0]).json()["spec"]["text"].count("\n") == 250_000


def test_many_changes_are_read_in_parts(client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "ENTRIES", 2)  # of a chunk
    monkeypatch.setattr(chunks, "_PART_ENTRIES", 6)
    with imported(widgets(tmp_path, [{"replicas": number} for number in range(20)])) as (source, track):
        address = f"/api/sources/{source.pk}/tracks/{track.id}/revisions?limit=4&differences=1"
        seen, cursor, pages = [], "", 0
        while cursor is not None:
            page = client.get(f"{address}&cursor={cursor}").json()
            assert page["total"] == 20
            seen += page["revisions"]
            cursor, pages = page["next"], pages + 1
        assert [each["resource_version"] for each in seen] == [str(100 + number) for number in range(20)]
        assert pages == 7
        for number, each in enumerate(seen[1:], 1):  # also the first of each part
            assert ["+", f"  replicas: {number}"] in each["difference"]["lines"]
        shown, walked = change_of(client, source, track, "revision=100"), []
        while shown["later"] is not None:
            walked.append(shown["number"])
            following = change_of(client, source, track, f"sequence={shown['later']}")
            assert following["earlier"] == shown["sequence"]
            shown = following
        assert walked == list(range(1, 20)) and shown["total"] == 20
        for number in (3, 7, 19):
            assert change_of(client, source, track, f"revision={100 + number}")["number"] == number + 1
        html = client.get(f"/sources/{source.pk}/objects/{track.id}/?at={track.lifeline[9][0]}").content.decode()
        assert "shown in 4 parts" in html and "replicas: 9" in html
        assert client.get(f"/sources/{source.pk}/objects/{track.id}/{seen[9]['sequence']}/").status_code == 200


def test_a_page_of_large_objects_ends_early(client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "BODIES", 3_000)
    with imported(widgets(tmp_path, [{"text": f"{number} " * 500} for number in range(9)])) as (source, track):
        for address in (f"tracks/{track.id}/revisions", "entries"):
            seen: list[str] = []
            cursor: str | None = ""
            while cursor is not None:
                page = client.get(f"/api/sources/{source.pk}/{address}?bodies=1&cursor={cursor}").json()
                found = page.get("revisions") or page["entries"]
                assert 1 < len(found) < 5 or page["next"] is None
                seen += [each["body"]["spec"]["text"][0] for each in found]
                cursor = page["next"]
            assert seen == list("012345678")

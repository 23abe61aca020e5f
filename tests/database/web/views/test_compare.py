"""These tests compare stored objects and sources: by the API, and on the page that people open."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from django.test import Client
from pytest_django import DjangoDbBlocker

from tests.unit.comparing.test_comparing import ENTRIES, NEW, OLD, SERVICES, VALIDATOR
from tests.unit.comparing.test_comparing import Source as Read
from timeline.comparing.comparison import compare_owners, compare_recordings
from timeline.history.world.world import World
from timeline.models import Source, Track
from timeline.payloads.comparison import ComparisonPayload
from timeline.pipeline import ingest
from timeline.storage import store

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def sources(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[dict[Path, Source]]:
    found = {}
    with django_db_blocker.unblock():
        for path in (OLD, NEW, SERVICES):
            found[path] = store.open_source(path.name.partition(".")[0])
            ingest(found[path], World(), ENTRIES[path])
            store.show_source(found[path])
    yield found
    with django_db_blocker.unblock():
        for source in found.values():
            store.discard_source(source)


def run(source: Source, namespace: str, name: str, kind: str = "Job") -> str:
    row = Track.objects.get(source=source, namespace=namespace, kind=kind, name=name)
    return f"{source.pk}-{row.id}"


def address(path: str, bad: object, *good: object) -> str:
    return f"{path}?{urlencode([('bad', bad), *(('good', each) for each in good)])}"


def asked(client: Client, bad: object, *good: object, status: int = 200) -> Any:
    answer = client.get(address("/api/compare", bad, *good))
    assert answer.status_code == status, answer.content
    found = json.loads(answer.content)
    if status == 200:
        VALIDATOR.validate(found)
    return found


def without_runs(document: ComparisonPayload) -> Any:
    return json.loads(json.dumps({name: document[name] for name in ("owners", "alike", "differences")}))


def test_stored_objects_differ_as_those_of_files_do(client: Client, sources: dict[Path, Source]) -> None:
    names = [("nightly-before", "queue"), ("nightly-after", "queue"), ("nightly", "queue")]
    *good, bad = (run(sources[OLD], *name) for name in names)
    found = asked(client, bad, *good)
    read = Read(ENTRIES[OLD])
    *fine, broken = (read.run(namespace, "Job", name) for namespace, name in names)
    assert without_runs(found) == without_runs(compare_owners(fine, broken))
    assert found["bad"]["label"] == "Job queue in nightly · stale-jobs"


def test_objects_that_belong_together_by_reference_are_compared(client: Client, sources: dict[Path, Source]) -> None:
    good = [run(sources[SERVICES], "order-benign", f"ring{number}") for number in range(3)]
    found = asked(client, run(sources[SERVICES], "order-late", "ring0"), *good)
    read = Read(ENTRIES[SERVICES])
    fine = [read.run("order-benign", "Job", f"ring{number}") for number in range(3)]
    assert without_runs(found) == without_runs(compare_owners(fine, read.run("order-late", "Job", "ring0")))
    service = asked(
        client,
        run(sources[SERVICES], "order-late", "ring0", "Service"),
        run(sources[SERVICES], "order-benign", "ring0", "Service"),
    )
    assert any("Pod that needs it" in each["role"] for owner in service["owners"] for each in owner["differences"])


def test_whole_sources_differ_as_files_do(client: Client, sources: dict[Path, Source]) -> None:
    found = asked(client, sources[OLD].pk, sources[NEW].pk)
    expected = compare_recordings([Read(ENTRIES[NEW]).whole()], Read(ENTRIES[OLD]).whole())
    assert without_runs(found) == without_runs(expected)


def test_runs_that_cannot_be_compared_are_refused_with_a_reason(client: Client, sources: dict[Path, Source]) -> None:
    one, other = run(sources[OLD], "nightly", "queue"), run(sources[OLD], "nightly", "flaky")
    assert "with itself" in asked(client, one, one, status=422)["detail"]
    assert "an object can be compared" in asked(client, one, sources[NEW].pk, status=422)["detail"].lower()
    assert "names no run" in asked(client, "x", other, status=422)["detail"]
    assert asked(client, f"{sources[OLD].pk}-999999", other, status=404)["title"] == "No such object"
    assert asked(client, "999999-1", other, status=404)["title"] == "No such recording"


# The page


def text_of(client: Client, address: str, status: int = 200) -> str:
    answer = client.get(address)
    assert answer.status_code == status, answer.content
    return answer.content.decode()


def test_the_page_shows_differences_by_type_and_the_steps_of_all_runs(
    client: Client, sources: dict[Path, Source]
) -> None:
    good = [run(sources[OLD], namespace, "queue") for namespace in ("nightly-before", "nightly-after")]
    bad = run(sources[OLD], "nightly", "queue")
    page = text_of(client, address("/compare/", bad, *good))
    count = asked(client, bad, *good)["differences"]
    assert f"<h1>Job queue in nightly: {count} differences</h1>" in page
    assert "There were 4 Pods, 2 in each good run." in page
    assert 'data-type="order"' in page and "last Pod created" in page
    extra = Track.objects.filter(source=sources[OLD], kind="Pod", namespace="nightly", name__startswith="queue-")
    assert sum(f"/go?source={sources[OLD].pk}&amp;uid={row.uid}" in page for row in extra) == 2
    assert f'href="/api/compare?bad={bad}&amp;good={good[0]}&amp;good={good[1]}"' in page
    assert "Swap" not in page
    same = text_of(client, address("/compare/", good[0], good[1]))
    assert "no difference" in same and f'href="/compare/?bad={good[1]}&amp;good={good[0]}"' in same


def test_each_choice_says_whether_it_had_incidents_and_clean_ones_come_first(
    client: Client, sources: dict[Path, Source]
) -> None:
    bad, clean = (run(sources[OLD], namespace, "queue") for namespace in ("nightly", "nightly-before"))
    page = text_of(client, address("/compare/", clean))
    rows = re.findall(r'name="good" value="([\d-]+)"( checked)?.*?<span class="went( well)?">(.*?)</span>', page, re.S)
    assert (bad, "", "", "had 1 incident") in rows
    assert [well for _, _, well, _ in rows] == sorted((well for _, _, well, _ in rows), reverse=True)
    assert {checked: said for _, checked, _, said in rows if checked} == {" checked": "no incident found"}
    whole = text_of(client, "/compare/")
    assert f'<option value="{sources[SERVICES].pk}"' in whole and " incidents</option>" in whole


def test_a_good_run_that_had_incidents_is_warned_of(client: Client, sources: dict[Path, Source]) -> None:
    bad, clean = (run(sources[OLD], namespace, "queue") for namespace in ("nightly", "nightly-before"))
    warning = "Job queue in nightly · stale-jobs is taken for a good run, but had 1 incident."
    assert warning in text_of(client, address("/compare/", clean, bad))
    assert "is taken for a good run" not in text_of(client, address("/compare/", bad, clean))
    assert "is taken for a good run, but had" in text_of(client, address("/compare/", sources[NEW].pk, sources[OLD].pk))


def test_good_runs_are_chosen_among_owners_like_it(client: Client, sources: dict[Path, Source]) -> None:
    bad = run(sources[OLD], "nightly", "report-0")
    page = text_of(client, address("/compare/", bad))
    assert f'name="good" value="{run(sources[OLD], "nightly", "queue")}"' in page  # beside it
    assert f'name="good" value="{run(sources[NEW], "nightly", "report-0")}"' in page  # of its name, elsewhere
    assert f'value="{bad}"><' not in page.replace(f'name="bad" value="{bad}"', "")
    assert f'name="good" value="{run(sources[OLD], "nightly-before", "report-0")}"' in page
    other = run(sources[OLD], "nightly-after", "flaky")
    assert f'value="{other}"' not in page
    assert f'value="{other}"' in text_of(client, f"{address('/compare/', bad)}&name=flaky")


def test_sources_are_chosen_to_be_compared_as_a_whole(client: Client, sources: dict[Path, Source]) -> None:
    page = text_of(client, "/compare/")
    assert all(f'<input type="checkbox" name="good" value="{each.pk}">' in page for each in sources.values())
    assert f'<option value="{sources[OLD].pk}" selected>' in text_of(client, address("/compare/", sources[OLD].pk))
    compared = text_of(client, address("/compare/", sources[OLD].pk, sources[NEW].pk))
    assert "Job queue in nightly" in compared and "Job report-0 in nightly" in compared


def test_the_page_says_what_it_cannot_compare(
    client: Client, sources: dict[Path, Source], monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = run(sources[OLD], "nightly", "queue")
    assert "A run cannot be compared with itself." in text_of(client, address("/compare/", bad, bad), 400)
    assert "names no run" in text_of(client, address("/compare/", "job"), 400)
    assert "does not exist" in text_of(client, address("/compare/", "999999-1", bad), 404)
    monkeypatch.setattr("timeline.queries.objects.comparing.LARGEST", 3)
    large = text_of(client, address("/compare/", sources[OLD].pk, sources[NEW].pk), 400)
    assert "more than 3 objects. Compare two owners, or use causeline compare." in large


def test_objects_and_incidents_lead_to_their_comparison(client: Client, sources: dict[Path, Source]) -> None:
    bad = run(sources[OLD], "nightly", "queue")
    link = f'href="/compare/?bad={bad}"'
    source, track = bad.split("-")
    assert link in text_of(client, f"/sources/{source}/objects/{track}/")
    rows = json.loads(client.get(f"/api/sources/{source}/incidents").content)["incidents"]
    incident = next(each for each in rows if each["anchor"]["name"] == "queue")
    assert link in text_of(client, incident["url"])

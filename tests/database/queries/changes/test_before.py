"""What changed before, from the database: in tables, in the API and on pages."""

import copy
import html
import re
from collections.abc import Iterator
from typing import Any

import orjson
import pytest
from django.test import Client
from pytest_django import DjangoDbBlocker

from tests.database.storage.sources import again, asked, lasting, with_bodies
from tests.inputs.applied import KUBECTL, NOON, deployment, rollout
from tests.inputs.events import entries_of
from tests.inputs.recordings import SAMPLE, world_of
from timeline import rejudging
from timeline.history.packing import ENTRIES, Packer
from timeline.judging.incidents.changes import known_changes
from timeline.models import Cluster, Finding, Incident, IntentChange, Source, Track
from timeline.pipeline import follow
from timeline.queries.changes import before
from timeline.storage import live

pytestmark = pytest.mark.django_db
HOSTILE = "<img src=x onerror=alert(1)>"
IMAGE = "Deployment web: image of web shop:1 → shop:2"


@pytest.fixture(scope="module")
def shop(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Source]:
    log = rollout()
    log.write("Deployment", "other", 80, "create", by=HOSTILE, agent=f"kubectl{HOSTILE}", **deployment(HOSTILE))
    log.write("Deployment", "other", 90, by=HOSTILE, agent=f"kubectl{HOSTILE}", **deployment(HOSTILE + "2"))
    log.write("ValidatingWebhookConfiguration", "gate", 100, "create", by="carol", webhooks=[])
    with lasting(django_db_blocker, entries_of(*log.lines, bodies=True), "shop") as source:
        yield source


@pytest.fixture(scope="module")
def restart(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Source]:
    """The sample recording with its objects."""
    with lasting(django_db_blocker, with_bodies(SAMPLE), "restart") as source:
        yield source


def texts(found: dict[str, Any]) -> list[str]:
    return [each["text"] for each in found["changes"]]


def number(source: Source, name: str) -> int:
    return Track.objects.get(source=source, name=name, kind="Deployment").id


def test_the_changes_around_an_object_are_ranked_with_author_bounds_and_difference(
    client: Client, shop: Source
) -> None:
    found = asked(client, shop, "changes", about=number(shop, "web"))
    first = found["changes"][0]
    assert first["text"] == f"{IMAGE}, and 1 more object"
    assert (first["actor"], first["user_agent"], first["distance"], first["certain"]) == (
        "alice", KUBECTL, "object", True,
    )  # fmt: skip
    write, other = first["writes"]
    assert (write["object"]["name"], other["object"]["name"]) == ("web", "settings")
    assert write["details"] == [{"aspect": "image web", "before": "shop:1", "after": "shop:2"}]
    assert write["time"] == write["earliest"] == write["latest"]
    assert first["steps"][0]["text"] == "ReplicaSet web-2 was created, replicas 1"
    shown = client.get(write["url"]).content.decode()
    assert "image: shop:2" in shown and 'class="asked"' in shown
    assert {each["distance"] for each in found["changes"]} == {"object", "namespace", "cluster"}


def test_before_and_minutes_limit_the_time_and_without_an_object_all_changes_are_ranked(
    client: Client, shop: Source
) -> None:
    found = asked(client, shop, "changes")
    assert found["complete"]
    assert found["total"] == len(found["changes"]) == 5
    assert {each["distance"] for each in found["changes"]} == {"any"}
    early = asked(client, shop, "changes", before=NOON + 30_000_000)
    assert (texts(early), early["minutes"]) == (["Deployment web was created, and 1 more object"], 30)
    assert not texts(asked(client, shop, "changes", before=NOON + 600_000_000, minutes=1))
    assert len(texts(asked(client, shop, "changes", limit=2))) == 2


@pytest.mark.parametrize(
    ("query", "status"),
    [({"minutes": 0}, 422), ({"minutes": 1441}, 422), ({"limit": 101}, 422), ({"incident": "x"}, 422),
     ({"about": 10**15}, 404), ({"incident": "0" * 16}, 404), ({"finding": "0" * 16}, 404),
     ({"about": 1, "finding": "0" * 16}, 422)],
)  # fmt: skip
def test_what_is_not_there_or_not_valid_is_refused(
    client: Client, shop: Source, query: dict[str, Any], status: int
) -> None:
    asked(client, shop, "changes", status, **query)


def test_the_page_shows_them_and_escapes_hostile_names(client: Client, shop: Source) -> None:
    shown = client.get(f"/sources/{shop.pk}/changes/", {"about": number(shop, "web")}).content.decode()
    assert HOSTILE not in shown
    for words in (
        html.escape(HOSTILE), f"{IMAGE}, and 1 more object", "3 steps of the rollout", "2 changes made together",
        '<span class="beside">same object</span>', "that does not show that one of them was the cause",
    ):  # fmt: skip
        assert words in shown, words
    assert re.search(r"in shop · by kubectl \(alice\) · <time", shown)


def test_the_page_says_so_if_nothing_changed_or_a_time_is_not_valid(client: Client, shop: Source) -> None:
    page = f"/sources/{shop.pk}/changes/"
    shown = client.get(page, {"before": "2026-11-20T00:00:00Z", "minutes": "120"}).content.decode()
    assert "no change that somebody meant in the 120 minutes before" in shown
    wrong = client.get(page, {"before": "<yesterday>"})
    assert wrong.status_code == 400
    assert "&lt;yesterday&gt; is not a valid time" in wrong.content.decode()
    assert client.get("/sources/999999/changes/").status_code == 404
    assert client.get(page, {"incident": "0" * 16}).status_code == 404


def test_incidents_findings_objects_and_reports_lead_to_what_changed_before_them(
    client: Client, restart: Source
) -> None:
    def page(address: str, **query: str) -> str:
        answer = client.get(f"/sources/{restart.pk}/{address}", query)
        assert answer.status_code == 200, address
        return answer.content.decode()

    incident = Incident.objects.get(source=restart, rule="service-gap")
    finding = Finding.objects.filter(source=restart, incident=incident.identity)[0]
    found = asked(client, restart, "changes", incident=incident.identity)
    created = "Job.batch.volcano.sh ring was created"
    nearest = next(each for each in found["changes"] if each["text"].startswith(created))
    assert nearest["distance"] == "owner"
    assert not any("Lease" in text or "Event" in text for text in texts(found))
    shown = page(f"incidents/{incident.identity}/")
    assert all(html.escape(text) in shown for text in texts(found)[:3])
    assert f"All {found['total']} changes, and other times" in shown
    for address, link in (
        (f"incidents/{incident.identity}/", f"changes/?incident={incident.identity}"),
        (f"findings/{finding.identity}/", f"changes/?finding={finding.identity}"),
        (f"objects/{finding.subject}/", f"changes/?about={finding.subject}"),
    ):
        assert f'href="/sources/{restart.pk}/{link}"' in page(address)
        page(link)
    for report, heading in (
        (page("report"), "<dt>Changed before</dt>"),
        (page("report", format="md"), "**Changed bef"),
    ):
        for words in (heading, "ring was created", "That does not show that one of them was the cause."):
            assert words in report


def test_judging_again_fills_the_table_of_a_recording_that_has_none(restart: Source) -> None:
    def rows() -> list[Any]:
        changes = IntentChange.objects.filter(source=restart).order_by("track", "number")
        return list(changes.values_list("document", "grade", "wide"))

    before = rows()
    assert before
    IntentChange.objects.filter(source=restart).delete()
    Source.objects.filter(pk=restart.pk).update(judged=0)
    assert rejudging.judge_next()
    assert rows() == before


@pytest.mark.django_db(transaction=True)
def test_a_live_source_has_the_changes_of_its_batches_also_after_another_worker_took_over() -> None:
    entries = entries_of(*rollout().lines, bodies=True)
    held = live.open_again(live.begin(Cluster.objects.create(name="prod")))
    for at, entry in enumerate(entries):
        follow(held, [entry])
        held.snapshot_with_next_batch()
        if at % 3 == 2:
            held = live.open_again(again(held.source))
    found = before.changes_before(held.source.pk, NOON + 120_000_000)["changes"]
    assert IMAGE in [each["text"] for one in found for each in one["writes"]]
    assert IntentChange.objects.filter(source=held.source).count() == len(known_changes(world_of(entries)))


def test_many_changes_are_bounded(client: Client, shop: Source) -> None:
    row = IntentChange.objects.filter(source=shop, grade=0)[0]
    rows = [copy.copy(row) for _ in range(1000)]
    for at, each in enumerate(rows, 1000):
        each.number, each.document = at, Packer(ENTRIES).pack(orjson.dumps(row.document))
    IntentChange.objects.bulk_create(rows)
    found = before.changes_before(shop.pk, NOON + 200_000_000, about=[number(shop, "web")])
    assert not found["complete"]
    assert len(found["changes"]) <= 20
    shown = client.get(f"/sources/{shop.pk}/changes/").content.decode()
    assert "There were more changes than are ranked here" in shown

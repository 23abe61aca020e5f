"""These tests delete recordings and disconnect clusters: both are confirmed, hidden at once, and can be undone for a
minute."""

import io
import json
import sys
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from django.utils import timezone
from pytest_django import Settings

from collectors import tasks
from collectors.watch.server import connections
from collectors.watch.server.connections import ClusterRefused
from tests.database.storage.sources import connected, end_the_minute, ran
from tests.rows import stored
from tests.rows.people import member
from timeline.models import Cluster, Finding, Incident, Silence, Source, Track
from timeline.queries.people import silences
from timeline.queries.sources import deletions, live
from timeline.queries.sources.clusters import clusters
from timeline.storage import leases
from timeline.storage.keeping import deletion
from timeline.storage.people import acknowledgements

pytestmark = pytest.mark.django_db
UNDO = "You can undo this for"


def silenced(cluster: Cluster) -> None:
    expires = timezone.now() + timedelta(hours=1)
    Silence.objects.create(cluster=cluster, rule="service-gap", reason="x", by="", expires=expires)


def undone(client: Client, sort: str, key: int) -> Any:
    return client.post("/deletions/undo", {"sort": sort, "id": key})


def restored(client: Client, source: int) -> Any:
    return client.post(f"/api/sources/{source}/restore", content_type="application/octet-stream")


def routes(parts: list[Any], path: str = "") -> list[str]:
    """Return the routes of all pages and operations that name a source."""
    found = []
    for each in parts:
        if isinstance(each, URLResolver):
            found += routes(each.url_patterns, path + str(each.pattern))
        elif isinstance(each, URLPattern) and "source_id" in path + str(each.pattern):
            found.append("/" + path + str(each.pattern))
    return found


def test_every_page_and_operation_of_a_deleted_recording_answers_that_there_is_none(
    client: Client, sample: Source
) -> None:
    deletion.delete_source(sample.pk)
    track = Track.objects.filter(source=sample.pk)[0].pk[1]
    finding = Finding.objects.filter(source=sample.pk)[0].identity
    incident = Incident.objects.filter(source=sample.pk)[0].identity
    every = routes(get_resolver().url_patterns)
    assert len(every) > 15
    for path in every:
        identity = incident if "incidents" in path else finding
        values = {"source_id": sample.pk, "track_id": track, "sequence": 1, "log": 1, "identity": identity}
        for name, value in values.items():
            for converter in ("int:", "slug:", "str:", ""):
                path = path.replace(f"<{converter}{name}>", str(value))
        assert "<" not in path, path
        query = {
            "start": "0",
            "end": "1",
            "q": "a",
            "limit": "1",
            "copied": "1",
            "stood": "2",
            "logs": "1",
            "finding": finding,
        }
        answer = client.get(path, query, headers={"Sec-Fetch-Site": "same-origin"})  # may have parameters to spare
        if answer.status_code == 405:
            for body in ("", '{"note": "mine"}', '{"days": 1}'):  # each operation takes another one
                answer = client.generic("PUT", path, body, "application/json")
                if answer.status_code != 422:
                    break
        if answer.status_code == 405:
            answer = client.generic("DELETE", path)
        if path.endswith(("/views", "/links", "/symptoms/")):
            answer = client.post(path, "{}", "application/json")
        if path.endswith("/acknowledgements"):
            asked_of = {"incidents": [incident], "note": "mine"}
            answer = client.post(path, json.dumps(asked_of), "application/json")
            assert answer.json() == {"acknowledged": 0}
        elif not path.endswith("/restore"):
            assert answer.status_code == 404, path
    assert sample.pk not in [each["id"] for each in client.get("/api/sources").json()["sources"]]
    assert b"sample" not in client.get("/go?name=vcjob-0").content
    assert live.live_health([sample.pk]) == {}


def test_what_is_restored_is_as_it_was(client: Client, sample: Source) -> None:
    path = f"/api/sources/{sample.pk}"
    before = client.get(path).json(), stored.stored_of(sample)
    assert client.delete(path).status_code == 204
    assert client.get(path).status_code == 404
    assert restored(client, sample.pk).json() == before[0]
    assert (client.get(path).json(), stored.stored_of(sample)) == before
    assert restored(client, sample.pk).status_code == 404


def test_after_the_minute_a_recording_is_removed_for_good_even_if_no_worker_ran(
    client: Client, settings: Settings
) -> None:
    source, kept = stored.opened("old"), stored.opened("kept")
    client.delete(f"/api/sources/{source.pk}")
    tasks.remove_deleted()
    assert Source.everything.filter(pk=source.pk).exists()  # its minute is not over
    end_the_minute()
    assert restored(client, source.pk).status_code == 404  # too late, although nothing was removed yet
    assert undone(client, "source", source.pk).status_code == 409
    tasks.remove_deleted()
    assert not Source.everything.filter(pk=source.pk).exists()
    assert not stored.tables_of(source.pk)
    assert stored.tables_of(kept.pk)
    beat = {each["task"]: each["schedule"] for each in settings.CELERY_BEAT_SCHEDULE.values()}
    assert beat[tasks.remove_deleted.name] <= 60


def test_the_page_says_what_will_be_gone_before_it_deletes_anything(client: Client, sample: Source) -> None:
    source = sample.pk
    acknowledgements.acknowledge(source, Finding.objects.filter(source=source)[0].identity, "me", "mine")
    page = client.get(f"/sources/{source}/delete/").content.decode()
    counted = deletions.contents([source])
    for words in (
        "775 changes",
        f"{counted.incidents} incidents",
        f"{counted.findings} findings",
        "1 acknowledgement",
        "on the disk",
        "You can undo this for a minute",
    ):
        assert words in page
    assert counted.bytes > 10_000
    assert Source.objects.filter(pk=source).exists()
    assert client.post(f"/sources/{source}/delete/").status_code == 302
    assert f"sample</bdi></strong> was deleted. {UNDO}" in client.get("/").content.decode()
    assert undone(client, "source", source).status_code == 302
    assert Source.objects.filter(pk=source).exists()
    assert UNDO not in client.get("/").content.decode()


def test_who_may_not_delete_a_recording_may_not_undo_it_and_hears_nothing_of_it(settings: Settings) -> None:
    settings.LOGIN_REQUIRED = True
    people = {name: member("responder", name=name) for name in ("owner", "stranger")}
    people["admin"] = member("admin", name="admin")
    source = stored.opened("mine")
    Source.objects.filter(pk=source.pk).update(owner=people["owner"])
    deletion.delete_source(source.pk)
    clients = {name: Client() for name in people}
    for name, user in people.items():
        clients[name].force_login(user)
    listed = {name: UNDO in each.get("/").content.decode() for name, each in clients.items()}
    assert listed == {"owner": True, "stranger": False, "admin": True}
    stranger = clients["stranger"]
    assert restored(stranger, source.pk).status_code == undone(stranger, "source", source.pk).status_code == 403
    assert stranger.get(f"/sources/{source.pk}/delete/").status_code == 403
    assert undone(clients["owner"], "source", source.pk).status_code == 302
    assert stranger.get(f"/sources/{source.pk}/delete/").status_code == 403


def test_disconnecting_is_confirmed_and_says_what_will_be_gone(client: Client) -> None:
    cluster, source = connected()
    Source.objects.filter(pk=source.pk).update(entries=1234)
    silenced(cluster)
    path = f"/clusters/{cluster.pk}/"
    kept = client.post(path, {"act": "disconnect"}).content.decode()
    assert "What was observed stays as a recording." in kept and "1,234 changes" not in kept
    page = client.post(path, {"act": "disconnect", "delete": "on"}).content.decode()
    assert "Disconnect <bdi>prod</bdi>?" in page and "1,234 changes" in page and "1 silence" in page
    assert Cluster.objects.filter(pk=cluster.pk).exists()
    assert client.post(path, {"act": "disconnect", "delete": "on", "confirmed": "yes"}).status_code == 302
    assert not Cluster.objects.exists() and not Source.objects.filter(pk=source.pk).exists()
    page = client.get("/clusters/").content.decode()
    assert f"prod</bdi></strong> was disconnected. {UNDO}" in page
    assert page.count(UNDO) == 1  # its source is part of the same deletion


@pytest.mark.parametrize("delete", [False, True])
def test_a_disconnected_cluster_is_watched_no_more_and_undo_connects_it_again(client: Client, delete: bool) -> None:
    cluster, source = connected()
    (held,) = leases.take("worker", 1)
    connections.disconnect(cluster, delete=delete)
    with pytest.raises(leases.Lost):
        leases.hold(held)
    assert not (leases.take("worker", 1) or leases.overview() or clusters())
    assert Source.objects.filter(pk=source.pk).exists() == (not delete)
    answer = undone(client, "cluster", cluster.pk)
    assert (answer.status_code, answer["Location"]) == (302, f"/clusters/{cluster.pk}/")
    (again,) = clusters()
    assert (again["name"], again["source"]) == ("prod", source.pk)
    assert Source.objects.get(pk=source.pk).ended == ""
    assert [each.cluster for each in leases.take("worker", 1)] == [cluster.pk]
    tasks.remove_deleted()
    assert Source.objects.filter(pk=source.pk).exists()


def test_after_the_minute_a_cluster_is_removed_with_its_credentials_and_silences() -> None:
    cluster, source = connected()
    silenced(cluster)
    connections.disconnect(cluster)
    assert silences.active() == []
    end_the_minute()
    assert not connections.undo(cluster.pk)
    tasks.remove_deleted()
    assert not Cluster.everything.exists() and not Silence.objects.exists()
    assert Source.objects.get(pk=source.pk).ended.startswith("The cluster was disconnected on")


def test_the_name_of_a_disconnected_cluster_is_free_at_once(client: Client) -> None:
    cluster, _ = connected()
    connections.disconnect(cluster, delete=True)
    other, _ = connected()
    assert other.pk != cluster.pk
    answer = undone(client, "cluster", cluster.pk)
    assert answer.status_code == 409
    assert b"Another cluster named prod was connected meanwhile" in answer.content
    with pytest.raises(ClusterRefused):
        connections.undo(cluster.pk)
    end_the_minute()
    tasks.remove_deleted()
    assert [each.pk for each in Cluster.everything.all()] == [other.pk]


def test_what_was_imported_meanwhile_stays_a_recording_and_undo_begins_another_source() -> None:
    cluster, source = connected()
    connections.disconnect(cluster)
    Source.objects.filter(pk=source.pk).update(inputs=["prod", "audit.log"])
    assert connections.undo(cluster.pk)
    assert Cluster.objects.get().source is None
    assert Source.objects.get(pk=source.pk).ended


def test_a_source_that_a_cluster_feeds_is_not_deleted(client: Client) -> None:
    cluster, source = connected()
    assert not deletion.delete_source(source.pk)
    refused = client.delete(f"/api/sources/{source.pk}")
    assert refused.status_code == 409 and "Disconnect" in refused.json()["detail"]
    answer = client.post(f"/sources/{source.pk}/delete/")
    assert answer.status_code == 409 and b"Disconnect the cluster first" in answer.content
    cluster.delete()
    assert client.delete(f"/api/sources/{source.pk}").status_code == 204


class Terminal(io.StringIO):
    """This is a terminal at which somebody types an answer."""

    def isatty(self) -> bool:
        return True


def test_the_command_line_asks_and_can_undo(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    sample: Source,
    tmp_path: Any,
    settings: Settings,
) -> None:
    def answering(answer: str, *command: str) -> int:
        monkeypatch.setattr(sys, "stdin", Terminal(f"{answer}\n"))
        return ran(*command)

    settings.DATA_DIR = tmp_path
    assert answering("n", "delete", "sample") == 2
    asked = " ".join(capsys.readouterr().err.split())
    assert "775 changes" in asked and "sample is kept" in asked
    assert Source.objects.filter(pk=sample.pk).exists()
    assert ran("delete", "--yes", "sample") == 0
    assert not Source.objects.filter(pk=sample.pk).exists()
    assert ran("delete", "--yes", "sample") == ran("undo", "other") == 2
    assert ran("undo") == 0
    assert Source.objects.filter(pk=sample.pk).exists()
    cluster, _ = connected()
    assert answering("", "disconnect", "prod", "--delete") == 2
    assert Cluster.objects.exists()
    assert answering("yes", "disconnect", "prod") == 0 and not Cluster.objects.exists()
    assert ran("undo", "prod") == 0
    assert Cluster.objects.get().pk == cluster.pk
    assert "prod is connected again" in capsys.readouterr().err
    assert not Cluster.everything.exclude(delete_after=None).exists()

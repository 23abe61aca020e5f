"""These tests walk all pages, operations of the API and sockets as somebody who may see one recording or one namespace,
and look for words of the others. Somebody who sees everything does find these words, so the tests can fail."""

import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoDbBlocker

from collectors.formats import Skipped, read
from dashboard.web import downloads
from tests.database.access.asking import bearer, issued, read_routes, signed_in
from tests.database.push.sockets import cookie_of, in_a_loop, notify, opened
from tests.inputs.recordings import findings_of, world_of
from tests.rows.hiding import CANARY, joined_in_part, partly_hidden, shown_alone
from tests.rows.people import grant, member
from timeline.core.entries import Request, microseconds
from timeline.models import Alert, Cluster, Finding, Incident, Silence, Source, Symptom, Track, Upload
from timeline.payloads.incidents.in_part import OTHER
from timeline.queries.incidents import lists
from timeline.queries.incidents.findings import findings
from timeline.queries.sources import extents
from timeline.queries.window import overview as overview_queries
from timeline.queries.window import windows
from timeline.queries.window.search import search
from timeline.storage import store
from timeline.storage.entries import chunks
from timeline.storage.permitted.limits import EVERYTHING, Permitted, seeing

_GROUPS = ("owner", "kind", "namespace", "actor")
pytestmark = pytest.mark.django_db


class Part(NamedTuple):
    """This is a recording of which a reader sees one namespace."""

    source: Source
    shown: str

    @property
    def seen(self) -> Permitted:
        return Permitted(namespaces={self.source.pk: frozenset([self.shown])})


@pytest.fixture(scope="module")
def parts(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[list[Part]]:
    shown = [("sample", "vol-restart", False), ("lease", "kube-system", True), ("pods", "workload", True)]
    with django_db_blocker.unblock():
        made = [Part(partly_hidden(*each), each[1]) for each in shown]
        made.append(Part(joined_in_part("joined", "vol-restart"), "vol-restart"))
    yield made
    with django_db_blocker.unblock():
        for part in made:
            store.discard_source(part.source)


def reader(*parts: Part) -> Client:
    """Return the browser of somebody who may see one namespace of each part, or everything if there is none."""
    user = member("" if parts else "admin")
    for part in parts:
        grant(user, "responder", on=part.source, namespaces=[part.shown])
    return signed_in(user)


def rows(part: Part) -> tuple[list[dict[str, object]], list[dict[str, object]]]:
    """Return parameters of addresses for some objects, incidents and findings: those that are seen, and others."""
    with seeing(part.seen):
        tracks = {*Track.objects.filter(source=part.source).values_list("id", flat=True)}
        incidents = {*Incident.objects.filter(source=part.source).values_list("identity", flat=True)}
        found = {*Finding.objects.filter(source=part.source).values_list("identity", flat=True)}
        symptoms = {*Symptom.objects.filter(source=part.source).values_list("identity", flat=True)}
    seen: list[dict[str, object]] = [{}]
    hidden: list[dict[str, object]] = [{}]
    kinds = ("Pod", "Service", "Lease", "Node")
    of_kinds = Track.objects.filter(source=part.source, kind__in=kinds).order_by("kind", "id")
    for place, about in ((True, seen), (False, hidden)):
        chosen = {each.kind: each.id for each in of_kinds if (each.id in tracks) is place}
        about.extend({"track_id": number} for number in [*chosen.values()][:2])
    named = (("incident", Incident, incidents), ("finding", Finding, found), ("incident", Symptom, symptoms))
    for name, model, identities in named:
        all_of_them = {*model._default_manager.filter(source=part.source).values_list("identity", flat=True)}
        seen += [{name: identity} for identity in sorted(identities)[:2]]
        hidden += [{name: identity} for identity in sorted(all_of_them - identities)[:2]]
    return seen, hidden


def addresses_about(part: Part, about: dict[str, object]) -> list[str]:
    """Return the addresses of all pages and operations of the API that are about this row of a source."""
    source = part.source
    assert source.first and source.last
    start, end = microseconds(source.first), microseconds(source.last)
    track = about.get("track_id", 1)
    asked = {
        "/api/sources/{source_id}/measure": f"?start={start}&end={end}&start_track={track}",
        "/api/sources/{source_id}/search": f"?q={CANARY[2:-2]}",
        "/api/sources/{source_id}/logs/marks": f"?logs=1&start={start}&end={end}",
        "/api/sources/{source_id}/logs/proof": f"?finding={'0' * 16}",
        "/api/sources/{source_id}/tracks/{track_id}/copy": f"?copied={start}&stood={end}",
        "/api/sources/{source_id}/tracks/{track_id}/change": "?sequence=1",
        "/api/sources/{source_id}/entries": "?bodies=true",
        "/api/sources/{source_id}/alerts": f"?start={start}&end={end}",
        "/api/resolve": f"?source={source.pk}&name={CANARY[2:]}",
        "/api/annotations": f"?from={start // 1000}&to={end // 1000}",
        "/go": f"?source={source.pk}&kind=pod&name={CANARY[2:]}",
    }
    more = [
        *(f"/api/sources/{{source_id}}/window?group={group}&limit=500" for group in _GROUPS),
        "/api/sources/{source_id}/window?noise=true&fold=none&limit=500",
        f"/api/sources/{{source_id}}/window?namespace={CANARY[2:]}",
        f"/api/sources/{{source_id}}/window?name={CANARY[2:]}",
        "/api/sources/{source_id}/events?every=true&noise=true&limit=500",
        f"/api/sources/{{source_id}}/changes?before={end}&minutes=100000",
        "/compare/?bad={source_id}-{track_id}&good={source_id}-{track_id}",
        "/api/compare?bad={source_id}-{track_id}&good={source_id}-{track_id}",
        "/api/sources/{source_id}/window?scope={track_id}",
        "/api/sources/{source_id}/overview?scope={track_id}",
        "/api/sources/{source_id}/changes?about={track_id}",
        "/api/sources/{source_id}/changes?incident={incident}",
        "/api/sources/{source_id}/changes?finding={finding}",
    ]  # fmt: skip
    values = {"source_id": source.pk, "rule_id": "service-gap", "cluster_id": 1, "upload_id": 1, **about}
    values |= dict.fromkeys(("sequence", "number", "log"), 1)
    made = []
    for path in (*read_routes(), *more):
        path += asked.get(path, "")
        path = path.replace("{identity}", "{finding}" if "findings" in path else "{incident}")
        if {name for name in ("track_id", "incident", "finding") if f"{{{name}}}" in path} == about.keys():
            made.append(path.format(**values))
    return made


def text_of(client: Client, path: str) -> tuple[int, str]:
    answer = client.get(path)
    assert answer.status_code < 500, path
    # For what is streamed, see `test_each_query_of_a_limited_reader_leaves_out_the_rest`.
    return answer.status_code, "" if answer.streaming else answer.content.decode(errors="replace")


def leaks(client: Client, part: Part, only: str = "") -> Iterator[str]:
    """Yield what the answers to a reader of one namespace show of the others. The wanted addresses match `only`."""
    seen, hidden = rows(part)
    for about in (*seen, *hidden[1:]):
        for path in addresses_about(part, about):
            if not re.search(only, path):
                continue
            status, text = text_of(client, path)
            if CANARY in text:
                yield f"{path}: {text[max(0, text.index(CANARY) - 120) :][:240]}"
            if status == 200 and about in hidden[1:] and "?scope" not in path:
                yield f"{path} is answered"


def test_whoever_sees_one_namespace_finds_no_word_of_the_others(parts: list[Part]) -> None:
    client = reader(parts[0])
    assert not [*leaks(client, parts[0])]
    for page in ("", "coverage/", "actors/"):
        assert "You see 1 namespace of this" in text_of(client, f"/sources/{parts[0].source.pk}/{page}")[1]


def test_a_finding_across_namespaces_names_nothing_of_the_other(parts: list[Part]) -> None:
    client = reader(*parts[1:])
    for part in parts[1:]:
        assert not [*leaks(client, part, only="document|finding|incident|overview|changes|report")]
    source = parts[1].source.pk
    for path in ("findings", "document"):
        assert OTHER in text_of(client, f"/api/sources/{source}/{path}")[1]


def test_an_incident_across_namespaces_consists_of_the_symptoms_that_are_seen(parts: list[Part]) -> None:
    part = parts[3]
    (whole,) = lists.incidents(part.source.pk)["incidents"]
    with seeing(part.seen):
        found = lists.incidents(part.source.pk)
        (seen,) = found["incidents"]
        worst = Finding.objects.get(source=part.source, identity=seen["worst"])
        of_it = Finding.objects.filter(source=part.source, withdrawn=False)
        assert (found["total"], found["symptoms"], found["findings"]) == (1, 2, of_it.count())
    assert whole["root"] and whole["symptoms_total"] > 2 and whole["id"] == seen["id"]
    assert seen["root"] == seen["cause"] == "" and seen["anchored_in"] == [part.shown]
    assert [each["rule"] for each in seen["symptoms"]] == ["service-gap", "pod-before-service"]
    assert {each["anchor"]["namespace"] for each in seen["symptoms"]} == {part.shown}
    assert (seen["symptoms_total"], seen["findings"]) == (2, found["findings"])
    assert seen["severity"] == worst.severity and seen["title"].startswith(worst.document["summary"])
    assert sum(each["findings"] for each in seen["symptoms"]) == seen["findings"] < whole["findings"]


def test_whoever_sees_everything_finds_these_words(parts: list[Part]) -> None:
    client, number = reader(), parts[0].source.pk
    about(parts[0].source)
    lists = ("/", "/alerts/", "/clusters/", "/silences/", "/api/sources", "/api/clusters")
    for path in (*lists, f"/sources/{number}/"):
        assert path in addresses(parts[0].source) and CANARY in text_of(client, path)[1], path
    for path in ("incidents/", "actors/", "changes/"):
        assert CANARY in text_of(client, f"/sources/{number}/{path}")[1], path
    for path in ("document", "overview", "window?group=namespace", "findings", "incidents", "events"):
        assert CANARY in text_of(client, f"/api/sources/{number}/{path}")[1], path


def test_numbers_are_those_of_a_recording_that_has_nothing_else(parts: list[Part]) -> None:
    def numbers(source: Source, seen: Permitted) -> dict[str, object]:
        with seeing(seen):
            row = extents.source(source.pk)
            overview, window = overview_queries.overview(source.pk), windows.window(source.pk, limit=500)
            found, incidents = findings(source.pk), lists.incidents(source.pk)
            objects = search(source.pk, "ring")["objects"]
        assert row
        return {
            "changes": (row.entries, sum(overview["counts"])),
            "listed": (row.errors, row.warnings, row.infos, found["total"], len(overview["ticks"])),
            "lanes": (window["lanes_total"], overview["families"], overview["namespaces"], overview["noise"]),
            "rules": (overview["rules"], overview["severity_counts"]),
            "findings": sorted(each["summary"] for each in found["findings"]),
            "incidents": (incidents["total"], sorted(each["title"] for each in incidents["incidents"])),
            "objects": sorted(each["name"] for each in objects),
        }

    part = parts[0]
    alone = shown_alone("alone", part.shown)
    assert numbers(part.source, part.seen) == numbers(alone, EVERYTHING)
    assert numbers(part.source, EVERYTHING) != numbers(alone, EVERYTHING)


def test_a_download_has_only_what_is_seen_and_gives_no_other_findings(parts: list[Part], tmp_path: Path) -> None:
    whole = {*Finding.objects.filter(source=parts[0].source).values_list("identity", flat=True)}
    file = tmp_path / "part.jsonl"
    with seeing(parts[0].seen):
        file.write_bytes(b"".join(downloads.lines_of(parts[0].source)))
    assert CANARY.encode() not in file.read_bytes()
    first, *items = read([(file, file.name)], bodies=True)
    assert isinstance(first, Skipped) and first.reason == "it has only the namespaces that its reader could see"
    read_again = [each for each in items if not isinstance(each, Skipped)]
    assert any(isinstance(each, Request) for each in read_again)
    found = {each.id for each in findings_of(world_of(read_again))}
    assert found and found <= whole


def about(hidden: Source) -> None:
    """Name what is hidden wherever lists over all sources could name it."""
    Source.objects.filter(pk=hidden.pk).update(name=f"{CANARY} recording")
    cluster = Cluster.objects.create(name=f"{CANARY}-cluster")
    Source.objects.create(name=f"{CANARY}-live", ready=True, cluster=cluster)
    Upload.objects.create(name=f"{CANARY}-upload", source=hidden)
    until = timezone.now() + timedelta(days=1)
    Silence.objects.create(source=hidden, namespace=CANARY, reason=CANARY, by=CANARY, expires=until)
    more = {"namespace": "default", "objects_named": [], "labels": {"a": CANARY}, "annotations": {}, "url": ""}
    times = {"started": timezone.now(), "seen": timezone.now()}
    Alert.objects.create(receiver=CANARY, cluster=CANARY, identity="1" * 32, name=CANARY, **more, **times)


def addresses(source: Source) -> list[str]:
    """Return the address of each page and of each operation of the API that reads, for a source."""
    track = Track.objects.filter(source=source, kind="Pod").first()
    incident = Incident.objects.filter(source=source).first()
    found = Finding.objects.filter(source=source, withdrawn=False).first()
    assert track and incident and found
    values = {"source_id": source.pk, "track_id": track.id, "rule_id": "orphan-pod"}
    values |= dict.fromkeys(("sequence", "number", "cluster_id", "upload_id", "log"), 1)
    compared = "/compare/?bad={source_id}-{track_id}&good={source_id}-{track_id}"
    return [
        path.format(**values, identity=found.identity if "findings" in path else incident.identity)
        for path in (*read_routes(), compared)
    ]


@pytest.mark.parametrize("reader", ["person", "token"])
def test_whoever_sees_one_recording_finds_no_word_of_another(sample: Source, parts: list[Part], reader: str) -> None:
    hidden = parts[0].source
    about(hidden)
    limited = Client(headers=bearer(issued("read", source=sample)))
    client = signed_in(member("viewer", on=sample)) if reader == "person" else limited
    for path in (*addresses(sample), *addresses(hidden)):
        if reader == "person" or path.startswith("/api/"):
            assert CANARY not in text_of(client, path)[1], path
            assert f"/sources/{hidden.pk}" not in path or client.get(path).status_code >= 400, path


@pytest.mark.django_db(transaction=True)
def test_a_socket_tells_nothing_of_what_is_hidden() -> None:
    seen, other = (Source.objects.create(name=name, ready=True) for name in ("seen", CANARY))
    shown = Upload.objects.create(name="shown", source=seen)
    secret = Upload.objects.create(name=CANARY, source=other)
    cookie = cookie_of(member("viewer", on=seen))

    @in_a_loop
    async def scenario() -> None:
        uploads, incidents = await opened(cookie=cookie), await opened("/ws/incidents/", cookie=cookie)
        assert (await uploads.news())["type"] == "refetch"  # by then, PostgreSQL is listened to for both
        for upload in (secret, shown):
            await notify(upload=upload.pk)
        for source in (other, seen):
            await notify(incidents=1, source=source.pk)
        assert (await uploads.news())["upload"]["name"] == "shown"
        assert (await incidents.news("incidents"))["source"] == seen.pk
        for number in (other.pk, 2**40):  # one that does not exist is answered alike
            page = await opened(f"/ws/sources/{number}/", cookie=cookie)
            while (reported := await page.news())[
                "type"
            ] == "alerts":  # as all pages are when PostgreSQL is listened to
                pass
            assert reported["type"] == "gone"
            await page.leave()
        for each in (uploads, incidents):
            await each.leave()

    scenario()


def test_each_query_of_a_limited_reader_leaves_out_the_rest(sample: Source, parts: list[Part]) -> None:
    with seeing(Permitted(whole=frozenset({sample.pk}))):
        assert list(chunks.lines(sample.pk)) and not list(chunks.lines(parts[0].source.pk))
        assert {*Track.objects.values_list("source", flat=True).distinct()} == {sample.pk}
        assert {*Finding.objects.values_list("source", flat=True).distinct()} == {sample.pk}

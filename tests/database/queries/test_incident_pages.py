"""The pages on which people see and handle incidents: lists, acknowledging many, silences, baselines."""

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from msgspec.structs import replace

from tests.following import Followed
from tests.markup import without_times
from tests.people import member
from tests.recordings import SAMPLE, entries_of, lines_of
from tests.worker import TIME, moved
from timeline.core.entries import Change, Entry
from timeline.models import Acknowledgement, BaselineIncident, Finding, Incident, Silence, Source, Track
from timeline.storage.judged import incidents
from timeline.storage.people import acknowledgements

pytestmark = pytest.mark.django_db
TITLE = re.compile(r'<th scope="row"><a href="([^"]+)">.*?</span>([^<]+)</a>', re.DOTALL)
GAP = "Service ring was away under 3 Pods, 2 times"


def page(client: Client, address: str, **query: Any) -> str:
    answer = client.get(address, query)
    assert answer.status_code == 200, answer.content
    return without_times(answer.content.decode())


def titles(client: Client, address: str, **query: Any) -> list[str]:
    return [title for _, title in TITLE.findall(page(client, address, **query))]


def of(source: Source) -> str:
    return f"/sources/{source.pk}/incidents/"


def keys(source: Source, **wanted: Any) -> list[str]:
    rows = Incident.objects.filter(source=source, **wanted).order_by("identity")
    return [f"{source.pk}.{row.identity}" for row in rows]


def test_the_list_of_a_recording_has_the_gravest_first_and_counts(client: Client, sample: Source) -> None:
    shown = page(client, of(sample))
    assert "6 incidents · 10 findings" in shown
    assert "ongoing when the recording ends" in shown
    assert "vol-restart / Service ring" in shown
    assert "2 occurrences between 2026-11-21 07:51:33 and 2026-11-21 07:52:59 UTC" in shown
    assert titles(client, of(sample)) == titles(client, of(sample), order="gravest")
    assert titles(client, of(sample))[1] == GAP
    assert titles(client, of(sample), order="time")[3] == GAP
    assert titles(client, of(sample), order="newest")[0].startswith("Lease volcano was held in turn")
    assert titles(client, "/incidents/") == titles(client, of(sample), order="newest")
    assert f'<a href="/sources/{sample.pk}/incidents/"><bdi>sample</bdi></a>' in page(client, "/incidents/")


@pytest.mark.parametrize(
    ("query", "number"),
    [
        ({"severity": "info"}, 3),
        ({"state": "ongoing"}, 1),
        ({"rule": "service-gap"}, 1),
        ({"namespace": "vol-restart"}, 2),
        ({"actor": "admin"}, 4),
        ({"q": "ring steady"}, 1),
        ({"q": "nothing like this"}, 0),
    ],
)
def test_its_filter_is_in_the_address(client: Client, sample: Source, query: dict[str, str], number: int) -> None:
    shown = page(client, of(sample), **query)
    assert len(TITLE.findall(shown)) == number
    assert f"{number} incident{'' if number == 1 else 's'} ·" in shown
    for value in query.values():
        assert f"<option selected>{value}</option>" in shown or f'value="{value}"' in shown


def test_an_address_that_is_not_valid_is_refused(client: Client, sample: Source) -> None:
    for query in ({"severity": "bad"}, {"cursor": "3"}, {"cursor": f"newest.1.1.{'0' * 16}.1"}, {"q": "\0"}):
        assert client.get(of(sample), query).status_code == 400, query
    assert client.get("/sources/999999/incidents/").status_code == 404


def test_a_cursor_leads_to_the_next_page(client: Client, sample: Source) -> None:
    one = Incident.objects.get(source=sample, rule="service-gap")
    fields = {name: value for name, value in one.__dict__.items() if name not in ("_state", "identity")}
    Incident.objects.bulk_create(Incident(**fields, identity=f"{number:016x}") for number in range(47))
    first = page(client, of(sample), namespace="vol-restart")
    link = re.search(r'<a href="(\?[^"]+)">Next', first)
    assert link is None  # 49 of them fit
    first = page(client, of(sample))
    assert len(TITLE.findall(first)) == 50
    link = re.search(r'<a href="(\?[^"]+)">Next', first)
    assert link is not None
    rest = page(client, of(sample) + link[1].replace("&amp;", "&"))
    assert len(TITLE.findall(rest)) == 3
    assert "First page" in rest
    assert "Next ›" not in rest


def test_many_are_acknowledged_at_once_and_that_is_undone(client: Client, sample: Source) -> None:
    chosen = keys(sample, namespace="vol-restart")
    answer = client.post(of(sample), {"act": "acknowledge", "incident": [*chosen, "999.0"], "note": "ticket 7"})
    assert answer.status_code == 302
    shown = page(client, answer["Location"])
    assert "2 incidents acknowledged." in shown
    assert "2 acknowledged ·" in shown  # who has acknowledged something sees the rest
    assert len(TITLE.findall(shown)) == 4
    every = page(client, of(sample), acknowledged="true")
    assert len(re.findall(r"acknowledged at .* UTC: ticket 7", every)) == 2
    client.post(answer["Location"], {"act": "undo"})
    assert len(titles(client, of(sample))) == 6
    assert not Acknowledgement.objects.exists()


def test_all_that_the_filter_shows_are_acknowledged(client: Client, sample: Source) -> None:
    client.post(f"{of(sample)}?namespace=vol-restart", {"act": "acknowledge", "all": "1", "note": ""})
    assert Acknowledgement.objects.count() == 2
    assert set(titles(client, of(sample))).isdisjoint({GAP})
    client.post("/incidents/", {"act": "acknowledge", "all": "1"})
    assert "Nothing new: every incident is acknowledged or silenced." in page(client, of(sample))


def test_only_who_has_acknowledged_something_does_not_see_it_at_first(
    client: Client, sample: Source, settings: Any
) -> None:
    settings.LOGIN_REQUIRED = True
    for name in ("ada", "bob"):
        client.force_login(member("responder", name=name))
        if name == "ada":
            client.post(of(sample), {"act": "acknowledge", "incident": keys(sample, rule="service-gap")})
        assert (GAP in titles(client, of(sample))) is (name == "bob")
    assert "acknowledged by ada at" in page(client, of(sample))


@pytest.fixture
def gap(sample: Source) -> Incident:
    return Incident.objects.get(source=sample, rule="service-gap")


def form(gap: Incident) -> str:
    return f"/silences/new?source={gap.source_id}&incident={gap.identity}"


def test_the_form_of_a_silence_begins_with_what_the_incident_is(client: Client, gap: Incident) -> None:
    shown = page(client, form(gap))
    for text in ('value="service-gap"', 'value="vol-restart"', 'value="ring"', "<strong>1 incident</strong>", GAP):
        assert text in shown
    assert '<option value="2" selected>2 hours</option>' in shown


def test_a_silence_takes_incidents_out_of_the_lists_and_is_expired(
    client: Client, sample: Source, gap: Incident
) -> None:
    fields = {"act": "silence", "source": sample.pk, "scope": "one", "owner": "ri*", "reason": "nightly", "hours": "8"}
    answer = client.post(form(gap), fields)
    assert (answer.status_code, answer["Location"]) == (302, f"{of(sample)}{gap.identity}/")
    assert "Silenced until" in page(client, answer["Location"])
    shown = page(client, of(sample))
    assert "2 silenced ·" in shown
    assert GAP not in shown
    assert "silenced until" in page(client, of(sample), silenced="true")
    listed = page(client, "/silences/")
    assert "recording sample" in listed
    assert "7 h 59 min left" in listed
    number = Silence.objects.get().pk
    client.post("/silences/", {"act": "expire", "silence": number})
    assert "No silence holds now." in page(client, "/silences/")
    assert "Ended</h2>" in page(client, "/silences/")
    assert GAP in page(client, of(sample))


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ({"reason": ""}, "Give a reason"),
        ({"rule": ""}, "it would match everything"),
        ({"hours": "0"}, "Choose how long"),
        ({"hours": "nan"}, "Choose how long"),
    ],
)
def test_a_silence_that_cannot_be_is_refused_and_the_form_kept(
    client: Client, gap: Incident, wrong: dict[str, str], problem: str
) -> None:
    fields = {"act": "silence", "rule": "service-gap", "reason": "because", "hours": "2", **wrong}
    answer = client.post(form(gap), fields)
    assert answer.status_code == 400
    assert problem in answer.content.decode()
    assert not Silence.objects.exists()


def test_a_preview_says_what_would_be_silenced(client: Client, gap: Incident) -> None:
    shown = client.post("/silences/new", {"act": "preview", "namespace": "volcano-*", "owner": "volcan?"})
    assert "It matches no incident" in shown.content.decode()
    shown = client.post("/silences/new", {"act": "preview", "owner": "volcan?"})
    assert "<strong>2 incidents</strong>" in shown.content.decode()


def test_a_baseline_is_set_tells_what_got_worse_and_is_removed(client: Client, sample: Source, gap: Incident) -> None:
    address = f"/sources/{sample.pk}/baseline/"
    assert "The 6 incidents that are known now leave the lists" in page(client, address)
    client.post(address, {"act": "set"})
    assert "6 incidents</a> are still in it" in page(client, address)
    assert "6 silenced ·" in page(client, of(sample))
    graver = Finding.objects.get(source=sample, identity=gap.worst)
    graver.document["severity"] = "error"
    graver.save()
    incidents.write(sample, [gap.identity])
    assert titles(client, of(sample)) == [GAP]
    shown = page(client, address)
    assert "5 incidents</a> are still in it" in shown
    assert "Its severity rose from warning to error." in shown
    assert "Its severity rose from warning to error." in page(client, f"{of(sample)}{gap.identity}/")
    client.post(address, {"act": "clear"})
    assert len(titles(client, of(sample))) == 6


def test_viewers_do_not_change_a_baseline(client: Client, sample: Source, settings: Any) -> None:
    settings.LOGIN_REQUIRED = True
    client.force_login(member("viewer", name="ada"))
    address = f"/sources/{sample.pk}/baseline/"
    assert client.post(address, {"act": "set"}).status_code == 403
    assert "This needs the role responder" in page(client, address)
    assert not BaselineIncident.objects.exists()


def test_the_page_says_why_an_acknowledgement_holds_no_more(client: Client, sample: Source, gap: Incident) -> None:
    acknowledgements.acknowledge_incidents(sample.pk, [gap.identity], "ada", "")
    Acknowledgement.objects.update(ended="It came back at 08:00.")
    shown = page(client, f"{of(sample)}{gap.identity}/")
    assert re.search(r"ada acknowledged it at .* UTC\. It came back at 08:00\.", shown)
    assert "Acknowledge…" in shown


# A silence outlives the re-creation of its job

UUID = re.compile(rb"[0-9a-f]{8}((?:-[0-9a-f]{4}){3}-[0-9a-f]{12})")
REVISION = re.compile(rb'"resourceVersion":"(\d+)"')
LATER = 100_000  # revisions


def first_run() -> list[Entry]:
    return sorted((each for each in entries_of(SAMPLE) if each.ref.namespace == "vol-restart"), key=lambda e: e.staged)


def deletions(run: list[Entry]) -> list[Entry]:
    """Return the deletion of every object that the run has left behind."""
    last = {each.ref.uid: each for each in run}
    end = run[-1].staged
    return [
        replace(
            each,
            change=Change.DELETED,
            resource_version=LATER // 2 + number,
            replaces=None,
            received=end + number * 1000,
            staged=end + number * 1000 + 900,
            identity=f"deletion {number}",
        )
        for number, each in enumerate(last.values(), 1)
        if each.change is not Change.DELETED
    ]


def second_run(folder: Path) -> list[Entry]:
    """Return the same again two minutes later: all objects have the same names and other UIDs."""
    lines = TIME.sub(lambda found: moved(found, timedelta(minutes=2)), b"\n".join(lines_of(SAMPLE)))
    lines = REVISION.sub(lambda found: b'"resourceVersion":"%d"' % (int(found[1]) + LATER), lines)
    path = folder / "again.jsonl"
    path.write_bytes(UUID.sub(rb"ffffffff\1", lines) + b"\n")
    return [each for each in entries_of(path) if each.ref.namespace == "vol-restart"]


def test_a_silence_outlives_the_re_creation_of_its_job(client: Client, tmp_path: Path) -> None:
    live = Followed()
    live.commit(run := first_run())
    gap = Incident.objects.get(source=live.source, rule="service-gap")
    fields = {"act": "silence", "source": live.source.pk, "scope": "one", "rule": gap.rule, "owner": gap.name}
    client.post(form(gap), {**fields, "reason": "nightly", "hours": "2"})
    assert titles(client, of(live.source)) == ["2 Pods created before Service ring"]
    live.commit(deletions(run))
    live.commit(second_run(tmp_path))
    jobs = Track.objects.filter(source=live.source, kind="Job", name="ring")
    assert len({job.uid for job in jobs}) == 2
    again = Incident.objects.get(source=live.source, rule="service-gap")
    assert (again.identity, again.subjects, again.occurrences) == (gap.identity, 2 * gap.subjects, 2 * gap.occurrences)
    shown = page(client, of(live.source))
    assert "1 silenced ·" in shown
    assert "was away" not in shown


def test_what_is_deleted_is_not_in_the_list_of_all_sources(client: Client, sample: Source) -> None:
    Source.objects.filter(pk=sample.pk).update(delete_after=timezone.now())
    assert titles(client, "/incidents/") == []
    assert client.get(of(sample)).status_code == 404
    assert "begin at one of its incidents" in page(client, f"/silences/new?source={sample.pk}")


def test_a_finding_names_its_incident(client: Client, sample: Source, gap: Incident) -> None:
    shown = page(client, f"/sources/{sample.pk}/findings/{gap.worst}/")
    assert f'Part of the incident <a href="{of(sample)}{gap.identity}/">{GAP}</a>' in shown


def landed(client: Client, question: str) -> str:
    """Return what a reader sees above the timeline to which the link of an alert leads."""
    found = re.search(r'id="landed">(.*?)</p>', client.get(f"/go?{question}", follow=True).content.decode())
    assert found is not None
    return found[1]


def test_the_link_of_an_alert_leads_on_to_the_only_incident_or_to_all(client: Client, sample: Source) -> None:
    shown = landed(client, "lease=volcano&at=2026-11-21T07:52:33Z")
    several = re.search(r'<a href="([^"]+)">2 incidents</a>', shown)
    assert several is not None
    address = several[1].replace("&amp;", "&")
    assert len(titles(client, address)) == 2
    assert "of one object and what belongs to its root owner" in page(client, address)
    Incident.objects.filter(source=sample, rule="pod-before-service").delete()
    gap = Incident.objects.get(source=sample, rule="service-gap")
    shown = landed(client, "pod=ring-steady-0&at=2026-11-21T07:52:33Z")
    assert f'<a href="{of(sample)}{gap.identity}/">{GAP}</a>' in shown

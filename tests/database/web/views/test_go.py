"""These tests open links of alerts on the sample recording: which object a link opens, and what is said if there is
none. test_landing.py tests which life and which source the moment of an alert chooses."""

import re
from html import unescape
from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import Client

from tests.database.web.views.pages import track_of
from timeline.models import Occurrence, Source, Track

pytestmark = pytest.mark.django_db
GAP = 1795247520841106  # the Service ring is deleted
SECOND = 1_000_000
STEADY = {"namespace": "vol-restart", "pod": "ring-steady-0"}
WEAK = {"namespace": "vol-restart", "pod": "ring-weak-0"}  # it lived four times


def led_to(client: Client, sample: Source, **question: str | int) -> dict[str, str]:
    """Return the query of the timeline to which the link redirects."""
    answer = client.get("/go", question)
    assert answer.status_code == 302, answer.content
    address = urlsplit(answer.headers["Location"])
    assert (address.scheme, address.netloc, address.path) == ("", "", f"/sources/{sample.pk}/")
    return {name: values[0] for name, values in parse_qs(address.query).items()}


def page(client: Client, status: int, **question: str | int) -> str:
    answer = client.get("/go", question)
    assert answer.status_code == status, answer.headers
    return unescape(re.sub(r"<[^>]*>", "", answer.content.decode()))


def root_of(sample: Source) -> str:
    return str(track_of(sample, "Job", "ring").id)


@pytest.mark.parametrize("kind", ["Pod", "pod", "pods", "po", ""])
def test_an_alert_on_a_pod_leads_to_its_lane_within_its_job(client: Client, sample: Source, kind: str) -> None:
    query = led_to(client, sample, source="sample", namespace="vol-restart", kind=kind, name="ring-steady-0")
    assert query["focus"] == root_of(sample)
    assert query["lane"] == "Pod/vol-restart/ring-steady-0"
    assert query["about"] == str(track_of(sample, "Pod", "ring-steady-0").id)
    assert int(query["start"]) < GAP < int(query["end"])
    found = Occurrence.objects.get(source=sample, key=query["finding"])
    assert int(query["about"]) in found.tracks


@pytest.mark.parametrize(
    ("label", "name", "kind"),
    [
        ("pod", "ring-steady-0", "Pod"),
        ("job_name", "ring", "Job"),
        ("service", "ring", "Service"),
        ("endpoint", "ring", "Endpoints"),
        ("endpointslice", "ring-ntzhb", "EndpointSlice"),
        ("configmap", "ring-svc", "ConfigMap"),
    ],
)
def test_an_object_is_named_by_the_label_of_the_alert(
    client: Client, sample: Source, label: str, name: str, kind: str
) -> None:
    query = led_to(client, sample, cluster="sample", namespace="vol-restart", at=GAP, **{label: name})
    assert Track.objects.get(source=sample, id=query["about"]).kind == kind
    assert query["focus"] == root_of(sample)


def test_of_several_labels_the_most_special_counts_and_empty_ones_are_left_out(client: Client, sample: Source) -> None:
    labels = {"pod": "<no value>", "job_name": "ring", "service": "", "node": "[no value]"}
    assert led_to(client, sample, namespace="vol-restart", **labels)["about"] == root_of(sample)
    labels = {"service": "ring", "job_name": "ring", "pod": "ring-steady-1"}
    assert led_to(client, sample, namespace="vol-restart", **labels)["lane"] == "Pod/vol-restart/ring-steady-1"
    html = page(client, 200, namespace="vol-restart", job_name="ring", pod="ring-steady-99")
    assert "No pod ring-steady-99 was ever seen. The link also names job ring." in html


def test_an_object_is_named_by_its_uid(client: Client, sample: Source) -> None:
    life = track_of(sample, "Pod", "ring-weak-0", 1)
    assert led_to(client, sample, uid=life.uid, namespace="another")["about"] == str(life.id)


@pytest.mark.parametrize(("life", "at"), [(0, GAP - SECOND), (1, GAP + 2 * SECOND)])
def test_an_address_means_who_had_it_then(client: Client, sample: Source, life: int, at: int) -> None:
    pod = track_of(sample, "Pod", "ring-weak-0", life)
    ((address,),) = [pod.addresses]
    for question in ({"ip": address}, {"instance": f"{address}:9100"}, {"ip": f" {address} ", "namespace": "x"}):
        assert led_to(client, sample, at=at, **question)["about"] == str(pod.id)


def test_of_several_lives_the_moment_chooses(client: Client, sample: Source) -> None:
    query = led_to(client, sample, name="ring-weak-0", namespace="vol-restart", at="2026-11-21T07:52:03Z")
    assert query["about"] == str(track_of(sample, "Pod", "ring-weak-0", 1).id)
    assert query["at"] == "1795247523000000"
    assert int(query["end"]) - int(query["start"]) < 120 * SECOND


def test_no_finding_of_after_the_alert_is_opened(client: Client, sample: Source) -> None:
    at = GAP + 5 * SECOND  # nearer to the second gap, which begins 1.4 s later
    query = led_to(client, sample, **STEADY, at=at)
    assert Occurrence.objects.get(source=sample, key=query["finding"]).first.timestamp() * SECOND <= at


def test_without_a_moment_the_last_life_is_opened_with_what_lies_around_it(client: Client, sample: Source) -> None:
    query = led_to(client, sample, **WEAK)
    last = track_of(sample, "Pod", "ring-weak-0", 3)
    life = last.life
    assert life.upper and (life.upper - life.lower).total_seconds() < 1
    assert (query["about"], "at" in query) == (str(last.id), False)
    assert int(query["start"]) <= life.lower.timestamp() * SECOND - 20 * SECOND
    assert int(query["end"]) >= life.upper.timestamp() * SECOND + 20 * SECOND
    assert query["finding"]
    shown = client.get(f"/sources/{sample.pk}/", {"about": query["about"]}).content.decode()
    assert "This is the last known incarnation of Pod ring-weak-0." in shown


def test_all_lives_are_offered_where_they_are_asked_for(client: Client, sample: Source) -> None:
    html = page(client, 200, kind="pod", name="ring-weak-0", choose=1)
    assert "Which one?" in html
    times = re.findall(r"07:5\d:\d\d\.\d+ – 07:52:\d\d\.\d+", html)
    assert len(times) == 4 and times == sorted(times, reverse=True), "the newest first"
    assert "recording sample" in html and "findings" in html


def test_one_name_of_one_group_means_its_owner(client: Client, sample: Source) -> None:
    query = led_to(client, sample, namespace="vol-restart", name="ring", at=GAP - SECOND)
    assert query["about"] == root_of(sample)


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ({"source": "nowhere", "name": "x"}, "There is no recording nowhere. Known are: sample"),
        (
            {"cluster": "samples", "name": "x"},
            "No connected cluster and no recording is called samples. Known are: sample",
        ),
        ({"namespace": "nowhere", "name": "x"}, "Nothing of namespace nowhere was seen in sample."),
        ({"kind": "DaemonSet.apps", "name": "x"}, "No object of kind DaemonSet.apps was seen in sample."),
        (
            {"kind": "po", "namespace": "vol-restart", "name": "ring-stedy-0"},
            "No po ring-stedy-0 was ever seen in namespace vol-restart in sample.",
        ),
        ({"uid": "1b4e28ba"}, "No object with the UID 1b4e28ba was ever seen in sample."),
        ({"ip": "10.99.99.99"}, "No object with the address 10.99.99.99 was ever seen in sample."),
        ({"instance": "nowhere:9100"}, "No node nowhere was ever seen in sample."),
    ],
)
def test_what_is_unknown_is_said(client: Client, sample: Source, question: dict[str, str], said: str) -> None:
    assert said in page(client, 404, **question)
    if "name" in question:
        answer = client.get("/go", question).content.decode()
        assert f'value="{question["name"]}"' in answer, "the form keeps what was asked"


def test_names_that_are_nearly_it_are_offered(client: Client, sample: Source) -> None:
    for near, question in (
        ("ring-steady-0", {"namespace": "vol-restart", "name": "ring-stedy-0"}),
        ("ring-weak-0", {"namespace": "vol-restart", "name": "ring-w"}),
        ("ring-weak-0", {"namespace": "kube-system", "name": "ring-weak-0"}),
        ("ring-weak-0", {"namespace": "vol-restart", "name": "Ring-Weak-0"}),
    ):
        assert near in page(client, 404, **question)
    offered = client.get("/go", {"namespace": "vol-restart", "pod": "ring-weak-9"}).content.decode()
    assert offered.count('title="ring-weak-0"') == 1 and 'title="ring-steady-0"' in offered
    for wrong in ("samples", "SAMPLE"):
        answer = client.get("/go", {"cluster": wrong, **WEAK})
        assert "?cluster=sample&amp;namespace=vol-restart&amp;pod=ring-weak-0" in answer.content.decode()


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("name=p&at=yesterday", "at: yesterday is not a valid time. Write it as RFC 3339"),
        ("name=p&at=0001-01-01T00:00:00Z", "at: 0001-01-01T00:00:00Z lies beyond the years 1970 to 9999."),
        ("namespace=n", "The link names no object: give name=, uid=, ip=, instance=, or one of pod, job_name"),
        ("kind=pod&namespace=n", "name= is missing or empty"),
        ("name=a&name=b", "name: the link gives it 2 times, with different values."),
        ("name=a%00b", "name: it contains a control character"),
        ("name=x&cluster=a%0d%0aSet-Cookie:b", "cluster: it contains a control character"),
        (f"pod={'x' * 254}", "pod: it has 254 characters."),
        ("ip=10.0.0.999", "ip: 10.0.0.999 is not an IP address"),
        ("ip=fe80::1%25%3Cscript%3E&uid=<", "uid: < is not a UID"),
        ("name=x&choose=yes", "choose: yes is not 0 or 1."),
    ],
)
def test_a_wrong_parameter_is_named(client: Client, question: str, said: str) -> None:
    answer = client.get(f"/go?{question}")
    assert answer.status_code == 400
    assert said in unescape(answer.content.decode())


def test_the_form_asks_where_the_link_asks_nothing_and_keeps_what_a_label_named(client: Client) -> None:
    assert "Find an object" in page(client, 200)
    answer = client.get("/go", {"pod": "nothing-of-it", "at": "yesterday"}).content.decode()
    assert 'value="nothing-of-it"' in answer and 'value="pod"' in answer and 'value="yesterday"' in answer
    turned = client.get("/go", {"name": "a\u202eb\u2066c ثلاثة"}).content.decode()
    assert "a\ufffdb\ufffdc ثلاثة" in turned and "\u202e" not in turned, "what turns the text is shown, not obeyed"


def test_values_are_escaped_and_lead_nowhere_else(client: Client, sample: Source) -> None:
    for field in ("name", "source", "cluster", "namespace", "kind", "pod"):
        question = {"name": "x"} | {field: "\"'><img src=x onerror=alert(1)>//evil.example/"}
        answer = client.get("/go", question)
        assert answer.status_code in (400, 404)
        assert b"<img src=x" not in answer.content


@pytest.mark.parametrize("query", ["about=x&at=1", "about=99999999999999999&at=1", "about=-1", "about=1&at=yesterday"])
def test_a_timeline_with_a_wrong_landing_is_a_timeline(client: Client, sample: Source, query: str) -> None:
    assert client.get(f"/sources/{sample.pk}/?{query}").status_code == 200

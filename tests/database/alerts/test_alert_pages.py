"""These tests send alerts about the sample recording, and read what they are linked to and where they are shown."""

import re
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from tests.database.alerts.test_alerts import send, token
from timeline.core.entries import moment
from timeline.models import Alert, Incident, Source
from timeline.queries.alerts import received
from timeline.storage.keeping import deletion

pytestmark = pytest.mark.django_db
GAP = 1795247520841106  # µs since 1970: the Service ring of the sample is deleted
SECOND = 1_000_000


def about(name: str = "PodDown", at: int = GAP, seconds: int | None = 5, **labels: Any) -> dict[str, Any]:
    return {
        "status": "firing" if seconds is None else "resolved",
        "labels": {"alertname": name, **labels},
        "annotations": {"summary": "It is <b>down</b>."},
        "startsAt": moment(at).isoformat(),
        "endsAt": "0001-01-01T00:00:00Z" if seconds is None else moment(at + seconds * SECOND).isoformat(),
        "generatorURL": "https://prometheus.example/graph?a=1&b=2",
    }


def of_pod(**labels: str) -> dict[str, Any]:
    return {"cluster": "sample", "namespace": "vol-restart", "pod": "ring-steady-0", **labels}


def page(path: str) -> str:
    answer = Client().get(path)
    assert answer.status_code == 200, answer.content
    return unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]*>", "", answer.content.decode())))


def listed(**question: Any) -> list[dict[str, Any]]:
    answer = Client().get("/api/alerts", question)
    assert answer.status_code == 200, answer.content
    return list(answer.json()["alerts"])


def test_an_alert_is_linked_to_the_object_that_existed_when_it_began(sample: Source) -> None:
    service: dict[str, Any] = {"cluster": "sample", "namespace": "vol-restart", "service": "ring"}
    send(token(), about(at=GAP - SECOND, **service), about(at=GAP + SECOND, **service))
    found = listed()
    for each in found:
        assert (each["object"]["source"], each["object"]["name"], each["why"]) == (sample.pk, "ring", "")
        opened = Client().get("/go", {**service, "at": each["start"]}).headers["Location"]
        about_it = f"about={each['object']['track']}&"
        assert about_it in opened and about_it in each["timeline"] and f"/sources/{sample.pk}/?" in each["timeline"]
    assert len({each["object"]["track"] for each in found}) == 2  # the Service was created again in between


@pytest.mark.parametrize(
    ("labels", "why"),
    [
        ({"cluster": "sample", "severity": "page"}, "Its labels name no object."),
        ({"cluster": "sample", "pod": "nobody"}, "No pod nobody of the cluster sample was seen within 2 h"),
        (of_pod(namespace="else"), "ring-steady-0 in namespace else of the cluster sample was seen"),
        ({"cluster": "unheard", "pod": "ring-steady-0"}, "of the cluster unheard"),
        (of_pod(pod="nobody", service="ring"), "It also names service ring, which is known."),
    ],
)  # fmt: skip
def test_an_alert_that_is_not_linked_says_why(sample: Source, labels: dict[str, Any], why: str) -> None:
    send(token(), about(**labels))
    [found] = listed()
    assert found["object"] is None and why in found["why"] and found["timeline"] == ""
    assert f"Not linked: {found['why']}" in page("/alerts/")


def test_far_from_the_time_of_an_alert_nothing_is_linked(sample: Source) -> None:
    send(token(), about(at=GAP + 8 * 3600 * SECOND, **of_pod()))
    [found] = listed()
    assert found["object"] is None and "within 2 h of its beginning" in found["why"]


def test_without_a_cluster_an_object_that_only_one_source_shows_is_linked(sample: Source) -> None:
    labels = of_pod()
    del labels["cluster"]
    send(token(), about(**labels))
    assert listed()[0]["object"]["source"] == sample.pk
    assert received.alerts_of(sample.pk, GAP, GAP)["alerts"][0]["object"] is not None


def test_a_token_that_is_limited_to_a_recording_links_within_it(sample: Source) -> None:
    send(token(source=sample), about(**of_pod(cluster="another name")))
    assert listed()[0]["object"]["source"] == sample.pk
    assert len(received.alerts_of(sample.pk, GAP, GAP)["alerts"]) == 1


def test_an_alert_that_comes_before_its_object_is_linked_once_that_is_known(sample: Source) -> None:
    send(token(), about(**of_pod(cluster="later")))
    assert listed()[0]["object"] is None
    Source.objects.filter(pk=sample.pk).update(name="later")
    assert listed()[0]["object"]["name"] == "ring-steady-0"


def test_the_alerts_of_a_source_in_a_range(sample: Source) -> None:
    text = token()
    send(text, about("before", GAP - 60 * SECOND, 50, **of_pod()), about("within", **of_pod()))
    send(text, about("still", GAP - 60 * SECOND, None, cluster="sample"), about("other", cluster="other"))
    send(text, about("after", GAP + 60 * SECOND, 5, **of_pod()))

    def names(start: int, end: int) -> list[str]:
        address = f"/api/sources/{sample.pk}/alerts?start={start}&end={end}"
        return [each["name"] for each in Client().get(address).json()["alerts"]]

    assert names(GAP - SECOND, GAP + SECOND) == ["within", "still"]
    assert names(GAP - 70 * SECOND, GAP + 70 * SECOND) == ["after", "within", "before", "still"]
    assert names(GAP - 80 * SECOND, GAP - 61 * SECOND) == []
    assert Client().get(f"/api/sources/{sample.pk}/alerts?start=2&end=1").status_code == 422


def test_what_is_drawn_is_bounded(sample: Source) -> None:
    send(token(), *(about(f"a{number}", at=GAP + number, **of_pod()) for number in range(received.DRAWN + 5)))
    found = received.alerts_of(sample.pk, GAP, GAP + SECOND)
    assert (len(found["alerts"]), found["more"]) == (received.DRAWN, True)
    assert found["alerts"][0]["name"] == f"a{received.DRAWN + 4}"


def test_the_list_is_read_page_by_page_and_filtered(sample: Source) -> None:
    text = token()
    send(text, *(about(f"a{number:02}", at=GAP - number // 2 * SECOND, **of_pod()) for number in range(9)))
    send(token(name="script"), about("of a script", GAP - 3600 * SECOND, None, cluster="elsewhere"))
    seen: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        answer = Client().get("/api/alerts", {"limit": "4", "cursor": cursor}).json()
        seen += [each["name"] for each in answer["alerts"]]
        cursor = answer["next"]
    assert len(seen) == 10 and sorted(seen) == [*(f"a{number:02}" for number in range(9)), "of a script"]
    assert [each["name"] for each in listed(state="firing")] == ["of a script"]
    assert [each["name"] for each in listed(receiver="script")] == ["of a script"]
    assert [each["name"] for each in listed(name="A03")] == ["a03"]
    assert len(listed(source=sample.pk)) == 9 and len(listed(state="resolved")) == 9
    assert Client().get("/api/alerts?state=maybe").status_code == 422
    assert Client().get("/alerts/?cursor=x").status_code == 400
    assert Client().get("/alerts/?source=123456789").status_code == 404
    assert "of a script" in page("/alerts/?state=firing") and "a03" not in page("/alerts/?state=firing")


def test_an_alert_that_two_senders_send_is_on_both_sides_of_a_border(sample: Source) -> None:
    names = ["büro.1", "prod"]
    for name in names:
        send(token(name=name), about("a", **of_pod()))
    first = Client().get("/api/alerts", {"limit": "1"}).json()
    second = Client().get("/api/alerts", {"limit": "1", "cursor": first["next"]}).json()
    assert sorted(each["receiver"] for each in first["alerts"] + second["alerts"]) == names
    assert first["alerts"][0]["id"] == second["alerts"][0]["id"] and second["next"] is None


def test_pages_show_an_alert_without_trusting_it(sample: Source) -> None:
    send(token(), about("<i>Down</i>", **of_pod(evil="\u202e</dd><script>")))
    answer = Client().get("/alerts/").content.decode()
    assert "&lt;i&gt;Down" in answer and "<script>" not in answer.split("</head>")[1].split("<script type")[0]
    assert 'href="https://prometheus.example/graph?a=1&amp;b=2" rel="noopener noreferrer nofollow"' in answer
    assert "It is <b>down</b>." in page("/alerts/") and "evil" in page("/alerts/")


def test_the_pages_of_an_object_and_of_an_incident_show_its_alerts(sample: Source) -> None:
    incident = Incident.objects.filter(source=sample, namespace="vol-restart").order_by("rank", "first").first()
    assert incident
    send(token(), about("AtTheTime", GAP + 60 * SECOND, **of_pod()), about("Elsewhere", cluster="other", pod="x"))
    [found] = [each for each in listed() if each["object"]]
    shown = page(f"/sources/{sample.pk}/objects/{found['object']['track']}/")
    assert "Alerts that name it" in shown and "AtTheTime" in shown and "Elsewhere" not in shown
    shown = page(f"/sources/{sample.pk}/incidents/{incident.identity}/")
    assert "Alerts at the time" in shown and "AtTheTime" in shown and "Elsewhere" not in shown
    address = f"/api/sources/{sample.pk}/incidents/{incident.identity}/alerts"
    assert [each["name"] for each in Client().get(address).json()["alerts"]] == ["AtTheTime"]
    address = f"/api/sources/{sample.pk}/tracks/{found['object']['track']}/alerts"
    assert [each["name"] for each in Client().get(address).json()["alerts"]] == ["AtTheTime"]
    Alert.objects.update(started=moment(GAP - 7200 * SECOND), ended=moment(GAP - 7100 * SECOND))
    assert "Alerts at the time" not in page(f"/sources/{sample.pk}/incidents/{incident.identity}/")


def test_an_alert_survives_its_source(sample: Source) -> None:
    send(token(), about(**of_pod()))
    Source.objects.filter(pk=sample.pk).update(delete_after=timezone.now() + timedelta(minutes=1))
    assert listed()[0]["object"] is None
    deletion.restore_source(sample.pk)
    assert listed()[0]["object"] is not None


def test_many_alerts_are_linked_with_few_queries(sample: Source, django_assert_max_num_queries: Any) -> None:
    send(token(), *(about(f"a{number}", at=GAP + number, **of_pod(pod=f"ring-{number}")) for number in range(100)))
    with django_assert_max_num_queries(12):
        assert len(received.alerts_of(sample.pk, GAP, GAP + SECOND)["alerts"]) == 100


def test_without_alerts_the_page_says_how_to_send_them() -> None:
    assert "/api/receivers/alertmanager" in page("/alerts/")

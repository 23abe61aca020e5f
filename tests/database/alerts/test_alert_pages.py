"""These tests send alerts about the sample recording, read what they are linked to, and open the links of the examples
in docs/how-to/link-and-receive-alerts.md."""

import re
from datetime import UTC, datetime, timedelta
from html import unescape
from typing import Any
from urllib.parse import parse_qs, quote_plus, urlsplit

import pytest
import yaml
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from collectors.alerts.objects import LABELS
from tests import ROOT
from tests.database.alerts.test_alerts import send, token
from timeline.core.entries import moment
from timeline.models import Alert, Incident, Source, Track
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
    ("labels", "later", "why"),
    [
        ({"severity": "page"}, 0, "Its labels name no object."),
        ({"pod": "nobody"}, 0, "No pod nobody of the cluster sample was seen within 2 h"),
        (of_pod(namespace="else"), 0, "ring-steady-0 in namespace else of the cluster sample was seen"),
        ({"cluster": "unheard", "pod": "ring-steady-0"}, 0, "of the cluster unheard"),
        (of_pod(pod="nobody", service="ring"), 0, "It also names service ring, which is known."),
        (of_pod(), 8 * 3600 * SECOND, "within 2 h of its beginning"),
    ],
    ids=["no object", "unknown", "elsewhere", "unknown cluster", "one of two", "far away"],
)
def test_an_alert_that_is_not_linked_says_why(sample: Source, labels: dict[str, Any], later: int, why: str) -> None:
    assert "/api/receivers/alertmanager" in page("/alerts/"), "without alerts, it says how to send them"
    send(token(), about(at=GAP + later, **{"cluster": "sample", **labels}))
    [found] = listed()
    assert found["object"] is None and why in found["why"] and found["timeline"] == ""
    assert f"Not linked: {found['why']}" in page("/alerts/")


@pytest.mark.parametrize(("cluster", "limited"), [("", False), ("another name", True)])
def test_an_object_that_only_one_source_can_mean_is_linked(sample: Source, cluster: str, limited: bool) -> None:
    labels = {name: value for name, value in of_pod(cluster=cluster).items() if value}
    send(token(source=sample) if limited else token(), about(**labels))
    assert listed()[0]["object"]["source"] == sample.pk
    [found] = received.alerts_of(sample.pk, GAP, GAP)["alerts"]
    assert found["object"] is not None


def test_an_alert_is_linked_while_its_object_is_known(sample: Source) -> None:
    send(token(), about(**of_pod(cluster="later")))
    assert listed()[0]["object"] is None
    Source.objects.filter(pk=sample.pk).update(name="later")
    assert listed()[0]["object"]["name"] == "ring-steady-0"
    Source.objects.filter(pk=sample.pk).update(delete_after=timezone.now() + timedelta(minutes=1))
    assert listed()[0]["object"] is None
    deletion.restore_source(sample.pk)
    assert listed()[0]["object"] is not None


def test_what_is_drawn_is_bounded_and_linked_with_few_queries(
    sample: Source, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    many = range(received.DRAWN + 5)
    send(token(), *(about(f"a{number}", at=GAP + number, **of_pod(pod=f"ring-{number}")) for number in many))
    with django_assert_max_num_queries(12):
        found = received.alerts_of(sample.pk, GAP, GAP + SECOND)
    assert (len(found["alerts"]), found["more"]) == (received.DRAWN, True)
    assert found["alerts"][0]["name"] == f"a{received.DRAWN + 4}"


def test_an_alert_that_two_senders_send_is_on_both_sides_of_a_border(sample: Source) -> None:
    names = ["büro.1", "prod"]
    for name in names:
        send(token(name=name), about("a", **of_pod()))
    first = Client().get("/api/alerts", {"limit": "1"}).json()
    second = Client().get("/api/alerts", {"limit": "1", "cursor": first["next"]}).json()
    assert sorted(each["receiver"] for each in first["alerts"] + second["alerts"]) == names
    assert first["alerts"][0]["id"] == second["alerts"][0]["id"] and second["next"] is None


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
    for thing in (f"incidents/{incident.identity}", f"tracks/{found['object']['track']}"):
        read = Client().get(f"/api/sources/{sample.pk}/{thing}/alerts").json()
        assert [each["name"] for each in read["alerts"]] == ["AtTheTime"]
    Alert.objects.update(started=moment(GAP - 7200 * SECOND), ended=moment(GAP - 7100 * SECOND))
    assert "Alerts at the time" not in page(f"/sources/{sample.pk}/incidents/{incident.identity}/")


PAGE = (ROOT / "docs/how-to/link-and-receive-alerts.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(?:yaml)?\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
POD = {"cluster": "sample", "namespace": "vol-restart", "pod": "ring-weak-0"}
JOB = {"cluster": "sample", "namespace": "vol-restart", "job_name": "ring"}
STARTS = datetime(2026, 11, 21, 7, 52, 3, tzinfo=UTC)
ACTION = re.compile(r"\{\{ (?P<value>[$.\w]+)(?P<escaped> \| urlquery)? \}\}")


def filled(template: str, known: dict[str, Any]) -> str:
    """Return what Go's templates make of the actions that the page uses. A missing value becomes an empty text."""

    def value(action: "re.Match[str]") -> str:
        found: Any = known
        for name in action["value"].strip("$.").split("."):
            found = found.get(name, "") if isinstance(found, dict) else getattr(found, name)
        text = str(found() if callable(found) else found)
        return quote_plus(text) if action["escaped"] else text

    return str(ACTION.sub(value, template))


def of_prometheus(template: str, labels: dict[str, str]) -> str:
    """Fill a template as Prometheus does, for which external labels are not labels of the alert."""
    own = {name: value for name, value in labels.items() if name != "cluster"}
    return filled(template, {"labels": own, "externalLabels": {"cluster": labels["cluster"]}})


class Moment(datetime):
    """This class has the methods of Go's time that the page uses."""

    def Unix(self) -> int:
        return int(self.timestamp())


def of_alertmanager(template: str, annotation: str = "") -> str:
    (inner,) = re.findall(r"\{\{ range \.Alerts \}\}(.*?)\{\{ end \}\}", template, re.DOTALL)
    begun = Moment.fromtimestamp(STARTS.timestamp(), UTC)
    return filled(inner, {"Labels": POD, "Annotations": {"timeline": annotation}, "StartsAt": begun}).strip()


def block(*parts: str) -> str:
    (found,) = (text for text in BLOCKS if all(part in text for part in parts))
    return str(found)


def annotation(*parts: str) -> str:
    parsed = yaml.safe_load(block(*parts))
    rule = parsed["groups"][0]["rules"][0] if "groups" in parsed else parsed
    return str(rule["annotations"]["timeline"])


def test_each_example_opens_what_it_is_about(client: Client, sample: Source) -> None:
    of_all = annotation("annotations:", "persistentvolumeclaim=")  # one for alerts on different kinds
    data_link = block("${__field.labels.cluster").strip()
    for name, value in POD.items():
        data_link = data_link.replace(f"${{__field.labels.{name}:percentencode}}", value)
    data_link = data_link.replace("${__value.time}", str(int(STARTS.timestamp() * 1000)))
    for link, name, life in (
        (of_prometheus(annotation("groups:"), JOB), "ring", None),
        (of_prometheus(of_all, JOB), "ring", None),
        (of_prometheus(of_all, POD), "ring-weak-0", None),
        (of_alertmanager(block("{{ .Annotations.timeline }}"), of_prometheus(of_all, POD)), "ring-weak-0", 1),
        (of_alertmanager(block(".Labels.cluster")), "ring-weak-0", 1),
        (filled(block("$labels.cluster"), {"labels": POD}).strip(), "ring-weak-0", 3),
        (data_link, "ring-weak-0", 1),
    ):
        address = urlsplit(link)
        assert (address.scheme, address.netloc, address.path) == ("https", "causeline.example", "/go"), link
        answer = client.get(f"{address.path}?{address.query}")
        assert answer.status_code == 302, answer.content.decode()
        query = parse_qs(urlsplit(answer.headers["Location"]).query)
        track = Track.objects.get(source=sample, id=query["about"][0])
        assert track.name == name, link
        lives = Track.objects.filter(source=sample, lane=track.lane).order_by("life")
        assert life is None or track == lives[life], link


def test_links_that_open_nothing_say_so_and_hostile_labels_stay_values(client: Client, sample: Source) -> None:
    answer = client.get(BLOCKS[0].strip().removeprefix("https://causeline.example"))
    assert answer.status_code == 404 and b"prod" in answer.content, "it is well formed, but nothing is known of it"
    labels = {**POD, "pod": "x&at=1&source=2#\"'<script>"}
    link = of_prometheus(annotation("annotations:", "persistentvolumeclaim="), labels)
    answer = client.get(f"/go?{urlsplit(link).query}")
    page = answer.content.split(b"</head>")[1].split(b"<script type")[0]
    assert answer.status_code == 404 and b"<script>" not in page


def test_the_page_names_every_parameter_and_the_cluster_as_an_external_label_of_prometheus() -> None:
    for name in (*LABELS, "cluster", "source", "namespace", "name", "kind", "uid", "ip", "instance", "at", "choose=1"):
        assert f"`{name}`" in PAGE, name
    assert yaml.safe_load(block("external_labels"))["global"]["external_labels"] == {"cluster": "prod"}
    assert "$labels.cluster" not in "".join(text for text in BLOCKS if "annotations:" in text)

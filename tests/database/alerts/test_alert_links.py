"""These tests fill the examples of docs/how-to/link-and-receive-alerts.md as Prometheus, Alertmanager and Grafana do,
and open them."""

import re
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs, quote_plus, urlsplit

import pytest
import yaml
from django.test import Client

from tests import ROOT
from timeline.models import Source, Track

pytestmark = pytest.mark.django_db
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


def of_alertmanager(template: str, labels: dict[str, str], annotation: str = "") -> list[str]:
    (inner,) = re.findall(r"\{\{ range \.Alerts \}\}(.*?)\{\{ end \}\}", template, re.DOTALL)
    alert = {"Labels": labels, "Annotations": {"timeline": annotation}, "StartsAt": Moment.fromtimestamp(0, UTC)}
    alert["StartsAt"] = Moment.fromtimestamp(STARTS.timestamp(), UTC)
    return [filled(inner, alert).strip() for _ in range(2)]


def check_opens(client: Client, sample: Source, link: str, name: str, life: int | None = None) -> None:
    address = urlsplit(link)
    assert (address.scheme, address.netloc, address.path) == ("https", "causeline.example", "/go"), link
    answer = client.get(f"{address.path}?{address.query}")
    assert answer.status_code == 302, answer.content.decode()
    query = parse_qs(urlsplit(answer.headers["Location"]).query)
    track = Track.objects.get(source=sample, id=query["about"][0])
    assert track.name == name
    if life is not None:
        assert track == Track.objects.filter(source=sample, lane=track.lane).order_by("life")[life]


def block(*parts: str) -> str:
    (found,) = (text for text in BLOCKS if all(part in text for part in parts))
    return str(found)


def annotation(text: str) -> str:
    parsed = yaml.safe_load(text)
    rule = parsed["groups"][0]["rules"][0] if "groups" in parsed else parsed
    return str(rule["annotations"]["timeline"])


def test_the_annotation_of_prometheus(client: Client, sample: Source) -> None:
    check_opens(client, sample, of_prometheus(annotation(block("groups:")), JOB), "ring")


def test_the_cluster_is_an_external_label_of_prometheus() -> None:
    assert yaml.safe_load(block("external_labels"))["global"]["external_labels"] == {"cluster": "prod"}
    assert "$labels.cluster" not in "".join(text for text in BLOCKS if "annotations:" in text)


@pytest.mark.parametrize(("labels", "name"), [(POD, "ring-weak-0"), (JOB, "ring")], ids=["pod", "job"])
def test_one_annotation_for_alerts_on_different_kinds(
    client: Client, sample: Source, labels: dict[str, str], name: str
) -> None:
    template = annotation(block("annotations:", "persistentvolumeclaim="))
    check_opens(client, sample, of_prometheus(template, labels), name)


def test_the_template_of_alertmanager_adds_the_time(client: Client, sample: Source) -> None:
    made = of_prometheus(annotation(block("annotations:", "persistentvolumeclaim=")), POD)
    for link in of_alertmanager(block("{{ .Annotations.timeline }}"), POD, made):
        check_opens(client, sample, link, "ring-weak-0", 1)


def test_the_template_of_alertmanager_makes_the_link(client: Client, sample: Source) -> None:
    for link in of_alertmanager(block(".Labels.cluster"), POD):
        check_opens(client, sample, link, "ring-weak-0", 1)


def test_the_annotation_of_grafana(client: Client, sample: Source) -> None:
    check_opens(client, sample, filled(block("$labels.cluster"), {"labels": POD}).strip(), "ring-weak-0", 3)


def test_the_data_link_of_grafana(client: Client, sample: Source) -> None:
    link = block("${__field.labels.cluster").strip()
    for name, value in POD.items():
        link = link.replace(f"${{__field.labels.{name}:percentencode}}", value)
    link = link.replace("${__value.time}", str(int(STARTS.timestamp() * 1000)))
    check_opens(client, sample, link, "ring-weak-0", 1)


def test_the_first_example(client: Client) -> None:
    link = BLOCKS[0].strip()
    answer = client.get(link.removeprefix("https://causeline.example"))
    assert answer.status_code == 404 and b"prod" in answer.content, "it is well formed, but nothing is known of it"


def test_hostile_labels_stay_values(client: Client, sample: Source) -> None:
    labels = {**POD, "pod": "x&at=1&source=2#\"'<script>"}
    link = of_prometheus(annotation(block("annotations:", "persistentvolumeclaim=")), labels)
    answer = client.get(f"/go?{urlsplit(link).query}")
    assert (
        answer.status_code == 404 and b"<script>" not in answer.content.split(b"</head>")[1].split(b"<script type")[0]
    )


def test_the_page_names_every_parameter() -> None:
    from collectors.alerts.objects import LABELS

    for name in (*LABELS, "cluster", "source", "namespace", "name", "kind", "uid", "ip", "instance", "at", "choose=1"):
        assert f"`{name}`" in PAGE, name

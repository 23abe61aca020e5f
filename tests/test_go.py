"""What an alert's link opens."""

from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import Client

from timeline.models import Occurrence, Source, Track

pytestmark = pytest.mark.django_db
GAP = 1795247520841106  # the Service ring goes


def led_to(client: Client, sample: Source, **question: str | int) -> dict[str, str]:
    """The query of the timeline that it leads to."""
    answer = client.get("/go", question)
    assert answer.status_code == 302, answer.content
    address = urlsplit(answer.headers["Location"])
    assert address.path == f"/sources/{sample.pk}/"
    return {name: values[0] for name, values in parse_qs(address.query).items()}


def page(client: Client, status: int, **question: str | int) -> str:
    answer = client.get("/go", question)
    assert answer.status_code == status, answer.headers
    return answer.content.decode()


def root_of(sample: Source) -> str:
    return str(Track.objects.get(source=sample, kind="Job", name="ring", namespace="vol-restart").id)


@pytest.mark.parametrize("kind", ["Pod", "pod", "pods", "po", ""])
def test_an_alert_on_a_pod_leads_to_its_job(client: Client, sample: Source, kind: str) -> None:
    query = led_to(client, sample, source="sample", namespace="vol-restart", kind=kind, name="ring-steady-0")
    assert query["focus"] == root_of(sample)
    assert int(query["start"]) < GAP < int(query["end"])
    found = Occurrence.objects.get(source=sample, key=query["finding"])
    assert (found.rule, found.rank) == ("service-gap", 1)


def test_a_job_may_be_named_by_the_label_of_its_pods(client: Client, sample: Source) -> None:
    query = led_to(client, sample, source=sample.pk, namespace="vol-restart", job_name="ring")
    assert query["focus"] == root_of(sample)


def test_of_several_lives_a_moment_chooses(client: Client, sample: Source) -> None:
    query = led_to(client, sample, name="ring-weak-0", namespace="vol-restart", at="2026-11-21T07:52:03Z")
    assert int(query["end"]) - int(query["start"]) < 120_000_000
    assert query["focus"] == root_of(sample)


def test_without_a_moment_the_lives_are_offered(client: Client, sample: Source) -> None:
    told = page(client, 200, source="sample", kind="pod", name="ring-weak-0")
    assert "4 objects of that name" in told
    assert told.count(f"focus={root_of(sample)}") == 4
    assert "2026-11-21 07:52:00.863 – 07:52:07.164" in told


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ({"source": "nowhere", "name": "x"}, "There is no recording nowhere."),
        ({"namespace": "nowhere", "name": "x"}, "Nothing of namespace nowhere was seen in recording sample."),
        ({"kind": "DaemonSet.apps", "name": "x"}, "No object of kind DaemonSet.apps was seen in recording sample."),
        (
            {"kind": "po", "namespace": "vol-restart", "name": "ring-stedy-0"},
            "No po ring-stedy-0 was ever seen in namespace vol-restart in recording sample.",
        ),
        (
            {"namespace": "vol-restart", "kind": "pod", "name": "ring-steady-0", "at": "2026-11-21T09:00:00Z"},
            "Pod ring-steady-0 was seen, but did not live at that time.",
        ),
    ],
)
def test_what_is_unknown_is_said(client: Client, sample: Source, question: dict[str, str], said: str) -> None:
    told = page(client, 404, **question)
    assert said in told
    assert f'value="{question["name"]}"' in told, "the form keeps what was asked"


def test_names_that_are_nearly_it_are_offered(client: Client, sample: Source) -> None:
    assert "ring-steady-0" in page(client, 404, namespace="vol-restart", name="ring-stedy-0")
    assert "ring-weak-0" in page(client, 404, namespace="vol-restart", name="ring-w")
    assert "ring-weak-0" in page(client, 404, namespace="kube-system", name="ring-weak-0")


def test_a_moment_that_is_none_is_told_with_how_to_write_it(client: Client, sample: Source) -> None:
    told = page(client, 400, name="ring-weak-0", at="yesterday")
    assert "yesterday is no time." in told and "RFC 3339" in told


def test_a_link_without_a_name_names_nothing(client: Client) -> None:
    assert "name= is missing" in page(client, 400, namespace="n")
    assert "Find an object" in page(client, 200)


def test_names_are_escaped(client: Client) -> None:
    told = page(client, 404, name="<script>alert(1)</script>", source="\0\"'><img src=x>")
    assert "<script>alert" not in told and "<img src=x" not in told

"""These tests look at windows that show an incident alone."""

from typing import Any

import pytest

from tests.database.queries.window.looking import keys, window
from timeline.models import Finding, Incident, Source, Track
from timeline.payloads.windows import WindowPayload
from timeline.queries.incidents import beginnings

pytestmark = pytest.mark.django_db


def alone(sample: Source, incident: Incident, **view: Any) -> WindowPayload:
    return window(sample, incident=incident.identity, **view)


def test_an_incident_alone_shows_the_lanes_that_its_findings_name_and_no_others(sample: Source) -> None:
    incident = Incident.objects.get(source=sample, rule="service-gap")
    shown = alone(sample, incident, fold=True)
    named = Finding.objects.filter(Finding.of_incidents([incident.identity]), source=sample)
    tracks = {track for each in named.values_list("tracks", flat=True) for track in each}
    names = set(Track.objects.filter(source=sample, id__in=tracks).values_list("name", flat=True))
    assert {lane["name"] for lane in shown["lanes"]} == names
    assert shown["lanes_total"] == len(shown["lanes"]) < window(sample)["lanes_total"]
    assert shown["folded"] == {"quiet": 0, "furniture": 0}
    assert keys(alone(sample, incident, kinds=("Services",))) == ["Service/vol-restart/ring"]


def test_what_an_incident_begins_with_comes_first_also_if_it_is_noise_or_another_group_is_asked_for(
    sample: Source,
) -> None:
    incident = Incident.objects.get(source=sample, rules__contains=["lease-shared-config"])
    lease = "Lease.coordination.k8s.io/volcano-system/volcano"
    other = Track.objects.filter(source=sample, namespace="vol-restart").values_list("root", flat=True).first()
    assert keys(alone(sample, incident, focus=other))[0] == lease
    Track.objects.filter(source=sample, kind="Lease").update(family="Cluster")
    assert keys(alone(sample, incident))[0] == lease


def test_of_an_incident_whose_beginning_was_not_observed_what_it_is_about_comes_first(sample: Source) -> None:
    incident = Incident.objects.get(source=sample, rule="service-gap")
    service = Track.objects.filter(source=sample, kind="Service", name="ring").first()
    assert service and beginnings.focus(sample.pk, incident.identity) == service.root
    Finding.objects.filter(source=sample).update(pieces=None)
    assert beginnings.focus(sample.pk, incident.identity) == service.root
    Incident.objects.filter(source=sample).update(kind="Actor")
    assert beginnings.focus(sample.pk, incident.identity) == incident.roots[0]


def test_an_incident_that_does_not_exist_has_no_lanes(sample: Source) -> None:
    assert beginnings.focus(sample.pk, "0" * 16) is None
    assert window(sample, incident="0" * 16)["lanes_total"] == 0

"""The picture of an incident as PNG, which the server draws without a browser."""

import pytest
from django.test import Client
from pytest_django import Settings

from dashboard.drawing.lettering import Letters
from dashboard.drawing.png import SCALE
from dashboard.drawing.standalone import WIDTH
from dashboard.presentation.incident_pictures import drawing
from tests.drawn import size, texts
from tests.rows.people import member
from timeline.models import Incident, Source


@pytest.mark.django_db
def test_who_sees_the_page_of_an_incident_has_it_as_png(client: Client, sample: Source, settings: Settings) -> None:
    gap = Incident.objects.get(source=sample, rule="service-gap")
    address = f"/sources/{sample.pk}/incidents/{gap.identity}.png"
    settings.LOGIN_REQUIRED = True
    assert client.get(address).status_code == 302
    client.force_login(member("responder"))
    answer = client.get(address)
    assert (answer.status_code, answer["Content-Type"]) == (200, "image/png")
    assert size(answer.content)[0] == WIDTH * SCALE
    assert answer["Cache-Control"] == "private, max-age=60"
    assert client.get(address, headers={"If-None-Match": answer["ETag"]}).status_code == 304
    assert client.get(address, {"theme": "dark"})["ETag"] != answer["ETag"]
    assert client.get(f"/sources/{sample.pk}/incidents/{'0' * 16}.png").status_code == 404
    said = texts(drawing(sample.pk, gap.identity, "light", Letters()))
    assert said[0] == gap.title
    assert "vol-restart / Service ring · from 2026-11-21 07:52:00 to 07:52:07 UTC" in said
    assert said.index("ring") < said.index("ring-steady-0")  # what it begins with comes first
    assert "Causeline · sample · The gravest of 4 occurrences · 5 findings · Times are in UTC" in said

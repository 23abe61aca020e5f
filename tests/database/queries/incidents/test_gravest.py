"""These tests hold that of equally grave incidents the one with more harm comes first, and that it is shown first."""

import pytest

from tests.database.storage.sources import ingested, with_bodies
from tests.unit.judging.incidents.test_causes import EXCESS
from timeline.models import Cluster, Incident
from timeline.queries.filters import IncidentFilter
from timeline.queries.incidents.counts import worst_incidents
from timeline.queries.incidents.lists import gravest, incidents

pytestmark = pytest.mark.django_db


def test_more_harm_comes_first_page_by_page() -> None:
    source = ingested(with_bodies(EXCESS))
    kept = Incident.objects.get(source=source)
    fields = {name: value for name, value in kept.__dict__.items() if name not in ("_state", "identity", "excess")}
    excess = {1: 3, 2: 8, 3: 1, 4: 8}
    rows = (Incident(**fields, identity=f"{number:016x}", excess=amount) for number, amount in excess.items())
    Incident.objects.bulk_create(rows)
    Incident.objects.filter(identity=f"{3:016x}").update(rank=2)
    Incident.objects.filter(identity=f"{1:016x}").update(open=True)  # it goes on, and did less
    kept.delete()
    found: list[int] = []
    cursor = ""
    while len(found) < len(excess):
        page = incidents(source.pk, order="gravest", cursor=cursor, limit=1)
        found += [int(each["id"], 16) for each in page["incidents"]]
        cursor = page["next"] or ""
    assert found == [2, 4, 1, 3]
    assert cursor == ""
    assert gravest(source.pk, IncidentFilter()) == f"{2:016x}"
    assert worst_incidents([source.pk])[source.pk]["id"] == f"{2:016x}"
    Cluster.objects.create(name="prod", source=source)
    assert worst_incidents([source.pk])[source.pk]["id"] == f"{1:016x}"

"""The incidents of a live source are those of a recording with the same entries, however these come in batches."""

import random
from pathlib import Path
from typing import Any

import pytest

from collectors.analysis import analyse
from collectors.formats import Limits
from tests import DATA
from tests.inputs.recordings import observations_of
from tests.rows.following import Followed
from timeline.models import Acknowledgement, Finding, Incident, Source, Symptom
from timeline.storage.exports import document
from timeline.storage.judged import incidents
from timeline.storage.people import acknowledgements

pytestmark = pytest.mark.django_db
STALE, LOST = DATA / "causes/stale-jobs.jsonl.zst", DATA / "causes/lease-lost.jsonl.zst"


def followed(path: Path, seed: int, size: int) -> Followed:
    """Return a live source with the entries of a recording, in batches that are as long as they may be."""
    chance = random.Random(seed)
    entries, live = observations_of(path), Followed()
    while entries:
        number = chance.randint(1, size)
        live.commit(entries[:number])
        del entries[:number]
    return live


def shown(source: Source) -> list[Any]:
    """Return the incidents of a source as its document has them, and check its rows against these."""
    reported = document(source)["incidents"]
    rows = {row.identity: row for row in Incident.objects.filter(source=source)}
    assert rows.keys() == {each["id"] for each in reported}
    for each in reported:
        row = rows[each["id"]]
        assert (row.title, row.root, row.findings) == (each["title"], each["root"], len(each["findings"]))
        symptoms = Symptom.objects.filter(source=source, incident=row.identity).order_by("place")
        assert [one.identity for one in symptoms] == [one["id"] for one in each["symptoms"]]
        assert [one.title for one in symptoms] == [one["title"] for one in each["symptoms"]]
    return [(each["id"], each["title"], each["episodes"], each["symptoms"]) for each in reported]


@pytest.mark.parametrize("path", [STALE, LOST], ids=lambda path: path.name)
@pytest.mark.parametrize(("seed", "size"), [(1, 400), (2, 4000)])
def test_whatever_the_batches_they_are_those_of_the_recording(path: Path, seed: int, size: int) -> None:
    expected = analyse([(path, path.name)], Limits()).document()["incidents"]
    live = followed(path, seed, size)
    assert shown(live.source) == [(each["id"], each["title"], each["episodes"], each["symptoms"]) for each in expected]
    live.go_on(Source.objects.get(pk=live.source.pk))  # a worker takes over what another one stored
    assert [each[0] for each in shown(live.source)] == [each["id"] for each in expected]


def test_what_is_left_of_an_incident_after_retention_stays_together() -> None:
    source = followed(STALE, 1, 4000).source
    (whole,) = Incident.objects.filter(source=source, symptoms__gt=1)
    link = Finding.objects.filter(source=source, rule="stale-view", incident=whole.identity)
    assert link.count() < whole.findings
    link.delete()
    incidents.write(source, [whole.identity])
    left = Incident.objects.get(source=source, identity=whole.identity)
    assert 1 < left.symptoms < whole.symptoms


def test_it_is_acknowledged_if_all_that_it_consists_of_was() -> None:
    """A version that did not know causes has listed each symptom as an incident."""
    source = followed(STALE, 1, 4000).source
    (whole,) = Incident.objects.filter(source=source, symptoms__gt=1)
    symptoms = [each.identity for each in Symptom.objects.filter(source=source, incident=whole.identity)]
    for number in (len(symptoms) - 1, len(symptoms)):
        Incident.objects.filter(source=source).delete()
        for identity in symptoms[:number]:
            Acknowledgement.objects.get_or_create(
                source=source, identity=identity, defaults={"by": "ada", "note": "7", "rank": 0}
            )
        incidents.write(source)
        noted = acknowledgements_of(source, whole.identity)
        assert noted == ([("ada", "7")] if number == len(symptoms) else [])
    assert acknowledgements.withdraw(source.pk, whole.identity)


def acknowledgements_of(source: Source, identity: str) -> list[tuple[str, str]]:
    return list(Acknowledgement.objects.filter(source=source, identity=identity).values_list("by", "note"))

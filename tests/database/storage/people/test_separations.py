"""These tests hold that people can say that a symptom has not the same cause as the rest of its incident."""

import pytest
from django.core.exceptions import PermissionDenied

from tests.database.storage.sources import ingested, with_bodies
from tests.inputs.recordings import findings_of, observations_of, world_of
from tests.unit.judging.incidents.test_causes import EXCESS
from timeline.models import Finding, Incident, NoticedIncident, SeparateSymptom, Source, Symptom
from timeline.storage.judged import incidents
from timeline.storage.judged.findings import write
from timeline.storage.judged.live_incidents import LiveIncidents
from timeline.storage.people.separations import rejoin, separate
from timeline.storage.permitted.limits import Permitted, answering

pytestmark = pytest.mark.django_db


@pytest.fixture
def source() -> Source:
    """A recording of one incident with three symptoms."""
    return ingested(with_bodies(EXCESS))


def stored(source: Source) -> dict[str, set[str]]:
    """Return the rules of the symptoms of each incident, which agree with its findings."""
    found: dict[str, set[str]] = {}
    for row in Incident.objects.filter(source=source):
        of_it = Symptom.objects.filter(source=source, incident=row.identity)
        found[row.identity] = set(of_it.values_list("rule", flat=True))
        findings = Finding.objects.filter(Finding.of_incidents([row.identity]), source=source)
        assert set(findings.values_list("rule", flat=True)) == found[row.identity] == set(row.rules or ())
        assert row.symptoms == of_it.count()
    return found


def symptom_of(source: Source, rule: str) -> Symptom:
    return Symptom.objects.get(source=source, rule=rule)


def test_a_symptom_becomes_an_incident_of_its_own_and_is_joined_again(source: Source) -> None:
    before = stored(source)
    excess = symptom_of(source, "job-excess-pods")
    NoticedIncident.objects.all().delete()
    separate(source.pk, excess.incident, excess.identity, "ada")
    apart = {excess.incident: {"stale-view", "stale-write"}, excess.identity: {"job-excess-pods"}}
    assert stored(source) == apart
    assert set(NoticedIncident.objects.values_list("identity", flat=True)) == apart.keys()
    assert SeparateSymptom.objects.get().by == "ada"
    write(source, world := world_of(observations_of(EXCESS)), findings_of(world))
    assert stored(source) == apart, "it stays so when the source is judged again"
    rejoin(source.pk, excess.incident, excess.identity)
    assert stored(source) == before
    assert not SeparateSymptom.objects.exists()


def test_what_is_no_symptom_cannot_be_taken_out_nor_joined(source: Source) -> None:
    excess = symptom_of(source, "job-excess-pods")
    for symptom in ("0" * 16, excess.incident):
        with pytest.raises(Symptom.DoesNotExist):
            separate(source.pk, excess.incident, symptom, "ada")
    with pytest.raises(SeparateSymptom.DoesNotExist):
        rejoin(source.pk, excess.incident, excess.identity)
    with answering(Permitted(namespaces={source.pk: frozenset(["other"])})), pytest.raises(PermissionDenied):
        separate(source.pk, excess.incident, excess.identity, "ada")
    assert len(stored(source)) == 1


def test_a_worker_that_follows_the_source_notices_it(source: Source) -> None:
    excess = symptom_of(source, "job-excess-pods")
    found = {each.rule: each for each in findings_of(world_of(observations_of(EXCESS)))}
    worker = LiveIncidents(source)

    def placed() -> tuple[set[str], object]:
        """Return where the worker puts the finding of the other symptom, and which findings it moves."""
        changed = worker.place([found["stale-view"]], ())
        worker.write(changed, {}, ())
        return {place for places in changed.changed.values() for place in places}, changed.moved

    assert placed() == ({excess.incident}, {})
    separate(source.pk, excess.incident, excess.identity, "ada")
    assert placed() == ({excess.incident}, {})
    assert worker.place([found["job-excess-pods"]], ()).changed[found["job-excess-pods"].id] == [excess.identity]
    rejoin(source.pk, excess.incident, excess.identity)
    assert placed() == ({excess.incident}, {})
    assert worker.place([found["job-excess-pods"]], ()).changed[found["job-excess-pods"].id] == [excess.incident]


def test_the_next_source_of_a_cluster_keeps_it(source: Source) -> None:
    excess = symptom_of(source, "job-excess-pods")
    separate(source.pk, excess.incident, excess.identity, "ada")
    following = Source.objects.create(name="next")
    incidents.carry_over(source, following)
    assert incidents.apart(following) == {(excess.incident, excess.identity)}

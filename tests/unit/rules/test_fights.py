"""These tests check what is said of fields that two programs set in turn, and how scaling is read."""

import json
from collections.abc import Sequence
from pathlib import Path

from collectors.formats import Skipped, read
from collectors.formats.own import recording
from tests import DATA, RULES
from tests.inputs.events import entries_of, event
from tests.inputs.recordings import findings_of, world_of
from tests.unit.rules.test_rules import check_fires
from timeline.core.entries import Entry, Observation
from timeline.core.intent import intent_of
from timeline.history.codec import line_of
from timeline.history.lifelines import Name
from timeline.judging.incidents.intents import Verb, intent_changes

FIGHT = "field-fight/fires-an-autoscaler-and-a-manifest"
WEB = Name("apps", "Deployment", "n", "web")


def observed(fixture: str, *, bodies: bool) -> Sequence[Observation]:
    path = RULES / f"{fixture}.jsonl"
    return [each for each in read([(path, path.name)], bodies=bodies) if not isinstance(each, Skipped)]


def test_an_autoscaler_and_a_manifest_fight_about_replicas() -> None:
    # autoscaler  5   5   5   5
    # manifest  2   2   2   2   2
    (found,) = check_fires(FIGHT, "Deployment/web")
    assert (found.severity, found.verdict, found.count) == ("warning", "exact", 7)
    assert found.summary == (
        "horizontal-pod-autoscaler and kustomize-controller took replicas of Deployment web back from each other "
        "7 times"
    )
    roles = [each.role for each in found.occurrences[0].proof]
    assert roles[:2] == ["horizontal-pod-autoscaler set replicas to 5", "kustomize-controller set replicas to 2"]


def test_what_a_log_or_a_watch_begins_with_is_the_value_that_the_first_of_the_two_changes(tmp_path: Path) -> None:
    """The creation counts in a log, its watch with and without the types of events, and any two of them together."""
    folder = DATA / "fight"
    log, watch = folder / "audit.jsonl", folder / "watch.jsonl"
    plain = tmp_path / "plain.json"
    plain.write_text("".join(json.dumps(json.loads(line)["object"]) + "\n" for line in watch.read_text().splitlines()))
    for files in ([log], [watch], [plain], [log, watch], [log, plain]):
        lines = read([(file, file.name) for file in files], bodies=False)
        (found,) = findings_of(world_of([each for each in lines if not isinstance(each, Skipped)]))
        assert (found.rule, found.count) == ("field-fight", 5), files


def test_the_same_is_found_with_bodies_without_them_and_in_the_own_format(tmp_path: Path) -> None:
    without, whole = (findings_of(world_of(observed(FIGHT, bodies=each))) for each in (False, True))
    assert [each.summary for each in without] == [each.summary for each in whole] != []
    path = tmp_path / "own.jsonl"
    path.write_bytes(b"".join(recording(map(line_of, observed(FIGHT, bodies=True)))))
    again = [each for each in read([(path, path.name)], bodies=False) if not isinstance(each, Skipped)]
    assert [each.rule for each in findings_of(world_of(again))] == ["field-fight"]
    assert not any(each.body for each in again if isinstance(each, Entry))


def test_scaling_is_a_write_of_the_object_that_shows_the_number_alone() -> None:
    def scale(revision: str) -> dict[str, object]:
        metadata = {"name": "web", "namespace": "n", "uid": "u7", "resourceVersion": revision}
        return {"kind": "Scale", "metadata": metadata, "spec": {"replicas": 5}}

    reference = {"resource": "deployments", "apiGroup": "apps", "apiVersion": "v1", "namespace": "n", "name": "web",
                 "subresource": "scale", "resourceVersion": "11"}  # fmt: skip
    scaled = event(verb="update", objectRef=reference, requestObject=scale("11"), responseObject=scale("12"))
    (entry,) = entries_of({**scaled, "responseStatus": {"code": 200}})
    assert (entry.ref.kind, entry.ref.uid, entry.resource_version, entry.replaces) == ("Deployment", "u7", 12, 11)
    assert (entry.action, entry.sets, entry.intent) == ("scale", (("replicas", 5),), (("replicas", "5"),))
    assert entries_of({**scaled, "responseObject": None, "level": "Metadata"}) == []


def test_what_changed_names_who_scaled() -> None:
    world = world_of(observed(FIGHT, bodies=True))
    (track,) = world.incarnations(WEB)
    changes = [each for each in intent_changes(track, world) if each.verb is Verb.CHANGED]
    said = [(each.actor.rpartition(":")[2], each.details[0].aspect, each.details[0].after) for each in changes]
    turn = [("horizontal-pod-autoscaler", "replicas", "5"), ("kustomize-controller", "replicas", "2")]
    assert said == turn * 4


def test_labels_and_annotations_are_kept_as_hashes_and_are_no_change_that_is_listed() -> None:
    body = b'{"metadata":{"labels":{"tier":"front"},"annotations":{"note":"private"}},"spec":{"replicas":2}}'
    intent = dict(intent_of("apps", "Deployment", body) or ())
    assert intent.keys() == {"label tier", "annotation note", "replicas"}
    assert all(intent[each].startswith("#") for each in ("label tier", "annotation note"))
    world = world_of(observed("field-fight/fires-a-label-of-a-service", bodies=True))
    (service,) = world.of_kind("", "Service")
    assert [each.verb for each in intent_changes(service, world)] == [Verb.CREATED]

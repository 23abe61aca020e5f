"""These tests check what a source is said to show of each kind, and what each rule can judge with it."""

import re
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests import DATA, RULES, objects, recordings
from tests.events import event, pod
from tests.recordings import SAMPLE, entries_of, findings_of
from tests.unit.judging.logs import at_level, observed, rules_of, sample
from tests.unit.judging.test_engine import log, watched
from timeline.core.entries import Mark, MarkType, Observation
from timeline.history.world.world import World
from timeline.judge import rulebook
from timeline.judging.coverage.remedies import IMPORT_AGAIN, WATCHES, WHOLE_POLICY
from timeline.judging.coverage.sources import coverage
from timeline.kinds import resource_of

OBJECTS = DATA / "objects"
WATCH, LIST = [*sorted((OBJECTS / "watch").iterdir())], [OBJECTS / "pods.json.zst"]


def world_of(*paths: Path) -> World:
    return recordings.world_of([each for path in paths for each in recordings.observations_of(path)])


def of_log(*events: dict[str, Any]) -> World:
    return recordings.world_of(observed(events))


def verdicts(world: World) -> dict[str, str]:
    return {rule: each.verdict for rule, each in rules_of(world).items()}


def test_a_watch_is_complete_up_to_its_last_line() -> None:
    followed = [row for row in coverage(world_of(*WATCH)) if row.level == "watch"]
    assert len(followed) >= 5
    assert all(row.complete and not row.holes for row in followed)


def test_a_watch_that_lost_lines_is_to_be_recorded_again() -> None:
    lines = objects.real("watch/pods.jsonl").splitlines(keepends=True)
    thinned = objects.entries_of(b"".join(line for line in lines if b'"type":"ADDED"' not in line or b'"vs-' in line))
    world = recordings.world_of([*thinned, *recordings.observations_of(OBJECTS / "watch/services.jsonl.zst")])
    pods = next(row for row in coverage(world) if row.kind == "Pod")
    assert not pods.complete and pods.holes
    remedy = rules_of(world)["service-gap"].remedy
    assert "kubectl get pods -A -w --output-watch-events" in remedy and "API servers" not in remedy


def needing_requests() -> set[str]:
    """Return the rules that judge nothing without knowing who sent requests."""
    return {
        rule.id
        for rule in rulebook()
        if any(all(line.sent for line in needed.lines) for needed in rule.needs if not needed.misses)
    }


def test_without_bodies_little_is_found_and_that_is_said() -> None:
    bare = of_log(*at_level("Metadata", sample()))
    without_bodies = needing_requests()  # who sent what shows at every level
    assert {finding.rule for finding in findings_of(bare)} <= without_bodies
    gap = rules_of(bare)["service-gap"]
    assert (gap.verdict, gap.why) == ("not", "pods were logged without bodies, in which stands what it looks at")
    by_rule = verdicts(bare)
    assert "exact" not in by_rule.values()
    assert {by_rule[rule] for rule in by_rule.keys() - without_bodies} <= {"not", "bounded"}


def test_without_answers_orders_are_inconclusive_and_raise_no_alarm() -> None:
    shallow = of_log(*at_level("Request", sample()))
    assert verdicts(shallow)["service-gap"] == "inconclusive"
    assert {each.severity for each in findings_of(shallow) if each.rule == "service-gap"} <= {"info"}


def test_of_lists_rules_judge_what_stands_together_and_no_order() -> None:
    listed = world_of(*LIST, OBJECTS / "pods.yaml.zst")
    by_rule = verdicts(listed)
    assert by_rule["service-gap"] == "not"
    assert "not" not in {by_rule[finding.rule] for finding in findings_of(listed)}


def test_a_watch_that_was_recorded_without_managed_fields_tells_no_times() -> None:
    judged = rules_of(world_of(RULES / "lease-stolen/quiet-in-a-watch-without-managed-fields.jsonl"))["lease-stolen"]
    assert (judged.verdict, judged.answer) == ("inconclusive", "part")
    assert "leases come from a watch without managedFields, which tell the times" in judged.why
    assert "--show-managed-fields" in judged.remedy
    assert verdicts(world_of(*WATCH))["lease-stolen"] == "bounded"


@pytest.mark.parametrize("paths", [WATCH, LIST], ids=["watches", "lists"])
def test_watches_and_lists_show_no_requests(paths: list[Path]) -> None:
    judged = rules_of(world_of(*paths))
    for each in (judged[rule] for rule in needing_requests()):
        assert each.verdict == "not"
        assert "without an audit log, it is not known who sent which request, nor what was refused" in each.why
        assert {WATCHES, WHOLE_POLICY} & {*each.remedy.splitlines()}


def test_a_log_without_addresses_was_kept_all_the_same() -> None:
    """Some log services leave them out. That is not the fault of an older Causeline."""
    world = of_log(*({**each, "sourceIPs": None} for each in sample()))
    assert {row.requests for row in coverage(world)} == {"kept"}


def test_what_was_stored_of_a_part_without_clients_is_said() -> None:
    new = entries_of(SAMPLE)
    old = [replace(entry, client=None) for entry in new]
    for entries, answer in ((old, "cannot"), (new[:300] + old[300:], "part")):
        judged = rules_of(recordings.world_of(entries))["write-after-lease-lost"]
        assert (judged.answer, judged.remedy) == (answer, IMPORT_AGAIN)
    for world in (recordings.world_of(old, new), recordings.world_of(new, old)):
        assert {row.requests for row in coverage(world)} == {"kept"}


def test_what_rules_on_requests_judge_with_a_log_without_bodies_alone_and_beside_watches() -> None:
    bare = observed(at_level("Metadata", log("families")))
    more: list[list[Observation]] = [bare, [*watched("families"), *bare]]
    alone, beside = (rules_of(recordings.world_of(each)) for each in more)
    assert (alone["write-after-lease-lost"].answer, beside["write-after-lease-lost"].answer) == ("part", "can")
    for rule in ("lease-stolen", "stale-incarnation-delete"):
        assert alone[rule].answer == "cannot" and "were logged without bodies" in alone[rule].why
        assert beside[rule].answer != "cannot"
    assert "it is judged where a watch shows the content of what was written" in beside["stale-incarnation-delete"].why


def test_what_judges_recordings_only_says_so_in_a_connected_cluster() -> None:
    judged = rules_of(recordings.world_of([Mark("", "v1", "Pod", MarkType.LISTED, 1_000_000, 5)]))["view-went-back"]
    assert (judged.verdict, judged.why) == ("not", "it judges recordings only")


def test_a_log_of_reads_is_an_audit_log() -> None:
    judged = rules_of(of_log(event(verb="get", responseStatus={"code": 200}, responseObject=None, level="Metadata")))
    lack = {each.why for each in judged.values() if "audit log" in each.why}
    assert lack and all("the audit log that was read has no writes that changed an object" in why for why in lack)
    assert not any("without an audit log" in why for why in lack)
    assert {each.verdict for each in judged.values()} == {"not"}


def created(kind: str, group: str = "") -> dict[str, Any]:
    """Return the event of an object's creation."""
    version, resource = f"{group}/v1" if group else "v1", resource_of(kind)
    body = {**pod(), "kind": kind, "apiVersion": version}
    place = {"resource": resource, "namespace": "n", "name": "p", "apiGroup": group, "apiVersion": "v1"}
    return event(objectRef=place, responseObject=body, requestURI=f"/apis/{version}/namespaces/n/{resource}")


def test_a_rule_says_what_it_lacks_besides_changes() -> None:
    judged = rules_of(of_log(created("Service")))
    assert "exact" not in {each.verdict for each in judged.values()}
    for rule, lack in {
        "stale-write": "no write that was refused because of a conflict was seen",
        "endpoints-before-service": "no change of EndpointSlice or Endpoints was seen",
        "view-went-back": "no watch request was seen",
        "stale-view": "no Event in which a controller names the copy on which it acted",
        "service-gap": "no change of Pod",
    }.items():
        assert judged[rule].verdict == "not" and lack in judged[rule].why
        assert "there was none, or the source does not tell of it" in judged[rule].why


def test_rules_about_all_kinds_judge_others_than_the_usual_ones_and_name_these() -> None:
    """They report findings of these, so coverage must not say that they cannot."""
    made = created("CertificateRequest", "cert-manager.io")
    found = rules_of(of_log(made))["runaway-creation"]
    assert found.verdict == "bounded" and "no change of PersistentVolumeClaim, Pod or ReplicaSet" in found.why
    bare = rules_of(of_log({**made, "level": "Metadata", "responseObject": None}))["runaway-creation"]
    lack = "certificaterequests were logged without bodies, in which stands what it looks at"
    assert (bare.verdict, bare.why) == ("not", lack)


def test_no_remedy_asks_for_the_content_of_what_holds_credentials() -> None:
    """Nor for requests that run commands in containers, which `pods/*` would log."""
    worlds = [world_of(path) for path in sorted(RULES.glob("*/fires-*.jsonl"))[::3]]
    worlds += [of_log(*at_level(level, sample())) for level in ("Metadata", "Request")]
    for line in (line for world in worlds for each in rules_of(world).values() for line in each.remedy.splitlines()):
        assert "/*" not in line
        if "RequestResponse" in line:
            assert not re.search("secrets|configmaps|routes|oauth", line)
            assert "resources" in line

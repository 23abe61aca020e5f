"""These tests check what a source is said to show of each kind, and what each rule can judge with it."""

import json
import re
from pathlib import Path

import pytest
import zstandard
from msgspec.structs import replace

from collectors.analysis import Analysis, analyse
from collectors.formats import Limits
from tests import DATA, RULES, mutations
from tests.events import event, pod
from tests.recordings import SAMPLE, entries_of, world_of
from tests.unit.judging.test_engine import log, read_logs, watched
from timeline.core.entries import Mark, MarkType
from timeline.judge import rulebook
from timeline.judging.coverage.remedies import IMPORT_AGAIN, WATCHES, WHOLE_POLICY
from timeline.judging.coverage.sources import coverage, judgeable

OBJECTS = DATA / "objects"


def analysed(*paths: Path) -> Analysis:
    return analyse([(path, path.name) for path in paths], Limits())


def verdicts(analysis: Analysis) -> dict[str, tuple[str, str]]:
    """Return what each rule can judge, and why."""
    return {each.rule: (each.verdict, each.why) for each in judgeable(analysis.world, rulebook())}


def at_level(level: str, folder: Path) -> Path:
    """Write the sample as an audit policy with less detail would have logged it."""
    path = folder / f"{level}.jsonl"
    with zstandard.open(SAMPLE, "rt") as log, path.open("w") as thin:
        for line in log:
            event = json.loads(line)
            event["level"] = level
            event.pop("responseObject", None)
            if level == "Metadata":
                event.pop("requestObject", None)
            thin.write(json.dumps(event) + "\n")
    return path


def test_a_watch_is_complete_up_to_its_last_line() -> None:
    rows = coverage(analysed(OBJECTS / "watch").world)
    followed = [row for row in rows if row.level == "watch"]
    assert len(followed) >= 5
    assert all(row.complete and not row.holes for row in followed)


def test_a_watch_that_lost_lines_is_to_be_recorded_again(tmp_path: Path) -> None:
    with zstandard.open(OBJECTS / "watch/pods.jsonl.zst", "rt") as log:
        lines = [line for line in log if '"type":"ADDED"' not in line or '"vs-' in line]
    thinned = tmp_path / "pods.jsonl"
    thinned.write_text("".join(lines))
    analysis = analysed(thinned, OBJECTS / "watch/services.jsonl.zst")
    pods = next(row for row in coverage(analysis.world) if row.kind == "Pod")
    assert not pods.complete and pods.holes
    remedy = next(each.remedy for each in judgeable(analysis.world, rulebook()) if each.rule == "service-gap")
    assert "kubectl get pods -A -w --output-watch-events" in remedy and "API servers" not in remedy


def needing_requests() -> set[str]:
    """Return the rules that judge nothing without knowing who sent requests."""
    return {
        rule.id
        for rule in rulebook()
        if any(all(line.sent for line in needed.lines) for needed in rule.needs if not needed.misses)
    }


def test_without_bodies_little_is_found_and_that_is_said(tmp_path: Path) -> None:
    bare = analysed(at_level("Metadata", tmp_path))
    by_rule = verdicts(bare)
    without_bodies = needing_requests()  # who sent what shows at every level
    assert {finding.rule for finding in bare.findings} <= without_bodies
    assert by_rule["service-gap"] == ("not", "pods were logged without bodies, in which stands what it looks at")
    assert "exact" not in {verdict for verdict, _ in by_rule.values()}
    assert {by_rule[rule][0] for rule in by_rule.keys() - without_bodies} <= {"not", "bounded"}


def test_without_answers_orders_are_inconclusive_and_raise_no_alarm(tmp_path: Path) -> None:
    shallow = analysed(at_level("Request", tmp_path))
    assert verdicts(shallow)["service-gap"][0] == "inconclusive"
    gaps = [finding for finding in shallow.findings if finding.rule == "service-gap"]
    assert {finding.severity for finding in gaps} <= {"info"}


def test_of_lists_rules_judge_what_stands_together_and_no_order() -> None:
    listed = analysed(OBJECTS / "pods.json.zst", OBJECTS / "pods.yaml.zst")
    by_rule = verdicts(listed)
    assert by_rule["service-gap"][0] == "not"
    for finding in listed.findings:
        assert by_rule[finding.rule][0] != "not"


def test_a_watch_that_was_recorded_without_managed_fields_tells_no_times() -> None:
    bare = analysed(RULES / "lease-stolen/quiet-in-a-watch-without-managed-fields.jsonl")
    judged = next(each for each in judgeable(bare.world, rulebook()) if each.rule == "lease-stolen")
    assert (judged.verdict, judged.answer) == ("inconclusive", "part")
    assert "leases come from a watch without managedFields, which tell the times" in judged.why
    assert "--show-managed-fields" in judged.remedy
    assert verdicts(analysed(OBJECTS / "watch"))["lease-stolen"][0] == "bounded"


def test_watches_and_lists_show_no_requests() -> None:
    for path in (OBJECTS / "watch", OBJECTS / "pods.json.zst"):
        for each in judgeable(analysed(path).world, rulebook()):
            if each.rule in needing_requests():
                assert each.verdict == "not"
                why = "without an audit log, it is not known who sent which request, nor what was refused"
                assert why in each.why
                assert {WATCHES, WHOLE_POLICY} & {*each.remedy.splitlines()}


def test_a_log_without_addresses_was_kept_all_the_same(tmp_path: Path) -> None:
    """Some log services leave them out. That is not the fault of an older Causeline."""
    path = tmp_path / "log.jsonl"
    with zstandard.open(SAMPLE, "rt") as log:
        events = [json.loads(line) for line in log]
    path.write_text("".join(json.dumps({**event, "sourceIPs": None}) + "\n" for event in events))
    assert {row.requests for row in coverage(analysed(path).world)} == {"kept"}


def test_what_was_stored_of_a_part_without_clients_is_said() -> None:
    new = entries_of(SAMPLE)
    old = [replace(entry, client=None) for entry in new]
    worlds = {"old": world_of(old), "part": world_of(new[:300] + old[300:])}
    judged = {name: {each.rule: each for each in judgeable(of, rulebook())} for name, of in worlds.items()}
    answers = [(of["write-after-lease-lost"].answer, of["write-after-lease-lost"].remedy) for of in judged.values()]
    assert answers == [("cannot", IMPORT_AGAIN), ("part", IMPORT_AGAIN)]
    for world in (world_of(old, new), world_of(new, old)):
        assert {row.requests for row in coverage(world)} == {"kept"}


def test_what_rules_on_requests_judge_with_a_log_without_bodies_alone_and_beside_watches() -> None:
    bare = [*read_logs([[mutations.told_at("Metadata", event) for event in log("families")]])]
    alone, beside = (
        {each.rule: each for each in judgeable(world_of(entries), rulebook())}
        for entries in (bare, [*watched("families"), *bare])
    )
    assert (alone["write-after-lease-lost"].answer, beside["write-after-lease-lost"].answer) == ("part", "can")
    for rule in ("lease-stolen", "stale-incarnation-delete"):
        assert alone[rule].answer == "cannot" and "were logged without bodies" in alone[rule].why
        assert beside[rule].answer != "cannot"
    assert "it is judged where a watch shows the content of what was written" in beside["stale-incarnation-delete"].why


def test_what_judges_recordings_only_says_so_in_a_connected_cluster() -> None:
    since = Mark("", "v1", "Pod", MarkType.LISTED, 1_000_000, 5)
    live = {each.rule: each for each in judgeable(world_of([since]), rulebook())}
    assert (live["view-went-back"].verdict, live["view-went-back"].why) == ("not", "it judges recordings only")


def of_log(path: Path, *lines: dict[str, object]) -> dict[str, tuple[str, str]]:
    """Return what each rule can judge with an audit log, and why."""
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    world = analysed(path).world
    return {each.rule: (each.verdict, each.why) for each in judgeable(world, rulebook())}


def test_a_log_of_reads_is_an_audit_log(tmp_path: Path) -> None:
    read = event(verb="get", responseStatus={"code": 200}, responseObject=None, level="Metadata")
    judged = of_log(tmp_path / "reads.log", read)
    lack = {why for _, why in judged.values() if "audit log" in why}
    assert lack and all("the audit log that was read has no writes that changed an object" in why for why in lack)
    assert not any("without an audit log" in why for why in lack)
    assert {verdict for verdict, _ in judged.values()} == {"not"}


def test_a_rule_says_what_it_lacks_besides_changes(tmp_path: Path) -> None:
    judged = of_log(tmp_path / "one.log", created("", "services", "Service"))
    assert "exact" not in {verdict for verdict, _ in judged.values()}
    for rule, lack in {
        "stale-write": "no write that was refused because of a conflict was seen",
        "endpoints-before-service": "no change of EndpointSlice or Endpoints was seen",
        "view-went-back": "no watch request was seen",
        "stale-view": "no Event in which a controller names the copy on which it acted",
        "service-gap": "no change of Pod",
    }.items():
        assert judged[rule][0] == "not" and lack in judged[rule][1]
        assert "there was none, or the source does not tell of it" in judged[rule][1]


def test_rules_about_all_kinds_judge_others_than_the_usual_ones_and_name_these(tmp_path: Path) -> None:
    """They report findings of these, so coverage must not say that they cannot."""
    made = created("cert-manager.io", "certificaterequests", "CertificateRequest")
    verdict, why = of_log(tmp_path / "own.log", made)["runaway-creation"]
    assert verdict == "bounded" and "no change of PersistentVolumeClaim, Pod or ReplicaSet" in why
    bare = {**made, "level": "Metadata", "responseObject": None}
    verdict, why = of_log(tmp_path / "bare.log", bare)["runaway-creation"]
    assert (verdict, why) == (
        "not",
        "certificaterequests were logged without bodies, in which stands what it looks at",
    )


def created(group: str, resource: str, kind: str) -> dict[str, object]:
    """Return the event of an object's creation."""
    version = f"{group}/v1" if group else "v1"
    body = {**pod(), "kind": kind, "apiVersion": version}
    place = {"resource": resource, "namespace": "n", "name": "p", "apiGroup": group, "apiVersion": "v1"}
    return event(objectRef=place, responseObject=body, requestURI=f"/apis/{version}/namespaces/n/{resource}")


@pytest.mark.parametrize("level", ["Metadata", "Request"])
def test_no_remedy_asks_for_the_content_of_what_holds_credentials(level: str, tmp_path: Path) -> None:
    """Nor for requests that run commands in containers, which `pods/*` would log."""
    for path in [*sorted(RULES.glob("*/fires-*.jsonl"))[::3], at_level(level, tmp_path)]:
        for each in judgeable(analysed(path).world, rulebook()):
            for line in each.remedy.splitlines():
                assert "/*" not in line
                if "RequestResponse" in line:
                    assert not re.search("secrets|configmaps|routes|oauth", line)
                    assert "resources" in line

"""These tests check what a source is said to show of each kind, and what each rule can judge with it; also with parts
of recordings: what is said never contradicts a finding, and never promises what it does not have."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from msgspec.structs import replace

from tests import DATA, RULES
from tests.inputs import live, mutations, objects, recordings
from tests.inputs.events import event, pod
from tests.inputs.mutations import Log
from tests.inputs.recordings import SAMPLE, entries_of, findings_of, world_of
from tests.unit.history.live_worlds import taken_over
from tests.unit.judging.logs import ANSWERS, READS, at_level, log_of, observed, rules_of, sample
from tests.unit.judging.test_engine import log, watched
from tests.unit.rules.test_rules import FIRES, named
from timeline.core.entries import FOREVER, Clock, Entry, Mark, MarkType, Observation
from timeline.history.snapshot import lines_of, snapshot_of
from timeline.history.world.world import World
from timeline.judge import judge, rulebook
from timeline.judging.coverage.judgeable import RuleCoverage
from timeline.judging.coverage.remedies import IMPORT_AGAIN, WATCHES, WHOLE_POLICY
from timeline.judging.coverage.sources import coverage
from timeline.kinds import resource_of

OBJECTS = DATA / "objects"
WATCH, LIST = [*sorted((OBJECTS / "watch").iterdir())], [OBJECTS / "pods.json.zst"]


def world_in(*paths: Path) -> World:
    return recordings.world_of([each for path in paths for each in recordings.observations_of(path)])


def of_log(*events: dict[str, Any]) -> World:
    return recordings.world_of(observed(events))


def verdicts(world: World) -> dict[str, str]:
    return {rule: each.verdict for rule, each in rules_of(world).items()}


def test_a_watch_is_complete_up_to_its_last_line() -> None:
    followed = [row for row in coverage(world_in(*WATCH)) if row.level == "watch"]
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
    listed = world_in(*LIST, OBJECTS / "pods.yaml.zst")
    by_rule = verdicts(listed)
    assert by_rule["service-gap"] == "not"
    assert "not" not in {by_rule[finding.rule] for finding in findings_of(listed)}


def test_a_watch_that_was_recorded_without_managed_fields_tells_no_times() -> None:
    judged = rules_of(world_in(RULES / "lease-stolen/quiet-in-a-watch-without-managed-fields.jsonl"))["lease-stolen"]
    assert (judged.verdict, judged.answer) == ("inconclusive", "part")
    assert "leases come from a watch without managedFields, which tell the times" in judged.why
    assert "--show-managed-fields" in judged.remedy
    assert verdicts(world_in(*WATCH))["lease-stolen"] == "bounded"


@pytest.mark.parametrize("paths", [WATCH, LIST], ids=["watches", "lists"])
def test_watches_and_lists_show_no_requests(paths: list[Path]) -> None:
    judged = rules_of(world_in(*paths))
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
    worlds = [world_in(path) for path in sorted(RULES.glob("*/fires-*.jsonl"))[::3]]
    worlds += [of_log(*at_level(level, sample())) for level in ("Metadata", "Request")]
    for line in (line for world in worlds for each in rules_of(world).values() for line in each.remedy.splitlines()):
        assert "/*" not in line
        if "RequestResponse" in line:
            assert not re.search("secrets|configmaps|routes|oauth", line)
            assert "resources" in line


VERBS = {"create": {"create"}, "update": {"update", "patch"}, "delete": {"delete", "deletecollection"}}
# Parts of reasons that say that lines are missing. They may appear when lines are added, which prove it.
KNOWN_TO_LACK = ("are missing, or may be", "mostly come with some", "some writes of", "were logged without")
EVERY = 6  # of how many parts one is judged; each recording begins with another one


class Judged(NamedTuple):
    """This is what was found in a recording, and what each rule can judge in it."""

    found: dict[str, set[str]]  # the ids of the findings by rule
    rules: dict[str, RuleCoverage]


def judged(events: Log) -> Judged:
    world = world_of(observed(events))
    found: dict[str, set[str]] = {}
    for each in judge(world, world.tracks(), untracked=True):
        found.setdefault(each.rule, set()).add(each.id)
    return Judged(found, rules_of(world))


def of(kind: str, verbs: set[str], event: mutations.Event) -> bool:
    """Return whether an event is a write of objects of a kind, and not of their status."""
    return mutations.kind(event) == kind and event["verb"] in verbs and not event["objectRef"].get("subresource")


def parts(log: Log) -> Iterator[tuple[str, Log]]:
    """Yield parts of a log, each with what was taken away."""
    kinds = sorted({mutations.kind(event) for event in log})
    for kind in kinds:
        yield f"all of {kind}", [each for each in log if mutations.kind(each) != kind]
        for verb, verbs in VERBS.items():
            yield f"{verb} {kind}", [each for each in log if not of(kind, verbs, each)]
        status = f"{kind}/status"
        yield f"status of {kind}", [each for each in log if mutations.resource(each) != status]
        for level in ("Metadata", "Request"):
            thin = [mutations.logged_at(level, each) if mutations.kind(each) == kind else each for each in log]
            yield f"more than {level} of {kind}", thin
    for verb, verbs in VERBS.items():
        yield f"every {verb}", [each for each in log if each["verb"] not in verbs]
    yield "every status", [each for each in log if each["objectRef"].get("subresource") != "status"]
    yield "watches", [each for each in log if each["verb"] not in ("list", "watch")]
    yield "refused requests", [each for each in log if each["responseStatus"]["code"] < 400]
    yield "conflicts", [each for each in log if each["responseStatus"]["code"] != 409]
    for level in ("Metadata", "Request"):
        yield f"more than {level}", at_level(level, log)


AUDITED = [path for path in FIRES if b'"objectRef"' in path.read_bytes().partition(b"\n")[0]]


@pytest.mark.parametrize("path", AUDITED, ids=named)
def test_what_is_said_of_a_part_of_a_recording_is_true(path: Path) -> None:
    log = log_of(path)
    whole = judged(log)
    start = AUDITED.index(path) % EVERY
    for taken, part in list(parts(log))[start::EVERY]:
        now = judged(part)
        for rule, each in now.rules.items():
            about = f"{rule} without {taken}: {each.words}, {each.why}"
            assert not now.found.get(rule) or each.answer != "cannot", about
            if whole.found.get(rule, set()) - now.found.get(rule, set()) and _concerns(rule, taken):
                assert each.answer != "can" and each.verdict != "exact", about
            before = whole.rules[rule]
            if not any(sentence in before.why for sentence in KNOWN_TO_LACK):
                assert ANSWERS.index(each.answer) <= ANSWERS.index(before.answer), f"{about}; before: {before.why}"
            assert (each.answer == "can") == (each.verdict == "exact") == (not each.remedy)


def _concerns(rule: str, taken: str) -> bool:
    """Return whether a rule names the kind that was taken away. Without the others, the log may only end earlier."""
    lines = [line for each in rulebook() if each.id == rule for need in each.needs for line in need.lines]
    resources = {part.resource.partition("/")[0] for line in lines for part in line.logged}
    resources |= {resource_of(kind.partition(".")[0]) for line in lines for kind in line.kinds}
    return taken.split()[0] in ("every", "watches", "refused", "conflicts") or taken.split()[-1] in resources


def writes() -> Log:
    return [each for each in sample() if each["verb"] not in READS]


def reported(events: Log, rule: str) -> RuleCoverage:
    return rules_of(world_of(observed(events)))[rule]


def test_where_only_some_namespaces_show_a_kind_these_are_named() -> None:
    log, bare = writes(), "volcano-system"
    assert reported(log, "duplicate-child").answer == "can"
    pods = [mutations.kind(each) == "pods" and mutations.namespace(each) == bare for each in log]
    other = reported([each for each, left_out in zip(log, pods, strict=True) if not left_out], "duplicate-child")
    assert other.answer == "part" and f"was seen in {bare}" in other.why and "Pod" in other.why
    thin = [mutations.logged_at("Metadata", each) if thinned else each for each, thinned in zip(log, pods, strict=True)]
    other = reported(thin, "duplicate-child")
    assert other.answer == "part" and f"in {bare}, pods were logged without bodies" in other.why


def test_a_kind_of_which_some_writes_have_no_bodies_is_judged_in_part() -> None:
    log = writes()
    first = next(at for at, each in enumerate(log) if of("leases", {"update"}, each))
    assert reported(log, "lease-stolen").answer == "can"
    mixed = reported([*log[:first], mutations.logged_at("Metadata", log[first]), *log[first + 1 :]], "lease-stolen")
    assert mixed.answer == "part" and "some writes of leases were logged without bodies" in mixed.why


def no_less(before: dict[str, RuleCoverage], after: dict[str, RuleCoverage]) -> bool:
    """Return whether each rule can judge as much as before."""
    return all(ANSWERS.index(after[rule].answer) >= ANSWERS.index(each.answer) for rule, each in before.items())


def test_a_snapshot_keeps_what_was_seen_and_an_older_one_claims_no_more_than_it_has() -> None:
    world = world_of(live.observations(OBJECTS / "watch"))
    same, older = taken_over(world, World()), World()
    assert dict.fromkeys(same.shown.state()) == dict.fromkeys(world.shown.state())
    assert no_less(rules_of(world), rules_of(same)) and no_less(rules_of(same), rules_of(world))
    read = snapshot_of([*lines_of(world.snapshot()._replace(shown=()))])
    assert read
    older.restore(read)
    older.settle()
    assert [*older.shown.state()] and no_less(rules_of(older), rules_of(world))


def test_a_live_cluster_whose_log_has_no_bodies_is_judged_by_both() -> None:
    """The log comes by the webhook. Its requests say who wrote, and what was refused; the watches say what."""
    watches, bare = live.observations(OBJECTS / "watch"), observed(at_level("Metadata", sample()))
    alone = rules_of(world_of(watches, world=World(followed=True)))
    both = rules_of(world_of(watches, bare, world=World(followed=True)))
    for rule in ("stale-write", "write-storm", "write-after-lease-lost"):
        assert alone[rule].answer == "cannot" and "without an audit log" in alone[rule].why
        assert both[rule].answer != "cannot", both[rule].why
    assert no_less(alone, both)


def test_a_watch_of_one_namespace_says_so() -> None:
    marks = [Mark("", "v1", kind, MarkType.LISTED, 1_000_000, 5) for kind in ("Pod", "Service")]
    gap = rules_of(world_of([replace(marks[0], namespace="a"), marks[1]]))["service-gap"]
    assert gap.answer == "part"
    assert "pods are watched in a only: nothing is said of other namespaces" in gap.why
    assert "right to list and watch pods in all namespaces" in gap.remedy


def as_watched(log: Log) -> list[Observation]:
    """Return what a watch shows of the changes that an audit log shows."""
    plain = {"clock": Clock.OBJECT, "client": None, "actor": "", "identity": "", "action": "", "staged": FOREVER}
    return [replace(each, **plain) for each in observed(log) if isinstance(each, Entry)]


def test_events_that_a_watch_shows_count_beside_a_log_that_says_who_wrote_them() -> None:
    log = log_of(next(path for path in FIRES if path.parent.name == "stale-view"))
    reported = rules_of(world_of([*observed(at_level("Metadata", log)), *as_watched(log)]))["stale-view"]
    assert reported.answer == "part", reported.why
    assert "where a watch shows the content" in reported.why


def test_a_log_without_bodies_names_no_kinds_that_watches_leave_out() -> None:
    """Without the log, nothing was known of these kinds either."""
    tabs = {"resource": "tabs", "namespace": "n", "name": "p", "apiGroup": "example.com", "apiVersion": "v1"}
    made, watch = event(level="Metadata", responseObject=None, objectRef=tabs), as_watched(sample())
    alone, both = (rules_of(world_of(items))["runaway-creation"] for items in (watch, [*watch, *observed([made])]))
    assert (both.answer, both.why) == (alone.answer, alone.why)
    beside = reported([*sample(), made], "runaway-creation")
    assert "tabs" in beside.why and "does not judge them" in beside.why


def test_owners_that_no_line_shows_are_named() -> None:
    """A rule that judges owners of all kinds does not find what their children cannot tell."""
    log = sample()
    whole = reported(log, "runaway-creation")
    assert "name one as their owner" not in whole.why
    jobs = reported([each for each in log if mutations.kind(each) != "jobs"], "runaway-creation")
    assert "no change of Job.batch.volcano.sh was seen in vol-quiet and vol-restart, where others name one" in jobs.why

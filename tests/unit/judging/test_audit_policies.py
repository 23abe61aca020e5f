"""These tests derive audit policies from rules, and let recordings be logged by them: the rules find the same."""

from collections.abc import Iterable, Sequence
from functools import cache
from itertools import product
from pathlib import Path

import msgspec
import pytest
from hypothesis import Phase, given
from hypothesis import strategies as st

from tests import ROOT
from tests.inputs import mutations
from tests.inputs.mutations import Log
from tests.inputs.recordings import findings_of, world_of
from tests.properties import examples
from tests.unit.judging.logs import ANSWERS, log_of, observed, rules_of
from tests.unit.judging.test_engine import RECORDINGS
from tests.unit.rules.test_rules import FIRES, QUIET, named
from timeline.judge import rulebook
from timeline.judging.coverage.audit_policy import Attributes, Policy, PolicyLine, Resources
from timeline.judging.coverage.policies import Plan, plan, text

RULES = {rule.id: rule for rule in rulebook()}
LOGGED = {id: rule for id, rule in RULES.items() if plan([rule]).logs}
WRITES = ("create", "update", "patch", "delete", "deletecollection")
Found = Sequence[tuple[str, ...]]

# What these fixtures show stands in the content of ConfigMaps, which no policy logs.
PRIVATE = {"runaway-creation/fires-custom-resource-config", "runaway-creation/fires-one-for-each-of-something"}
# What these show, only the revisions of all writes in the cluster prove.
DENSE = {"job-finalizer-before-count/fires-no-status-written"}


def is_audit_log(path: Path) -> bool:
    return b'"auditID"' in path.read_bytes()[:2000]


FIXTURES = [path for path in (*FIRES, *QUIET) if is_audit_log(path)]


@cache
def planned(*rules: str) -> Plan:
    return plan([RULES[each] for each in rules or RULES])


def logged(policy: Policy, log: Log) -> Log:
    """Return what a policy logs, and the first and the last line, which say how long was observed."""
    kept = mutations.logged_by(policy, log)
    known = {event["auditID"] for event in kept}
    edges = (min(log, key=_time), max(log, key=_time))
    return [*kept, *(mutations.logged_at("Metadata", each) for each in edges if each["auditID"] not in known)]


def _time(event: mutations.Event) -> str:
    return str(event["stageTimestamp"])


def judged(log: Log, rules: Iterable[str]) -> tuple[Found, list[int]]:
    """Return what rules find, without UIDs: not every policy logs those of all objects; and what each can judge."""
    world, wanted = world_of(observed(log)), sorted(rules)
    findings = sorted(
        (each.rule, each.subject.kind, each.subject.namespace, each.subject.name, each.verdict, each.severity)
        for each in findings_of(world)
        if each.rule in wanted
    )
    answers = rules_of(world)
    return findings, [ANSWERS.index(answers[rule].answer) for rule in wanted]


@pytest.mark.parametrize("path", FIXTURES, ids=named)
def test_a_policy_for_a_rule_lets_it_find_the_same(path: Path) -> None:
    rule = path.parent.name
    before, could = judged(log_of(path), [rule])
    for wanted in (planned(rule), planned()) if path in FIRES else (planned(rule),):
        after, can = judged(logged(wanted.policy, log_of(path)), [rule])
        judges = {each.rule: each.judges for each in wanted.reach}[rule]
        if named(path) in PRIVATE:
            assert (judges, after) == ("in part", [])
        elif named(path) in DENSE and judges == "in part":
            assert [each[:4] for each in after] == [each[:4] for each in before]
        else:
            assert after == before
            assert can >= could or judges == "in part"
            assert judges != "not"


@pytest.mark.parametrize("name", [*RECORDINGS, "benign-day"])
def test_the_policy_for_all_rules_lets_them_find_the_same(name: str) -> None:
    path = RECORDINGS.get(name) or ROOT / "tests/data/benign-day.jsonl.zst"
    before, could = judged(log_of(path), RULES)
    after, can = judged(mutations.logged_by(planned().policy, log_of(path)), RULES)
    assert after == before
    in_part = [each.judges == "in part" for each in planned().reach]
    assert all(now >= then or part for now, then, part in zip(can, could, in_part, strict=True))


@examples(2, phases=[Phase.reuse, Phase.generate])
@given(rules=st.sets(st.sampled_from(sorted(LOGGED)), min_size=1, max_size=4))
def test_rules_share_a_policy(rules: set[str]) -> None:
    wanted = sorted(rules)
    for name in ("families", "jobs"):
        before, could = judged(log_of(RECORDINGS[name]), wanted)
        after, can = judged(logged(planned(*wanted).policy, log_of(RECORDINGS[name])), wanted)
        in_part = [each.judges == "in part" for each in planned(*wanted).reach]
        assert all(now >= then or part for now, then, part in zip(can, could, in_part, strict=True))
        dense = {rule for rule in wanted if RULES[rule].dense}
        assert [each for each in after if each[0] not in dense] == [each for each in before if each[0] not in dense]
        assert [each[:4] for each in after] == [each[:4] for each in before]


EVERY_PLAN = [
    pytest.param(rules, namespaces, id=f"{rules[0] if len(rules) == 1 else 'all'} {' '.join(namespaces)}")
    for rules in (*([each] for each in LOGGED), [*RULES])
    for namespaces in ([], ["shop", "on"])
]
every_plan = pytest.mark.parametrize(("rules", "namespaces"), EVERY_PLAN)


@every_plan
def test_what_is_printed_is_the_policy(rules: list[str], namespaces: list[str]) -> None:
    made = plan([RULES[each] for each in rules], namespaces)
    printed = text(made, ["Of the sample."], {0: "Of a line."})
    assert msgspec.yaml.decode(printed, type=Policy) == made.policy
    assert max(map(len, printed.splitlines())) <= 118
    assert "\n# Of the sample.\n" in printed
    assert made.policy.rules[-1] == PolicyLine("None")


PRIVATE_KINDS = [("", "secrets"), ("", "configmaps"), ("route.openshift.io", "routes"), ("oauth.openshift.io", "x")]
NEVER = [
    *(("", resource, name) for resource, name in (("pods", "exec"), ("pods", "attach"), ("pods", "proxy"))),
    ("", "serviceaccounts", "token"),
    ("authentication.k8s.io", "tokenreviews", ""),
    ("authorization.k8s.io", "subjectaccessreviews", ""),
]


@every_plan
def test_no_policy_logs_the_content_of_what_holds_credentials(rules: list[str], namespaces: list[str]) -> None:
    policy = plan([RULES[each] for each in rules], namespaces).policy
    for verb in (*WRITES, "get", "list", "watch"):
        for group, resource in PRIVATE_KINDS:
            assert level(policy, Attributes(verb, group, resource, "", "shop")) in ("None", "Metadata")
    for verb, asked in product(WRITES, NEVER):
        assert level(policy, Attributes(verb, *asked, "shop")) == "None"


def level(policy: Policy, asked: Attributes) -> str:
    number = policy.deciding(asked)
    return "None" if number is None else policy.rules[number].level


def test_a_policy_is_limited_to_namespaces() -> None:
    policy = plan([RULES["service-gap"], RULES["endpoints-before-service"]], ["shop"]).policy
    assert level(policy, Attributes("create", "", "pods", "", "shop", "web-0")) == "RequestResponse"
    assert level(policy, Attributes("create", "", "pods", "", "other", "web-0")) == "None"
    assert level(policy, Attributes("create", "", "namespaces")) == "Metadata"
    assert level(policy, Attributes("delete", "", "namespaces", "", "shop", "shop")) == "Metadata"
    everything = plan([RULES["view-went-back"]], ["shop"]).policy
    assert level(everything, Attributes("watch", "", "pods")) == "Metadata"  # a watch of all namespaces shows it, too
    assert level(everything, Attributes("update", "", "nodes", "", "", "n1")) == "RequestResponse"
    assert level(everything, Attributes("update", "", "pods", "", "other", "web-0")) == "None"


def test_a_policy_says_what_rules_can_judge_with_it() -> None:
    reach = {each.rule: each for each in planned().reach}
    assert reach["consumer-order"].judges == "not"
    assert "kube-vip" in reach["consumer-order"].why
    assert reach["service-gap"].judges == "in full"
    assert reach["write-storm"].judges == "in part"
    alone = planned("service-gap").reach[0]
    assert (alone.judges, "custom resources" in alone.why) == ("in part", True)
    assert not planned("consumer-order").logs
    head = text(planned()).partition("apiVersion")[0]
    assert all(rule in head for rule in RULES)


def test_a_policy_says_which_other_rules_it_serves() -> None:
    rules = [RULES["service-gap"]]
    besides = plan(rules, (), RULES.values()).besides
    assert {"pod-before-service"} <= {*besides}
    assert not {"service-gap", "write-storm", "load-balancer-late", "consumer-order"} & {*besides}
    for each in besides:
        assert plan([*rules, RULES[each]]).policy == plan(rules).policy
    assert "What it logs also serves " in text(plan(rules, ["shop"], RULES.values()))
    assert not plan([*RULES.values()], (), RULES.values()).besides


def test_little_is_logged_for_a_rule_that_needs_little() -> None:
    policy, whole = planned("lease-stolen").policy, log_of(RECORDINGS["families"])
    little = mutations.logged_by(policy, whole)
    assert {mutations.kind(event) for event in little} == {"leases", "namespaces"}
    assert len(little) < len(whole) / 5
    # Nodes renew Leases all the time, which no rule about Leases looks at.
    assert level(policy, Attributes("update", "coordination.k8s.io", "leases", "", "kube-node-lease", "n1")) == "None"


# Each line is decided as `ruleMatches` of k8s.io/apiserver does: (line, request, whether the line is about it).
STATUS = Attributes("patch", "", "pods", "status", "shop", "web-0", "kubelet", ("system:nodes",))
POD = STATUS._replace(verb="delete", subresource="")
NODE = Attributes("update", "", "nodes", "", "", "n1")
HEALTH = Attributes("get", path="/healthz/etcd")


@pytest.mark.parametrize(
    ("line", "matching", "other"),
    [
        (PolicyLine("None"), [STATUS, POD, NODE, HEALTH], []),
        (PolicyLine("None", verbs=("patch", "get")), [STATUS, HEALTH], [POD]),
        (PolicyLine("None", users=("kubelet",)), [STATUS], [NODE, HEALTH]),
        (PolicyLine("None", user_groups=("other", "system:nodes")), [STATUS], [NODE]),
        (PolicyLine("None", resources=(Resources("", ("pods",)),)), [POD], [STATUS, NODE, HEALTH]),
        (PolicyLine("None", resources=(Resources("", ("pods/status",)),)), [STATUS], [POD]),
        (PolicyLine("None", resources=(Resources("", ("pods/*",)),)), [STATUS, POD], [NODE]),
        (PolicyLine("None", resources=(Resources("", ("*/status",)),)), [STATUS], [POD]),
        (PolicyLine("None", resources=(Resources("", ("*",)),)), [STATUS, POD, NODE], [HEALTH]),
        (PolicyLine("None", resources=(Resources("*"),)), [STATUS, POD, NODE], [HEALTH]),
        (PolicyLine("None", resources=(Resources("apps"),)), [], [POD, NODE]),
        (PolicyLine("None", resources=(Resources("apps"), Resources())), [POD, NODE], [HEALTH]),
        (PolicyLine("None", resources=(Resources("", ("pods",), ("web-0",)),)), [POD], [POD._replace(name="web-1")]),
        (PolicyLine("None", namespaces=("shop",)), [STATUS, POD], [NODE, HEALTH]),
        (PolicyLine("None", namespaces=("",)), [NODE], [POD, HEALTH]),
        (PolicyLine("None", urls=("/healthz*",)), [HEALTH], [POD]),
        (PolicyLine("None", urls=("/healthz", "/version")), [], [HEALTH]),
        (PolicyLine("None", urls=("*",)), [HEALTH], [NODE]),
    ],
)
def test_lines_match_as_in_the_api_server(
    line: PolicyLine, matching: list[Attributes], other: list[Attributes]
) -> None:
    assert [each for each in matching if not line.match(each)] == []
    assert [each for each in other if line.match(each)] == []


def test_the_first_line_decides() -> None:
    first = PolicyLine("Metadata", verbs=("patch",), omit_stages=("Panic",), omit_managed_fields=False)
    lines, general = (first, PolicyLine("None")), {"omit_stages": ("RequestReceived",), "omit_managed_fields": True}
    policy = Policy(api_version="audit.k8s.io/v1", kind="Policy", rules=lines, **general)  # type: ignore[arg-type]
    assert [policy.deciding(each) for each in (STATUS, POD)] == [0, 1]
    stages = ("RequestReceived", "Panic", "ResponseComplete")
    assert [stage for stage in stages if policy.omits(first, stage)] == ["RequestReceived", "Panic"]
    assert [policy.omits_managed_fields(each) for each in lines] == [False, True]
    assert msgspec.structs.replace(policy, rules=()).deciding(POD) is None


def test_what_a_narrow_policy_leaves_out_raises_no_alarm() -> None:
    """The rules for which a policy is not meant judge what it logs, too."""
    torn_down = next(path for path in FIXTURES if named(path) == "endpoints-before-service/quiet-namespace-torn-down")
    for path, rules in ((torn_down, LOGGED), (RECORDINGS["families"], ["load-balancer-late", "missing-reference"])):
        whole = {each[:4] for each in judged(log_of(path), RULES)[0]}
        for rule in rules:
            narrow, _ = judged(logged(planned(rule).policy, log_of(path)), RULES)
            assert {each[:4] for each in narrow if each[5] != "info"} <= whole, rule

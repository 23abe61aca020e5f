"""These tests check the advice of findings: its steps are in the order in which they are done, and commands can be
copied."""

import re
import shlex
from pathlib import Path

import pytest

from collectors.analysis import analyse
from collectors.formats import Limits
from tests import DATA
from tests.recordings import SAMPLE
from tests.unit.rules.test_rules import FIRES, found_in, named
from timeline.judging.advice import STEPS, kubectl, ordered, steps
from timeline.judging.findings import Finding


def test_lines_belong_to_the_step_that_is_named_before_them() -> None:
    parts = steps(["Clean: delete `x`.", "Or leave it.", "Verify: look.", "Stop: the controller."])
    assert [(step.name, step.lines) for step in parts] == [
        ("Stop", ["The controller."]),
        ("Clean", ["Delete `x`.", "Or leave it."]),
        ("Verify", ["Look."]),
    ]


def test_advice_that_names_no_step_is_refused() -> None:
    with pytest.raises(ValueError, match="no step"):
        steps(["Do something."])


def test_the_advice_of_several_cases_is_put_in_order() -> None:
    assert ordered(["Verify: b", "Clean: a", "Verify: b", "Stop: c"]) == ("Stop: c", "Clean: a", "Verify: b")


def test_a_name_is_no_part_of_a_command() -> None:
    assert kubectl("n", "get pod {}", "ring-0") == "`kubectl -n n get pod ring-0`"
    assert kubectl("", "get pod {}", "x; rm -rf /") == "`kubectl get pod 'x; rm -rf /'`"


@pytest.mark.parametrize("path", FIRES, ids=named)
def test_every_finding_says_what_to_do_in_order_and_how_to_verify_it(path: Path) -> None:
    for finding in found_in(path):
        parts = steps(finding.advice)
        begun = [line.partition(":")[0] for line in finding.advice if line.partition(":")[0] in STEPS]
        assert begun == sorted(begun, key=STEPS.index)
        assert parts[-1].name == "Verify"
        for command in "".join(line for step in parts for line in step.lines).split("`")[1::2]:
            shlex.split(command)


RECORDED = [
    SAMPLE,
    *DATA.glob("*.jsonl*"),
    *DATA.glob("engine/*"),
    *DATA.glob("shown/recording*"),
    *DATA.glob("logs/*"),
]
CHANGES = re.compile(r"kubectl (-n \S+ )?(delete|annotate|scale|rollout restart|edit|patch) |vcctl job suspend ")
NAMED = re.compile(
    r"kubectl (?:-n (?P<namespace>\S+) )?\w+ (?P<resource>[\w.,]+)"
    r"(?P<names>(?: (?!-)[\w.-]+(?=[ `]|$))*)(?: -l \S+=(?P<label>\S+))?"
)


def names_of(finding: Finding) -> tuple[set[str], set[str]]:
    """Return the names and the namespaces of all that a finding is about."""
    refs = [finding.subject, *finding.affects, *(proof.ref for each in finding.occurrences for proof in each.proof)]
    others = [each for each in (finding.other, finding.anchor) if each]
    # The Pod that the token of an actor is bound to, and its namespace, stand in the sentences.
    told = {word.strip(",.") for each in finding.occurrences for word in each.headline.split()}
    users = {proof.moment.actor.split(":")[2] for each in finding.occurrences for proof in each.proof
             if proof.moment.actor.startswith("system:serviceaccount:")}  # fmt: skip
    names = {ref.name for ref in refs} | {each.name for each in others}
    return names | told, {ref.namespace for ref in refs} | {each.namespace for each in others} | users


def wrong_advice(finding: Finding) -> list[str]:
    """Return the lines of the advice that do not hold what they promise."""
    names, namespaces = names_of(finding)
    wrong = []
    for step in steps(finding.advice):
        for line in step.lines:
            commands = line.split("`")[1::2]
            if step.name == "Stop" or re.search(r"\b[Ss]top (the|it)\b|\b[Tt]ouch\b", line):
                wrong += [line] if not any(CHANGES.search(f"{each} ") for each in commands) else []
            for found in filter(None, map(NAMED.match, commands)):
                given = {each for each in found["names"].split() if "=" not in each} | {found["label"] or ""} - {""}
                elsewhere = (found["namespace"] or "") not in namespaces
                unknown = {each for each in given if each not in names and finding.rule != "runaway-creation"}
                wrong += [f"{line}: {unknown or found['namespace']}"] if elsewhere or unknown else []
    return wrong


@pytest.mark.parametrize("path", [*FIRES, *RECORDED], ids=named)
def test_commands_name_what_the_finding_is_about_and_to_stop_something_changes_it(path: Path) -> None:
    findings = found_in(path) if path in FIRES else analyse([(path, path.name)], Limits()).findings
    assert [line for finding in findings for line in wrong_advice(finding)] == []
    identities = [finding.id for finding in findings]
    assert len(identities) == len(set(identities))
    for finding in findings:
        assert not re.search(r"wrote (Lease|\{)", f"{finding.summary} {finding.worst.effect_text}")

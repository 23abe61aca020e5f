"""These tests hold everything that is promised of any recording against each fixture of the rules, which is read once.

A fixture named `fires-…` must be found by the rule of its folder, and a benign look-alike named `quiet-…` must not.
`make examples` tries more orders than one.
"""

import json
import random
import re
import shlex
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.analysis import Analysis, analyse
from collectors.formats import Limits
from tests import DATA, RULES
from tests.inputs.recordings import SAMPLE, findings_of, observations_of, world_of
from tests.properties import examples
from tests.unit.history.test_spilled_world import everything, learned
from tests.unit.judging.test_incremental import judged_in
from tests.unit.payloads.test_findings_schema import document_of
from tests.unit.rules.test_rules import named
from timeline.core.entries import Observation
from timeline.core.machine.spill import Spill, Spilling
from timeline.history.world.world import World
from timeline.judge import rulebook
from timeline.judging.advice import STEPS, commands, steps
from timeline.judging.coverage.judgeable import judgeable
from timeline.judging.findings import Finding
from timeline.payloads.incidents.making import places_of_findings

FIXTURES = sorted(RULES.glob("*/*.jsonl"))
FORMS = ("*.jsonl*", "engine/*", "shown/recording*", "logs/*")
RECORDED = [SAMPLE, *(path for form in FORMS for path in DATA.glob(form))]


@pytest.mark.parametrize("path", FIXTURES, ids=named)
def test_a_fixture_holds_what_every_recording_promises(path: Path, tmp_path: Path) -> None:
    entries = observations_of(path)
    world, news = learned(World(), entries)
    findings = findings_of(world)
    own = [each for each in findings if each.rule == path.parent.name]
    if path.stem.startswith("fires-"):
        assert own
    else:
        assert [each.summary for each in own] == []
    for finding in findings:
        check_proof(finding)
        check_advice(finding)
    assert len({each.id for each in findings}) == len(findings)
    judged = judgeable(world, rulebook())
    assert not {each.rule for each in judged if each.verdict == "not"} & {each.rule for each in findings}

    document = document_of(Analysis(path.name, world, findings, places_of_findings(findings), [], 0, len(entries), ""))
    assert document["findings"] or not findings
    assert found_out_of_order(entries, seed=0) == findings
    assert judged_in([[entry] for entry in entries]) == findings
    with Spill(tmp_path) as spill:
        spilled, now = learned(World(spilling=Spilling(spill, 0)), entries)
        assert now == news
        assert everything(spilled) == everything(world)
    assert list(tmp_path.iterdir()) == []


def found_out_of_order(entries: list[Observation], seed: int) -> list[Finding]:
    """Return what is found if some entries come twice and all in another order, in two batches."""
    shuffled = entries + entries[:: seed % 5 + 2]
    random.Random(seed).shuffle(shuffled)
    half = len(shuffled) // 2
    return findings_of(world_of(shuffled[:half], shuffled[half:]))


@examples(1)
@given(path=st.sampled_from(FIXTURES), seed=st.integers(0, 2**32))
def test_neither_order_nor_repetition_changes_what_is_found(path: Path, seed: int) -> None:
    entries = observations_of(path)
    assert found_out_of_order(entries, seed) == findings_of(world_of(entries))


@pytest.mark.parametrize("path", RECORDED, ids=named)
def test_what_is_found_in_a_real_recording_has_proof_and_advice(path: Path) -> None:
    findings = analyse([(path, path.name)], Limits()).findings
    for finding in findings:
        check_advice(finding)
    assert len({each.id for each in findings}) == len(findings)


WATCHED = [path for path in FIXTURES if path.stem.startswith("fires-") and path.read_bytes().startswith(b'{"type":')]


@pytest.mark.parametrize("path", WATCHED, ids=named)
def test_the_states_of_a_watch_show_what_its_events_show(path: Path, tmp_path: Path) -> None:
    """What `kubectl get -w` prints without `--output-watch-events` is found to be the same."""
    plain = tmp_path / path.name
    plain.write_text("\n".join(json.dumps(json.loads(line)["object"]) for line in path.read_text().splitlines()))
    found, expected = (
        [each.summary for each in findings_of(world_of(observations_of(each))) if each.rule == path.parent.name]
        for each in (plain, path)
    )
    assert found == expected


def check_proof(finding: Finding) -> None:
    """Check that each moment of a proof stands in a line."""
    assert finding.occurrences
    for each in finding.occurrences:
        assert all(one.moment.place and one.moment.place.line for one in each.proof)


CHANGES = re.compile(r"kubectl (-n \S+ )?(delete|annotate|scale|rollout restart|edit|patch|cordon) |vcctl job suspend ")
NAMED = re.compile(
    r"kubectl (?:-n (?P<namespace>\S+) )?\w+ (?P<resource>[\w.,]+)"
    r"(?P<names>(?: (?!-)[\w.-]+(?=[ `]|$))*)(?: -l \S+=(?P<label>\S+))?"
)


def check_advice(finding: Finding) -> None:
    """Check that the steps of the advice are in their order, end with how to verify it, and have commands that can be
    copied and are about what the finding is about."""
    parts = steps(finding.advice)
    begun = [line.partition(":")[0] for line in finding.advice if line.partition(":")[0] in STEPS]
    assert begun == sorted(begun, key=STEPS.index)
    assert parts[-1].name == "Verify"
    tonight = {step.name: step.lines for step in parts if step.name in {"Look", "Stop", "Clean"}}
    assert "Look" in tonight and len(tonight) > 1, f"{finding.rule} has nothing to do tonight"
    assert any(commands(line) for lines in tonight.values() for line in lines)
    for command in "".join(line for step in parts for line in step.lines).split("`")[1::2]:
        shlex.split(command)
    assert wrong_advice(finding) == []
    assert not re.search(r"wrote (Lease|\{)", f"{finding.summary} {finding.worst.effect_text}")


def names_of(finding: Finding) -> tuple[set[str], set[str]]:
    """Return the names and the namespaces of all that a finding is about."""
    refs = [finding.subject, *finding.affects, *(proof.ref for each in finding.occurrences for proof in each.proof)]
    others = [each for each in (finding.other, finding.anchor) if each]
    # The Pod that the token of an actor is bound to, and its namespace, stand in the sentences.
    words = {word.strip(",.") for each in finding.occurrences for word in each.headline.split()}
    users = {proof.moment.actor.split(":")[2] for each in finding.occurrences for proof in each.proof
             if proof.moment.actor.startswith("system:serviceaccount:")}  # fmt: skip
    names = {ref.name for ref in refs} | {each.name for each in others}
    return names | words, {ref.namespace for ref in refs} | {each.namespace for each in others} | users


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

"""These tests hold what `causeline analyze` prints for CI systems against the findings document of the same files, and
against the parts of SARIF 2.1.0 that it uses."""

import json
from collections import Counter
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest

from tests import RULES
from tests.clients.command import causeline, process
from tests.inputs.events import event
from tests.inputs.recordings import QUIET, SAMPLE, lines_of
from timeline.judge import rulebook

TEXT = {"type": "string", "minLength": 1}
LEVEL = {"enum": ["error", "warning", "note"]}


def closed(*optional: str, **properties: Any) -> dict[str, Any]:
    """Return the schema of an object that has these properties and no others."""
    required = [name for name in properties if name not in optional]
    return {"type": "object", "additionalProperties": False, "properties": properties, "required": required}


def some(items: dict[str, Any], **limits: int) -> dict[str, Any]:
    return {"type": "array", "items": items, **limits}


MESSAGE = closed(text=TEXT)
ARTIFACT = closed(uri={"type": "string", "pattern": "^[!#-;=?-Z_a-z~]+$"})
PLACE = closed("region", artifactLocation=ARTIFACT, region=closed(startLine={"type": "integer", "minimum": 1}))
LOCATION = closed(physicalLocation=PLACE, message=MESSAGE)
RESULT = closed(
    "locations",
    "relatedLocations",
    ruleId=TEXT,
    ruleIndex={"type": "integer", "minimum": 0},
    level=LEVEL,
    message=MESSAGE,
    partialFingerprints={"type": "object", "additionalProperties": TEXT},
    occurrenceCount={"type": "integer", "minimum": 1},
    properties={"type": "object"},
    locations=some(LOCATION, minItems=1, maxItems=1),
    relatedLocations={**some(LOCATION), "uniqueItems": True},
)
RULE = closed(
    "helpUri",
    id=TEXT,
    shortDescription=MESSAGE,
    fullDescription=MESSAGE,
    help=closed(text=TEXT, markdown=TEXT),
    helpUri={"type": "string", "pattern": "^https?://"},
    defaultConfiguration=closed(level=LEVEL),
)
INVOCATION = closed(
    executionSuccessful={"type": "boolean"}, toolExecutionNotifications=some(closed(level=LEVEL, message=MESSAGE))
)
RUN = closed(
    tool=closed(driver=closed(name={"const": "Causeline"}, version=TEXT, rules=some(RULE))),
    invocations=some(INVOCATION, minItems=1, maxItems=1),
    results=some(RESULT),
)
# What is used of https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json
SARIF = jsonschema.Draft202012Validator(
    closed(**{"$schema": TEXT}, version={"const": "2.1.0"}, runs=some(RUN, minItems=1, maxItems=1))
)
FIRING = [next(iter(sorted((RULES / rule.id).glob("fires-*.jsonl"))), RULES) for rule in rulebook()]


def run_of(output: str) -> Any:
    """Return the run of a SARIF log after it was validated."""
    log = json.loads(output)
    SARIF.validate(log)
    for result in log["runs"][0]["results"]:
        assert log["runs"][0]["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
    return log["runs"][0]


def sarif(*arguments: str | Path) -> Any:
    return run_of(causeline("analyze", *arguments, "--output", "sarif")[1])


def document(*arguments: str | Path) -> Any:
    return json.loads(causeline("analyze", *arguments, "--output", "json")[1])


def suite_of(output: str) -> ElementTree.Element:
    """Return the suite of JUnit XML, whose counts agree with its tests."""
    (suite,) = ElementTree.fromstring(output)
    for name, tag in (("tests", "testcase"), ("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        assert suite.get(name) == str(len(list(suite.iter(tag))))
    return suite


def outcomes(*arguments: str | Path) -> dict[str, str]:
    """Return how the test of each rule ended: failure, error, skipped or passed."""
    suite = suite_of(causeline("analyze", *arguments, "--output", "junit")[1])
    ended = {case.get("name", ""): [each.tag for each in case if each.tag != "system-out"] for case in suite}
    return {name: "".join(tags) or "passed" for name, tags in ended.items()}


def test_sarif_has_a_result_for_each_incident_at_the_proof_of_its_gravest_finding() -> None:
    found, run = document(SAMPLE), sarif(SAMPLE)
    findings = {each["id"]: each for each in found["findings"]}
    assert len(run["results"]) == len(found["incidents"])
    for incident, result in zip(found["incidents"], run["results"], strict=True):
        gravest = findings[incident["findings"][0]]
        proof = {(each["file"], each["line"]) for each in gravest["proof"]}
        assert result["ruleId"] == gravest["rule"]
        assert result["level"] == {"error": "error", "warning": "warning", "info": "note"}[incident["severity"]]
        assert result["message"]["text"] == f"{incident['title']}. {incident['advice'][0]}"
        assert result["partialFingerprints"] == {"causelineIncident/v1": incident["id"]}
        places = [each["physicalLocation"] for each in result["locations"] + result["relatedLocations"]]
        where = [(each["artifactLocation"]["uri"], each["region"]["startLine"]) for each in places]
        assert {(uri.removeprefix("file://"), line) for uri, line in where} <= proof
        properties = result["properties"]
        assert (properties["firstTime"], properties["root"]) == (incident["first_time"], incident["root"])
        assert [each["title"] for each in properties["symptoms"]] == [each["title"] for each in incident["symptoms"]]


def test_sarif_says_where_and_by_whom() -> None:
    away = sarif(SAMPLE, "--rule", "service-gap")["results"][0]
    first, last = away["locations"][0], away["relatedLocations"][0]
    assert first["message"]["text"] == (
        "Service deleted · 2026-11-21 07:52:00.841106 UTC · revision 582 · vc-cm-head (admin)"
    )
    assert last["message"]["text"].startswith("created again · 2026-11-21 07:52:00.894060 UTC · revision 592")


def test_sarif_describes_the_rules_that_found_something_and_names_those_that_cannot_judge() -> None:
    found, run = document(SAMPLE), sarif(SAMPLE)
    rules = run["tool"]["driver"]["rules"]
    assert {each["id"] for each in rules} == {each["rule"] for each in found["findings"]}
    assert all("## What to do" in each["help"]["markdown"] and "helpUri" not in each for each in rules)
    said = [each["message"]["text"] for each in run["invocations"][0]["toolExecutionNotifications"]]
    lacking = [each["rule"] for each in found["source"]["rules"] if each["answer"] != "can"]
    assert [each.split(" can")[0] for each in said] == lacking


@pytest.mark.parametrize("path", FIRING, ids=lambda path: path.parent.name)
def test_what_each_rule_finds_is_valid_sarif_and_fails_its_test(path: Path) -> None:
    rules = {each["ruleId"] for each in sarif(path)["results"]}
    failed = {rule for rule, ended in outcomes(path).items() if ended == "failure"}
    found = document(path)
    assert rules <= {each["rule"] for each in found["findings"]}
    assert failed == {each["rule"] for each in found["findings"] if each["severity"] != "info"}


def test_a_rule_links_to_its_page_where_causeline_is_known() -> None:
    _, output, _ = process("analyze", SAMPLE, "--output", "sarif", CAUSELINE_URL="https://causeline.example.org/")
    for rule in run_of(output)["tool"]["driver"]["rules"]:
        assert rule["helpUri"] == f"https://causeline.example.org/rules/{rule['id']}/"
    status, output, errors = process("analyze", SAMPLE, "--output", "sarif", CAUSELINE_URL="ftp://x")
    assert (status, output) == (2, "") and "CAUSELINE_URL is 'ftp://x'" in errors


def test_junit_has_a_test_for_each_rule_which_passes_only_if_the_rule_can_judge() -> None:
    found, ended = document(SAMPLE), outcomes(SAMPLE)
    alarming = {each["rule"] for each in found["findings"] if each["severity"] != "info"}
    cannot = {each["rule"] for each in found["source"]["rules"] if each["answer"] == "cannot"}
    assert [*ended] == [rule.id for rule in rulebook()]
    assert {rule for rule, how in ended.items() if how == "failure"} == alarming
    assert {rule for rule, how in ended.items() if how == "skipped"} == cannot
    assert Counter(ended.values())["passed"] == len(ended) - len(alarming | cannot) > 0


def test_junit_says_what_was_found_and_what_is_missing() -> None:
    cases = {case.get("name"): case for case in suite_of(causeline("analyze", SAMPLE, "--output", "junit")[1])}
    (failure,) = cases["service-gap"].iter("failure")
    assert failure.get("message") == "Service ring was away under 3 Pods, 2 times, and 1 more symptom of the same cause"
    assert failure.get("type") == "warning"
    assert failure.text and f"revision 582 · vc-cm-head (admin) · {SAMPLE}:1090\n" in failure.text
    (skipped,) = cases["consumer-order"].iter("skipped")
    assert skipped.get("message") == "cannot judge: it needs the log of kube-vip, and no such log was read"
    assert skipped.text and skipped.text.startswith("kubectl logs")
    (partly,) = cases["field-fight"].iter("system-out")
    assert partly.text and partly.text.startswith("can judge in part: ")


def test_an_incident_that_is_no_failure_is_in_the_output_of_its_test() -> None:
    arguments = ("analyze", SAMPLE, "--rule", "service-gap", "--fail-on", "error", "--output", "junit")
    status, output, _ = causeline(*arguments)
    (case,) = suite_of(output)
    (said,) = case.iter("system-out")
    assert status == 0 and not list(case.iter("failure"))
    assert said.text and said.text.startswith("Service ring was away under 3 Pods, 2 times\n")


@pytest.mark.parametrize("output", ["table", "json", "sarif", "junit"])
@pytest.mark.parametrize(("threshold", "status"), [("error", 0), ("warning", 1), ("never", 0)])
def test_the_exit_status_is_the_same_in_every_format(output: str, threshold: str, status: int) -> None:
    assert causeline("analyze", SAMPLE, "--fail-on", threshold, "--output", output)[0] == status


def test_never_is_about_the_exit_status_alone() -> None:
    assert outcomes(SAMPLE, "--fail-on", "never") == outcomes(SAMPLE)


def test_nothing_found_is_no_result_and_no_failure() -> None:
    assert sarif(QUIET)["results"] == []
    assert "failure" not in outcomes(QUIET).values()


def test_where_nothing_can_be_judged_no_test_passes(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    path.write_text(json.dumps(event(verb="list", responseObject=None)) + "\n")
    assert set(outcomes(path).values()) == {"skipped"}
    assert len(sarif(path)["invocations"][0]["toolExecutionNotifications"]) == len(rulebook())


def test_input_that_was_mostly_skipped_is_an_error_unless_it_is_allowed(tmp_path: Path) -> None:
    lines = [line for line in lines_of(SAMPLE) if b'"verb":"create"' in line][:3]
    log = tmp_path / "audit.log"
    log.write_bytes(b"\n".join([*lines, *[b'{"kind": "Event", "auditID": "cut'] * 7]) + b"\n")
    for allowed, ending in (((), 2), (("--allow-skipped",), 0)):
        status, output, _ = causeline("analyze", log, *allowed, "--output", "sarif")
        (invocation,) = run_of(output)["invocations"]
        assert (status, invocation["executionSuccessful"]) == (ending, bool(allowed))
        assert "7 of 10 lines were skipped" in invocation["toolExecutionNotifications"][0]["message"]["text"]
        assert ("input" in outcomes(log, *allowed)) == (not allowed)


def test_hostile_text_stays_text(tmp_path: Path) -> None:
    hostile = rb"ring2\u0001<&\u202e\ufffe\"]](http://x){0}"
    text = (RULES / "pod-before-service/fires-container-first.jsonl").read_bytes().replace(b"ring2", hostile)
    log = tmp_path / "a b%:\N{SNOWMAN}.jsonl"
    log.write_bytes(text)
    result = next(each for each in sarif(log)["results"] if each["ruleId"] == "pod-before-service")
    shown = result["message"]["text"]
    assert 'Service ring2\ufffd<&\ufffd\ufffd"]] (http://x){{0}}' in shown
    uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri.startswith("file:///") and uri.endswith("/a%20b%25%3A%E2%98%83.jsonl")
    output = causeline("analyze", log, "--output", "junit")[1]
    (case,) = (each for each in suite_of(output) if each.get("name") == "pod-before-service")
    message = case[0].get("message") or ""
    assert 'Service ring2\ufffd<&\ufffd\ufffd"]](http://x){0}' in message
    assert output.isascii()

"""Write an analysis in the formats that CI systems read: SARIF 2.1.0 and JUnit XML. It does no I/O."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Literal
from urllib.parse import quote
from xml.etree import ElementTree

from collectors.analysis import Analysis
from dashboard import __version__
from dashboard.presentation import wording
from dashboard.presentation.catalogue import sections, written
from timeline.core.actors import named, short
from timeline.core.printable import plain
from timeline.judge import rulebook
from timeline.judging.coverage.judgeable import ANSWERS
from timeline.judging.findings import Finding, Severity
from timeline.judging.rulebook import Rule
from timeline.payloads import documents
from timeline.payloads.findings import ProofPayload, RulePayload
from timeline.payloads.incidents.making import Incident
from timeline.payloads.incidents.occurrences import rank
from timeline.payloads.incidents.symptoms import Symptom

FailOn = Literal["error", "warning", "never"]
ALARMING: Mapping[FailOn, Collection[Severity]] = {"error": ["error"], "warning": ["error", "warning"], "never": []}
_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS: Mapping[Severity, str] = {"error": "error", "warning": "warning", "info": "note"}
_HELP = "`causeline analyze --coverage` says what would help."
_TITLES = 3  # titles of incidents in the message of a failed test; its text has all of them


def sarif(
    analysis: Analysis, only: Collection[str] = (), address: str = "", *, complete: bool = True
) -> dict[str, Any]:
    """Return an analysis as a SARIF log with one run, which has a result for each incident, the gravest first.

    The run names the rules that found something, and has a notification for each rule that cannot judge the recording,
    or not all of it. `only` are the rules that were asked for; none means all. `address` is that of a Causeline whose
    pages explain the rules; "" for none. Without `complete`, too much of the input was skipped for the result to count.
    """
    incidents = analysis.incidents()
    findings = {found.id: found for found in analysis.findings}
    rules = _found(incidents)
    judged = [each for each in _judged(analysis, only) if each["answer"] != "can"]
    skipped = [_notification("error", f"{sentence}.") for sentence in analysis.mostly_skipped]
    run = {
        "tool": {
            "driver": {
                "name": "Causeline",
                "version": __version__,
                "rules": [_descriptor(rule, severity, address) for rule, severity in rules],
            }
        },
        "invocations": [
            {
                "executionSuccessful": complete,
                "toolExecutionNotifications": [*skipped, *map(_lack, judged)],
            }
        ],
        "results": [_result(each, findings, [rule.id for rule, _ in rules]) for each in incidents],
    }
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _found(incidents: Iterable[Incident]) -> list[tuple[Rule, Severity]]:
    """Return the rules that found something, each with the worst severity of what it found."""
    worst_of: dict[str, Severity] = {}
    for each in (symptom for incident in incidents for symptom in incident.symptoms):
        severity = each.gravest.severity
        worst_of[each.rule] = min(severity, worst_of.get(each.rule, severity), key=rank)
    return [(rule, worst_of[rule.id]) for rule in rulebook() if rule.id in worst_of]


def _judged(analysis: Analysis, only: Collection[str]) -> list[RulePayload]:
    """Return what each rule that was asked for can judge in the recording."""
    parts = documents.source_document(analysis.world, rulebook())
    judged = documents.as_read(parts, [each.place for each in analysis.skipped])["rules"]
    return [each for each in judged if not only or each["rule"] in only]


def _descriptor(rule: Rule, severity: Severity, address: str) -> dict[str, Any]:
    """Return a rule with its page as SARIF has it."""
    paragraphs = sections(rule)[0].paragraphs
    described: dict[str, Any] = {
        "id": rule.id,
        "shortDescription": _message(rule.title),
        "fullDescription": _message(" ".join(map(written, paragraphs))),
        "help": {"text": _text(rule.page), "markdown": _text(rule.page)},
        "defaultConfiguration": {"level": _LEVELS[severity]},
    }
    if address:
        described["helpUri"] = f"{address}/rules/{rule.id}/"
    return described


def _lack(judged: RulePayload) -> dict[str, Any]:
    """Return the notification that a rule cannot judge the recording, or not all of it."""
    text = f"{judged['rule']} {ANSWERS[judged['answer']]}: {judged['why']}. {_HELP}"
    return _notification("warning" if judged["answer"] == "cannot" else "note", text)


def _notification(level: str, text: str) -> dict[str, Any]:
    return {"level": level, "message": _message(text)}


def _result(incident: Incident, findings: Mapping[str, Finding], rules: Sequence[str]) -> dict[str, Any]:
    """Return an incident as a result. It is located at the first event that proves its gravest finding."""
    events = [each for each in _proof(incident, findings) if each["file"]]
    locations = [{"physicalLocation": _place(each), "message": _message(_event(each))} for each in events]
    gravest = incident.gravest
    result: dict[str, Any] = {
        "ruleId": gravest.rule,
        "ruleIndex": rules.index(gravest.rule),
        "level": _LEVELS[gravest.gravest.severity],
        "message": _message(". ".join([incident.title, *incident.advice[:1]])),
        "partialFingerprints": {"causelineIncident/v1": incident.id},
        "occurrenceCount": incident.occurrences,
        "properties": {
            "symptoms": [_symptom(each) for each in incident.symptoms],
            "firstTime": documents.timestamp(incident.first),
            "lastTime": documents.timestamp(incident.last),
            "root": incident.root,
            "status": incident.status,
            "state": "ongoing" if incident.open else "over",
            "effect": gravest.gravest.effect_text,
            "actors": incident.actors,
        },
    }
    if locations:
        result["locations"] = locations[:1]
        result["relatedLocations"] = list({repr(each): each for each in locations[1:]}.values())  # each only once
    return result


def _symptom(each: Symptom) -> dict[str, str]:
    return {"rule": each.rule, "title": each.title, "severity": each.gravest.severity}


def _proof(incident: Incident, findings: Mapping[str, Finding]) -> list[ProofPayload]:
    """Return the events that prove the gravest finding of an incident, at its worst occurrence in that incident."""
    shown, occurrences = incident.worst.worst, findings[incident.worst.id].occurrences
    occurrence = next(each for each in occurrences if (each.first, each.last) == (shown.first, shown.last))
    return [documents.proof_payload(proof, time) for proof, time in documents.proofs(occurrence)]


def _place(event: ProofPayload) -> dict[str, Any]:
    file = event["file"] or ""
    place: dict[str, Any] = {"artifactLocation": {"uri": quote(file) if file[:1] != "/" else f"file://{quote(file)}"}}
    if event["line"]:
        place["region"] = {"startLine": event["line"]}
    return place


def _event(event: ProofPayload) -> str:
    """Return an event of a proof in words: role, time, revision and writer."""
    time = wording.instant(event["time"], event["earliest"], event["latest"])
    revision = f"revision {event['resource_version']}" if event["resource_version"] else ""
    who = short(named(event["actor"], event["user_agent"]))
    return " · ".join(filter(None, [event["role"], f"{event['time'][:10]} {time} UTC", revision, who]))


def _message(text: str) -> dict[str, str]:
    return {"text": _text(text)}


def _text(text: str) -> str:
    """Return a text without control characters, in which a reader of SARIF finds no placeholders and no links."""
    lines = map(plain, text.split("\n"))
    return "\n".join(lines).replace("{", "{{").replace("}", "}}").replace("](", "] (")


def junit(analysis: Analysis, only: Collection[str] = (), fail_on: FailOn = "warning", *, complete: bool = True) -> str:
    """Return an analysis as JUnit XML with one suite, which has a test for each rule: failed if the rule found an
    incident, skipped if it cannot judge the recording, else passed.

    A test fails by incidents of the severity `fail_on` and worse; `never` counts as `warning`, because it is about the
    exit status. `only` are the rules that were asked for; none means all. Without `complete`, too much of the input was
    skipped for the result to count, and one more test says so as an error.
    """
    found: dict[str, list[tuple[Incident, Severity]]] = defaultdict(list)
    for incident in analysis.incidents():
        for symptom in incident.symptoms:
            found[symptom.rule].append((incident, symptom.gravest.severity))
    findings = {each.id: each for each in analysis.findings}
    alarming = ALARMING["error" if fail_on == "error" else "warning"]
    suites = ElementTree.Element("testsuites", name="Causeline")
    suite = ElementTree.SubElement(suites, "testsuite", name=plain(analysis.name))
    if not complete:
        sentences = "\n".join(map(plain, analysis.mostly_skipped))
        error = ElementTree.SubElement(_case(suite, "input"), "error", message="most of the input could not be read")
        error.text = sentences
    for judged in _judged(analysis, only):
        _test(_case(suite, judged["rule"]), judged, found[judged["rule"]], alarming, findings)
    counts = {"tests": "testcase", "failures": "failure", "errors": "error", "skipped": "skipped"}
    for name, tag in counts.items():
        suite.set(name, str(sum(1 for _ in suite.iter(tag))))
    ElementTree.indent(suites)
    document: bytes = ElementTree.tostring(suites, encoding="us-ascii", xml_declaration=True)
    return document.decode()


def _case(suite: ElementTree.Element, name: str) -> ElementTree.Element:
    return ElementTree.SubElement(suite, "testcase", classname="causeline", name=name, time="0")


def _test(
    case: ElementTree.Element,
    judged: RulePayload,
    found: Sequence[tuple[Incident, Severity]],
    alarming: Collection[Severity],
    findings: Mapping[str, Finding],
) -> None:
    """Say in the test of a rule what it found, or that it cannot judge the recording."""
    failing = [incident for incident, severity in found if severity in alarming]
    others = [_described(incident, findings) for incident, severity in found if severity not in alarming]
    if failing:
        titles = [plain(each.title) for each in failing[:_TITLES]]
        more = [f"and {len(failing) - _TITLES} more"] if failing[_TITLES:] else []
        failure = ElementTree.SubElement(case, "failure", message="; ".join([*titles, *more]))
        failure.set("type", min((each.worst.severity for each in failing), key=rank))
        failure.text = "\n\n".join(_described(each, findings) for each in failing)
    elif judged["answer"] == "cannot":
        skipped = ElementTree.SubElement(case, "skipped", message=plain(f"cannot judge: {judged['why']}"))
        skipped.text = _plain_lines(judged["remedy"])
    if judged["answer"] == "part":
        others.append(_plain_lines("\n".join([f"can judge in part: {judged['why']}.", judged["remedy"]])))
    if others:
        ElementTree.SubElement(case, "system-out").text = "\n\n".join(others)


def _described(incident: Incident, findings: Mapping[str, Finding]) -> str:
    """Return an incident as lines: title, course, symptoms, proof of its gravest finding, and what to do."""
    first, last = (documents.timestamp(each) for each in (incident.first, incident.last))
    lines = [incident.title, f"{incident.worst.severity}, {incident.status}, from {first} to {last}"]
    if len(incident.symptoms) > 1:
        lines += [f"- {each.gravest.severity}: {each.title}" for each in incident.symptoms]
    lines.append(f"Effect: {incident.worst.effect_text}.")
    for event in _proof(incident, findings):
        place = f" · {event['file']}:{event['line']}" if event["file"] else ""
        lines.append(f"{_event(event)}{place}")
    return _plain_lines("\n".join([*lines, *incident.advice]))


def _plain_lines(text: str) -> str:
    return "\n".join(map(plain, text.split("\n")))

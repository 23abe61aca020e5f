"""Build the findings document, and the parts of it that describe the source. It does no I/O."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from timeline.core.durations import duration
from timeline.core.entries import ObjectRef, Unknown, moment
from timeline.history.lifelines import public_uid
from timeline.history.world.world import World
from timeline.judging.coverage.judgeable import RuleCoverage, judgeable, judged_in_part
from timeline.judging.coverage.links import LINKS, provable
from timeline.judging.coverage.sources import coverage, partly_read
from timeline.judging.findings import Finding, Occurrence, Proof
from timeline.judging.rulebook import Rule
from timeline.payloads.findings import (
    DocumentPayload,
    FindingPayload,
    FirstDocumentPayload,
    IncidentPayload,
    LinkPayload,
    ObjectPayload,
    ProofPayload,
    RulePayload,
    SecondDocumentPayload,
    SourceDocumentPayload,
    SourcePayload,
    SymptomPayload,
    ThirdSourcePayload,
)


def timestamp(microseconds: int) -> str:
    """Return a time, given in microseconds since 1970, as ISO 8601, UTC, with all six digits of microseconds."""
    return moment(microseconds).isoformat(timespec="microseconds").replace("+00:00", "Z")


def object_payload(ref: ObjectRef) -> ObjectPayload:
    return {
        "group": ref.group,
        "version": ref.version,
        "kind": ref.kind,
        "namespace": ref.namespace,
        "name": ref.name,
        "uid": public_uid(ref),
    }


def proofs(each: Occurrence) -> list[tuple[Proof, int]]:
    """Return the events that prove an occurrence, in commit order, each with the time to show, in microseconds since
    1970.

    The times never decrease. The drawn times could, if a deletion has no time of its own and the creation that followed
    it has one in whole seconds.
    """
    found: list[tuple[Proof, int]] = []
    for proof in reversed(each.proof):
        time = proof.moment.time
        if found and time > found[-1][1]:
            time = max(proof.moment.committed[0], found[-1][1])
        found.append((proof, time))
    return found[::-1]


def proof_payload(proof: Proof, time: int | None = None) -> ProofPayload:
    at = proof.moment
    revision = at.stamp.resource_version
    earliest, latest = at.committed
    return {
        "role": proof.role,
        "resource_version": None if revision is None else str(revision),
        "time": timestamp(at.time if time is None else time),
        "earliest": timestamp(earliest),
        "latest": None if latest is None else timestamp(latest),
        "actor": at.actor or None,
        "user_agent": at.user_agent or None,
        "audit_id": at.identity or None,
        "file": at.place.file if at.place else None,
        "line": at.place.line if at.place else None,
    }


def finding(found: Finding) -> FindingPayload:
    first, last, worst = found.occurrences[0], found.occurrences[-1], found.worst
    payload: FindingPayload = {
        "id": found.id,
        "rule": found.rule,
        "severity": found.severity,
        "verdict": found.verdict.value,
        "status": found.status.value,
        "status_reason": found.status_reason,
        "subject": object_payload(found.subject),
        "other": object_payload(found.other) if found.other else None,
        "effect": worst.effect.value,
        "effect_text": worst.effect_text.replace("{names}", found.subject.name),
        "affects": [object_payload(ref) for ref in found.affects],
        "first_time": timestamp(first.first),
        "last_time": timestamp(last.last),
        "delay_seconds": None if found.delay is None else found.delay / 1e6,
        "delay_bounds": list(found.bounds) if found.bounds else None,
        "count": len(found.occurrences) if found.count is None else found.count,
        "summary": found.summary,
        "why": worst.why,
        "proof": [proof_payload(proof, time) for each in found.occurrences for proof, time in proofs(each)],
        "advice": list(found.advice),
    }
    if cause := found.cause:
        payload["cause"] = {
            "rule": cause.rule,
            "sentence": cause.sentence,
            "proof": [{**proof_payload(each), "object": object_payload(each.ref)} for each in cause.proof],
        }
    return payload


def source_document(world: World, rules: Iterable[Rule], *, shown: bool = True) -> SourceDocumentPayload:
    """Return what was observed of each kind, and what each rule can therefore judge. Without `shown`, findings about
    objects that only a log names are not kept."""
    rows, rules = coverage(world), tuple(rules)
    judged = judgeable(world, [*rules, *LINKS], shown=shown)
    return {
        "coverage": [
            {
                "group": row.group,
                "resource": row.resource,
                "level": row.level,
                "complete": row.complete,
                "from_list": row.from_list,
                "holes": row.holes,
            }
            for row in rows
        ],
        "rules": [_rule(each) for each in _with_failures(judged[: len(rules)], world)],
        "links": list(map(_link, provable(judged[len(rules) :]))),
        "changes": [row.entries for row in rows],
        "namespaces": [list(row.namespaces) for row in rows],
        "clocks": clocks(world),
        "offsets": world.offsets,
    }


def _with_failures(rules: Iterable[RuleCoverage], world: World) -> Iterator[RuleCoverage]:
    """Yield what rules can judge, and on how many objects the judgement itself failed."""
    for each in rules:
        failed = [(key, why) for (rule, key), why in world.failures.items() if rule == each.rule]
        if not failed:
            yield each
            continue
        key, why = failed[0]
        about = f"{key[0].kind} {f'{key[0].namespace}/{key[0].name}'.lstrip('/')}" if key else "what only a log names"
        objects = "1 object" if len(failed) == 1 else f"{len(failed)} objects"
        what = f"its judgement failed on {objects}, such as {about} ({why}), of which it says nothing"
        yield each._replace(why=f"{what}; {each.why}", remedy=each.remedy or _REPORT)


_REPORT = "This is an error in Causeline: report it with this sentence."


def as_read(parts: SourceDocumentPayload, skipped: Iterable[tuple[str, int, str]]) -> SourceDocumentPayload:
    """Return `parts` with the answer of each rule, for a recording with pieces that were skipped.

    `skipped` are (file, line, reason). If any of them was a part of the recording, no rule can judge all of it.
    """
    rules = [RuleCoverage(each["rule"], each["verdict"], each["why"], each["remedy"]) for each in parts["rules"]]
    links = [RuleCoverage(each["link"], each["verdict"], each["why"], each["remedy"]) for each in _links(parts)]
    rows = parts["coverage"]
    if partly_read(skipped):
        rows, rules, links = [{**row, "complete": False} for row in rows], judged_in_part(rules), judged_in_part(links)
    return {
        **parts,
        "coverage": rows,
        "rules": list(map(_answered, rules)),
        "links": [{**_link(each), "answer": each.answer} for each in links],
    }


def _links(parts: SourceDocumentPayload) -> list[LinkPayload]:
    return [each for each in parts.get("links", []) if each["link"] in _SORTS]


def _rule(each: RuleCoverage) -> RulePayload:
    return {"rule": each.rule, "verdict": each.verdict, "why": each.why, "remedy": each.remedy}


_SORTS = {each.id: each for each in LINKS}


def _link(each: RuleCoverage) -> LinkPayload:
    assert each.verdict != "inconclusive"
    sort = _SORTS[each.rule]
    return {
        "link": sort.id,
        "title": sort.title,
        "joins": sort.joins,
        "verdict": each.verdict,
        "why": each.why,
        "remedy": each.remedy,
    }


def _answered(each: RuleCoverage) -> RulePayload:
    return {**_rule(each), "answer": each.answer}


def clocks(world: World) -> list[str]:
    """Return a sentence for each file whose times were corrected because its clock differed, and one for each kind of
    logs that leave open when their lines were written."""
    without = world.logs_without()
    corrected = [
        f"The clock behind {file} was about {duration(abs(ahead))} {'ahead of' if ahead > 0 else 'behind'} the "
        "others', as neighbouring revisions tell; its times are corrected by that."
        for file, ahead in world.offsets.items()
    ]
    undated = (Unknown.YEAR, Unknown.DATE, Unknown.ZONE, Unknown.AGE)
    sentences = [_undated(each, without[each]) for each in undated if each in without]
    return corrected + _misdated(world.misdated) + sentences


def _misdated(number: int) -> list[str]:
    """Return a sentence about the observations that state a time in the future, if there are any."""
    if not number:
        return []
    what = "One observation states" if number == 1 else f"{number} observations state"
    return [
        f"{what} a time that lay in the future when it was read. When it happened is not known: it is drawn where its "
        "revision or its arrival puts it, and moves no clock."
    ]


_BESIDE = (
    "The rest is the last date in the same file, else what was read beside it, else when its archive says that it was"
    " written. Without the rest, the lines are not placed."
)


def _undated(unknown: Unknown, logs: int) -> str:
    many = "one log" if logs == 1 else f"{logs} logs"
    if unknown is Unknown.YEAR:
        return (
            f"The times in {many} have no year and no time zone; they are taken for UTC, in the year that is nearest to"
            f" the end of the rest. {_BESIDE}"
        )
    if unknown is Unknown.DATE:
        return (
            f"The lines of {many} say only a time of day. They are taken for UTC, and their last line for one of the"
            f" day that is nearest to the end of the rest. {_BESIDE}"
        )
    if unknown is Unknown.AGE:
        return (
            f"The lines of {many} say only how long ago they were. They are placed as if the file had been written at"
            " that moment, so each time is the latest that the line may have."
        )
    return f"The times in {many} have no time zone; they are taken for UTC."


def document(
    world: World,
    findings: Iterable[Finding],
    *,
    name: str,
    entries: int,
    skipped: Iterable[tuple[str, int, str]],
    rules: Iterable[Rule],
    incidents: list[IncidentPayload],
) -> DocumentPayload:
    """Return the findings document of a world. `skipped` are (file, line, reason), and `entries` is the number of
    changes."""
    payloads, parts = [finding(found) for found in findings], source_document(world, rules)
    return assembled(payloads, incidents, parts, name, entries, skipped, world.first, world.last)


def mostly_skipped(most: Mapping[str, Sequence[int]]) -> list[str]:
    """Return a sentence for each file whose lines were mostly skipped. `most` has (skipped lines, all lines) by
    file."""
    return [
        f"{file}: {count} of {lines} lines were skipped, so what was found says little of it"
        for file, (count, lines) in sorted(most.items())
    ]


def unlisted(name: str, count: int) -> tuple[str, int, str]:
    """Return the item of the document that counts the skipped lines which are not listed, because there are too
    many."""
    return name, 0, f"{count} more lines were skipped that are not listed one by one"


def assembled(
    findings: list[FindingPayload],
    incidents: list[IncidentPayload],
    parts: SourceDocumentPayload,
    name: str,
    entries: int,
    skipped: Iterable[tuple[str, int, str]],
    first: int,
    last: int,
) -> DocumentPayload:
    """Return the findings document from its parts. `first` and `last` are microseconds since 1970; 0 if nothing was
    observed."""
    skipped = sorted(skipped)
    parts = as_read(parts, skipped)
    source: ThirdSourcePayload = {
        "name": name,
        "entries": entries,
        "skipped": [{"file": file, "line": line, "reason": reason} for file, line, reason in skipped],
        "coverage": parts["coverage"],
        "rules": parts["rules"],
        "links": parts["links"],
        "first": timestamp(first) if first else None,
        "last": timestamp(last) if last else None,
    }
    return {"schema": "causeline.findings/v3", "source": source, "incidents": incidents, "findings": findings}


def second_version(document: DocumentPayload, symptoms: list[SymptomPayload]) -> SecondDocumentPayload:
    """Return the same document in the second version, in which each symptom is an incident."""
    third = document["source"]
    source: SourcePayload = {
        "name": third["name"],
        "entries": third["entries"],
        "skipped": third["skipped"],
        "coverage": third["coverage"],
        "rules": third["rules"],
        "first": third["first"],
        "last": third["last"],
    }
    return {
        "schema": "causeline.findings/v2",
        "source": source,
        "incidents": symptoms,
        "findings": document["findings"],
    }


def first_version(document: SecondDocumentPayload) -> FirstDocumentPayload:
    """Return the same document in the first version, which has no incidents and no causes."""
    findings = [each.copy() for each in document["findings"]]
    for each in findings:
        each.pop("cause", None)
    return {"schema": "causeline.findings/v1", "source": document["source"], "findings": [*findings]}

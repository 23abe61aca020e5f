"""Print an analysis and the rules in a terminal."""

import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce

from collectors.analysis import Analysis, group_by_reason
from collectors.formats import Skipped
from dashboard.cli.terminal import KEPT, Terminal
from dashboard.presentation import wording
from dashboard.presentation.catalogue import sections, written
from timeline.core.actors import KIND, named, short
from timeline.core.durations import Length, duration
from timeline.core.printable import plain
from timeline.judge import rulebook
from timeline.judging.coverage.judgeable import RuleCoverage, judgeable, judged_in_part
from timeline.judging.coverage.links import JOINS, LINKS, provable
from timeline.judging.coverage.sources import CoverageRow, coverage, of_parts, partly_read
from timeline.judging.findings import Finding, Occurrence, digest
from timeline.judging.incidents.subjects import short_name
from timeline.judging.rulebook import Rule, settings
from timeline.judging.verdicts import DELAY
from timeline.payloads import documents
from timeline.payloads.findings import FindingGroupPayload, ProofPayload
from timeline.payloads.incidents import occurrences
from timeline.payloads.incidents.making import Incident

_SKIPPED = 5  # reasons shown; JSON has them all
_SYMPTOMS = 6  # of an incident that are shown; JSON has all of them
_LOGS = 10  # logs of programs that are listed
_EVENTS = 6  # events of a row's proof that are shown, besides the last one; JSON has all of them
_NAMESPACES = 3  # of the objects of an incident that are named
_INDENT = " " * 8


def show_incidents(analysis: Analysis, terminal: Terminal, *, brief: bool = False) -> None:
    """Print the incidents, the gravest first: each with its symptoms and the proof of its gravest occurrence, or in one
    line. Those without harm are only counted, unless each is printed in one line."""
    incidents = analysis.incidents()
    findings = {found.id: found for found in analysis.findings}
    if brief:
        _show_table(incidents, findings, terminal)
        return
    harmful = [each for each in incidents if not wording.harmless(each.worst.severity, each.worst.effect)]
    for incident in harmful:
        _show_incident(incident, analysis, findings, terminal)
    if harmless := len(incidents) - len(harmful):
        more = "more " if harmful else ""
        which = f"{harmless} {more}{wording.plural('incident', harmless)} without harm"
        terminal.wrapped(f"{which}: --brief lists {'it' if harmless == 1 else 'them'}, --findings shows the proof.", "")
        terminal.line()


def _show_incident(incident: Incident, analysis: Analysis, findings: Mapping[str, Finding], terminal: Terminal) -> None:
    gravest = incident.gravest
    groups = _groups(analysis, [findings[each] for each in gravest.findings])
    worst = incident.worst
    group, proof = next(
        (group, proof)
        for group, proof in groups
        if group["end"] == worst.worst.last and worst.id in {each["id"] for each in group["findings"]}
    )
    _show_heading(incident.worst.severity, incident.title, terminal)
    terminal.wrapped(f"{_course(incident)} Effect {group['effect']}: {plain(group['effect_text'])}.", _INDENT)
    rules, where = ", ".join(incident.rules), _where(incident, findings)
    named = f"incident {short_name(incident.id)}"
    terminal.wrapped(f"{named} · {rules} · {where} · {_numbers(incident)}", _INDENT, colour="quiet")
    _show_symptoms(incident, terminal)
    if group["summary"] not in (incident.title, gravest.title):
        terminal.wrapped(f"For example: {plain(group['summary'])}.", _INDENT)
    caused = findings[gravest.caused].cause if gravest.caused else None
    chain = [documents.proof_payload(each) for each in caused.proof] if caused else []
    _show_chain(chain, proof, gravest.cause, terminal)
    terminal.wrapped(plain(group["why"]), _INDENT)
    _show_proof(proof, incident.advice, terminal)


def _show_symptoms(incident: Incident, terminal: Terminal) -> None:
    """Print the first symptoms of an incident that has several, the gravest first, and count the others by rule."""
    if len(incident.symptoms) == 1:
        return
    for each in incident.symptoms[:_SYMPTOMS]:
        terminal.wrapped(f"- {each.gravest.severity}: {plain(each.title)}", _INDENT, "  ")
    if others := Counter(each.rule for each in incident.symptoms[_SYMPTOMS:]):
        of_rules = ", ".join(f"{count} of {rule}" for rule, count in others.items())
        terminal.wrapped(f"- {others.total()} more {wording.plural('symptom', others.total())}: {of_rules}", _INDENT)


def _where(incident: Incident, findings: Mapping[str, Finding]) -> str:
    """Return the namespace of an incident; of one about an actor, which has none, those of the objects concerned."""
    subjects = {findings[each].subject.namespace for each in incident.findings}
    anchors = [each.anchor for each in incident.symptoms]
    actors = any(each.kind == KIND and not each.namespace for each in anchors)
    names = subjects if actors else {each.namespace for each in anchors}
    shown = [plain(each or "cluster") for each in sorted(names)]
    return ", ".join(shown[:_NAMESPACES]) + (f" and {len(shown) - _NAMESPACES} more" if shown[_NAMESPACES:] else "")


def _show_table(incidents: Sequence[Incident], findings: Mapping[str, Finding], terminal: Terminal) -> None:
    """Print a line for each incident: severity, name, last time, state, number of symptoms, namespace and title."""
    for each in incidents:
        last = _time(documents.timestamp(each.last))[:19] + "Z"
        state = "ongoing" if each.open else "over"
        symptoms, where = _counted(len(each.symptoms), "symptom"), _where(each, findings)
        severity = terminal.paint(f"{each.worst.severity:<7}", each.worst.severity)
        terminal.line(
            f"{severity} {short_name(each.id)} {last} {state:<7} {symptoms:>11}  {where}: {plain(each.title)}"
        )
    if incidents:
        terminal.line()


def _course(incident: Incident) -> str:
    """Return when an incident happened, for how long, and whether it went on when the recording ended: "Since
    2026-11-21T07:52:00.841106Z for 6.4 s, over."."""
    first, lasted = _time(documents.timestamp(incident.first)), incident.last - incident.first
    span = f"Since {first} for {duration(lasted)}" if lasted else f"At {first}"
    return f"{span}, {'ongoing when the recording ends' if incident.open else 'over'}."


def _numbers(incident: Incident) -> str:
    """Return the same counts that every page shows: "13 symptoms · 50 findings"."""
    return f"{_counted(len(incident.symptoms), 'symptom')} · {_counted(len(incident.findings), 'finding')}"


def _counted(count: int, word: str) -> str:
    return f"{count} {wording.plural(word, count)}"


def show_findings(analysis: Analysis, terminal: Terminal) -> None:
    """Print the findings, a row for all subjects of an event, errors first."""
    for group, proof in _groups(analysis, analysis.findings):
        _show_group(group, proof, terminal)


def show_input(analysis: Analysis, terminal: Terminal, *, with_coverage: bool, only: Sequence[str] = ()) -> None:
    """Print what was read, what was skipped, and which rules could judge it. `only`: these rules."""
    rows = coverage(analysis.world)
    rules = [rule for rule in rulebook() if not only or rule.id in only]
    found = judgeable(analysis.world, [*rules, *LINKS])
    judged, links = found[: len(rules)], provable(found[len(rules) :])
    if partly_read(each.place for each in analysis.skipped):
        rows, judged, links = of_parts(rows), judged_in_part(judged), judged_in_part(links)
    if with_coverage:
        _show_coverage(rows, judged, links, terminal)
        _show_logs(analysis.world.lines_of_logs(), terminal)
        terminal.wrapped(f"{wording.redacted(analysis.redacted or {})} None of it is stored.", "")
        terminal.line()
    show_skipped(analysis.skipped, analysis.skips, terminal, "--output json lists them")
    for clock in analysis.clocks:
        terminal.wrapped(plain(clock), "")
    terminal.wrapped(_summary(analysis), "")
    if not with_coverage and analysis.world.seen:
        _show_lack(judged, terminal)


def _show_logs(lines: Mapping[str, int], terminal: Terminal) -> None:
    """Print the logs of programs that were read, those with the most lines first."""
    if not lines:
        return
    terminal.line(terminal.paint("Logs of programs", "title"))
    shown = sorted(lines.items(), key=lambda each: (-each[1], each[0]))
    for log, count in shown[:_LOGS]:
        terminal.wrapped(f"{plain(log)}: {wording.count(count)} {wording.plural('line', count)}", "", "    ")
    if len(shown) > _LOGS:
        terminal.line(f"and {len(shown) - _LOGS} more")
    terminal.line()


def _show_lack(judged: Sequence[RuleCoverage], terminal: Terminal) -> None:
    """Print how many rules could not judge, so that no finding is not taken for proof."""
    if lack := wording.lack([each.answer for each in judged]):
        terminal.wrapped(f"{lack}; --coverage says why, and what would help.", "")


def show_skipped(skipped: Iterable[Skipped], count: int, terminal: Terminal, more: str) -> None:
    """Print what was skipped, with the reasons; `count` pieces in all. `more` says where the others are listed."""
    shown = group_by_reason(skipped)[:_SKIPPED]
    for first, *others in shown:
        too = f" and {len(others)} more" if others else ""
        where = f"{first.file} line {first.line}{too}" if first.line else first.file
        terminal.wrapped(f"skipped {plain(f'{where}: {first.reason}')}", "")
    if left := count - sum(map(len, shown)):
        terminal.line(f"skipped {left} more; {more}")


def _groups(
    analysis: Analysis, findings: Sequence[Finding]
) -> Iterator[tuple[FindingGroupPayload, list[ProofPayload]]]:
    """Yield rows with their proof. Findings about several subjects that ended with the same event make one row."""
    rows = []
    members: dict[str, list[Occurrence]] = {}
    for found in findings:
        rows.append(occurrences.stored(found, analysis.world.id_of)._replace(places=analysis.places.get(found.id, ())))
        for each, one in zip(found.occurrences, rows[-1].occurrences, strict=True):
            alike = f"{each.headline} {each.effect_text} {found.severity} {found.status} {each.last} {found.alone}"
            one["group"] = digest(found.rule, found.other, found.subject.namespace, alike)
            members.setdefault(one["group"], []).append(each)
    for group, *_ in occurrences.rows(rows):
        alike_ones = members[group["key"]]
        intervals = {each.interval for each in alike_ones if each.interval}
        if len({each.length for each in alike_ones}) == 1 or not intervals:
            yield group, group["proof"]
            continue
        group["summary"] += f", by {reduce(Length.within, intervals).certain}"
        group["why"] = group["why"].partition(DELAY)[0]
        yield group, _proof_of_all(alike_ones)


def _proof_of_all(occurrences: Sequence[Occurrence]) -> list[ProofPayload]:
    events = {(proof.moment.at, proof.ref.name, proof.role): proof for each in occurrences for proof in each.proof}
    ordered = [events[key] for key in sorted(events)]
    return [
        {**documents.proof_payload(proof), "role": f"{proof.ref.name}: {proof.role}"}
        for proof in [*ordered[:_EVENTS], *ordered[_EVENTS:][-1:]]
    ]


def _show_group(group: FindingGroupPayload, proof: Sequence[ProofPayload], terminal: Terminal) -> None:
    _show_heading(group["severity"], group["summary"], terminal)
    where = plain(group["namespace"] or "cluster")
    terminal.line(_INDENT + terminal.paint(f"{group['rule']} · {where} · {group['status']}", "quiet"))
    chain = next((found["cause"]["proof"] for found in group["findings"] if "cause" in found), [])
    _show_chain(chain, proof, group["cause"], terminal)
    terminal.wrapped(f"{plain(group['why'])} Effect: {plain(group['effect_text'])}.", _INDENT)
    _show_proof(proof, group["advice"], terminal)


def _show_heading(severity: str, title: str, terminal: Terminal) -> None:
    head, *more = textwrap.wrap(plain(title), terminal.width - len(_INDENT), break_long_words=False)
    terminal.line(terminal.paint(f"{severity:<{len(_INDENT)}}", severity) + terminal.paint(head, "title"))
    for line in more:
        terminal.line(_INDENT + terminal.paint(line, "title"))


def _show_chain(chain: Sequence[ProofPayload], proof: Sequence[ProofPayload], cause: str, terminal: Terminal) -> None:
    """Print what is behind a row, where that is proven, with the events of that which the row does not have."""
    if cause:
        terminal.wrapped(f"Cause: {plain(cause)}", _INDENT)
    shown = {event["audit_id"] for event in proof}
    for event in chain:
        if event["audit_id"] not in shown:
            terminal.wrapped(_proof(event), _INDENT, "  ")


def _show_proof(proof: Sequence[ProofPayload], advice: Iterable[str], terminal: Terminal) -> None:
    """Print the events of a proof, and what to do."""
    for event in proof:
        terminal.wrapped(_proof(event), _INDENT, "  ")
    for line in advice:
        terminal.wrapped(f"→ {plain(line)}", _INDENT, "  ")
    terminal.line()


def _proof(proof: ProofPayload) -> str:
    """Return the event of a proof as a line that wraps only between its parts."""
    revision = f"revision {proof['resource_version']}" if proof["resource_version"] else "no revision"
    place = f"{proof['file']}:{proof['line']}" if proof["file"] else ""
    who = short(named(proof["actor"], proof["user_agent"]))
    time = wording.instant(proof["time"], proof["earliest"], proof["latest"])
    later = " or later" if proof["earliest"] and not proof["latest"] else ""
    parts = filter(None, [f"{proof['time'][:11]}{time}Z{later}", proof["role"], revision, who, place])
    return f"{KEPT}· ".join(plain(part).replace(" ", KEPT) for part in parts)


def _time(clock: str) -> str:
    """Return a time without a fraction if its clock counts whole seconds."""
    return clock.replace(".000000Z", "Z")


def _show_coverage(
    rows: Sequence[CoverageRow], judged: Sequence[RuleCoverage], links: Sequence[RuleCoverage], terminal: Terminal
) -> None:
    names = [row.name for row in rows]
    wide = max(10, min(max(map(len, names), default=0), terminal.width - 42))
    terminal.line(terminal.paint(f"{'Seen':<{wide}}  {'seen in':<16} {'followed':<11}changes", "title"))
    for name, row in zip(names, rows, strict=True):
        short = plain(name if len(name) <= wide else f"{name[: wide - 1]}…")
        lost = f", {row.holes} missing" if row.holes else ""
        terminal.line(f"{short:<{wide}}  {row.level:<16} {row.followed:<11}{row.entries}{lost}")
    terminal.line()
    terminal.line(terminal.paint("Rules", "title"))
    for each in judged:
        terminal.line(f"{each.rule:<28}{each.words}")
        if each.remedy:
            terminal.wrapped(f"{plain(each.why)}.", "    ", colour="quiet")
    terminal.line()
    terminal.line(terminal.paint("What can be joined to one cause", "title"))
    for sort, each in zip(LINKS, links, strict=True):
        terminal.line(f"{sort.title:<28}{JOINS[each.answer]}")
        if each.remedy:
            terminal.wrapped(f"{plain(each.why)}.", "    ", colour="quiet")
    terminal.line()
    _show_remedies((each.remedy for each in (*judged, *links)), terminal)


def _show_remedies(texts: Iterable[str], terminal: Terminal) -> None:
    """Print each remedy on a line of its own, to copy."""
    for heading, lines in wording.remedies(texts):
        terminal.line(terminal.paint(heading, "title"))
        for line in lines:
            terminal.line(plain(line))
        terminal.line()


def _summary(analysis: Analysis) -> str:
    """Return how much was found in how much: "1 incident · 13 symptoms · 50 findings (5 errors, …) in 775 changes from
    … to …"."""
    findings = analysis.findings
    counts = {name: sum(found.severity == name for found in findings) for name in ("error", "warning", "info")}
    severities = ", ".join(
        f"{count} {name}{'s' if count != 1 and name != 'info' else ''}" for name, count in counts.items() if count
    )
    incidents = analysis.incidents()
    symptoms = sum(len(each.symptoms) for each in incidents)
    numbers = ((len(incidents), "incident"), (symptoms, "symptom"), (len(findings), "finding"))
    found = " · ".join(_counted(count, word) for count, word in numbers)
    world = analysis.world
    first, last = (_time(documents.timestamp(time)) for time in (world.first, world.last))
    span = f" from {first} to {last}" if world.first else ""
    severe = f" ({severities})" if severities else ""
    reviews = "1 review shows" if analysis.reviews == 1 else f"{analysis.reviews} reviews show"
    unsure = f"{reviews} no change; " if analysis.reviews else ""
    return f"{found}{severe} in {analysis.entries} changes{span}; {unsure}{analysis.skips} skipped."


def show_rules(terminal: Terminal) -> None:
    for rule in rulebook():
        terminal.line(f"{terminal.paint(f'{rule.id:<28}', 'title')} {rule.title}")


def show_rule(rule: Rule, terminal: Terminal) -> None:
    terminal.wrapped(f"{rule.id}: {rule.title}", "", colour="title")
    for section in sections(rule):
        terminal.line()
        terminal.line(terminal.paint(section.heading, "title"))
        for pieces in section.paragraphs:
            terminal.wrapped(written(pieces), "")
        for pieces in section.points:
            terminal.wrapped(f"- {written(pieces)}", "", "  ")
    own = [setting for setting in settings.values() if setting.rule == rule.id]
    if own:
        terminal.line()
        terminal.line(terminal.paint("Settings", "title"))
        for setting in own:
            terminal.line(f"{setting.variable} = {setting.value:g}{' ' + setting.unit if setting.unit else ''}")
            terminal.wrapped(setting.meaning, "    ")

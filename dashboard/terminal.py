"""What an analysis found, as a person reads it in a terminal."""

import os
import re
import shutil
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import TextIO

from collectors.analysis import Analysis
from collectors.formats import Reading
from timeline import documents
from timeline.coverage import POLICY, CoverageRow, RuleCoverage, coverage, judgeable
from timeline.judge import rulebook
from timeline.payloads import FindingGroupPayload, ProofPayload
from timeline.rulebook import Finding, Occurrence, Rule, digest, settings
from timeline.verdicts import DELAY, duration

_COLOURS = {"error": "31;1", "warning": "33;1", "info": "36", "title": "1", "quiet": "2"}
_SKIPPED = 5  # reasons shown; JSON has them all
_EVENTS = 6  # of a row's proof shown, and the last; JSON has them all
_INDENT = " " * 8
_COMMAND = re.compile(r"`[^`]*`")
_KEPT = "\0"  # stands for a space at which no line is broken


class Terminal:
    """A stream with its width, and colours where it is a terminal that wants them."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.width = min(120, max(40, shutil.get_terminal_size((100, 24)).columns))
        self._colours = stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"

    def paint(self, text: str, colour: str) -> str:
        return f"\033[{_COLOURS[colour]}m{text}\033[0m" if self._colours else text

    def line(self, text: str = "") -> None:
        print(text, file=self._stream)

    def wrapped(self, text: str, indent: str, hanging: str = "", colour: str = "") -> None:
        """In lines of the terminal's width; a command in backticks stays in one line, so that it can be copied."""
        whole = _COMMAND.sub(lambda found: found[0].replace(" ", _KEPT), text)
        for line in textwrap.wrap(
            whole,
            self.width,
            initial_indent=indent,
            subsequent_indent=indent + hanging,
            break_on_hyphens=False,
            break_long_words=False,
        ):
            shown = line.replace(_KEPT, " ")
            self.line(self.paint(shown, colour) if colour else shown)


def show(
    analysis: Analysis,
    findings: Sequence[Finding],
    terminal: Terminal,
    *,
    with_coverage: bool,
    only: Sequence[str] = (),
) -> None:
    """The findings, one row for all whom one befell alike, errors first; then what was read. `only`: of these rules."""
    groups = list(_groups(analysis, findings))
    for group, proof in groups:
        _show_group(group, proof, terminal)
    rows = coverage(analysis.world)
    judged = judgeable(rows, [rule for rule in rulebook() if not only or rule.id in only])
    if with_coverage:
        _show_coverage(rows, judged, terminal)
    _show_skipped(analysis, terminal)
    for clock in analysis.clocks:
        terminal.wrapped(_plain(clock), "")
    terminal.wrapped(_summary(analysis, findings, len(groups)), "")
    if not with_coverage and analysis.world.seen:
        _show_lack(judged, terminal)


def _show_lack(judged: Sequence[RuleCoverage], terminal: Terminal) -> None:
    """That no finding may mean nothing is said before anybody asks."""
    blind = sum(each.verdict == "not" for each in judged)
    partly = sum(each.verdict != "not" and bool(each.remedy) for each in judged)
    told = [f"{blind} of {len(judged)} rules have nothing to judge by in this recording"] if blind else []
    if partly:
        told.append(f"{partly} only in part" if blind else f"{partly} of {len(judged)} rules judge it only in part")
    if told:
        terminal.wrapped(f"{', '.join(told)}; --coverage says why, and what would help.", "")


def _show_skipped(analysis: Analysis, terminal: Terminal) -> None:
    shown = analysis.skipped_alike()[:_SKIPPED]
    for first, *others in shown:
        more = f" and {len(others)} more" if others else ""
        where = f"{first.file} line {first.line}{more}" if first.line else first.file
        terminal.wrapped(f"skipped {_plain(f'{where}: {first.reason}')}", "")
    if more_skips := analysis.skips - sum(map(len, shown)):
        terminal.line(f"skipped {more_skips} more; --output json tells them")


def _groups(
    analysis: Analysis, findings: Sequence[Finding]
) -> Iterator[tuple[FindingGroupPayload, list[ProofPayload]]]:
    """Rows with their proof. Those that one event ended alike for several make one row, whenever each began."""
    rows = []
    members: dict[str, list[Occurrence]] = {}
    for found in findings:
        told = [documents.occurrence(found, each, analysis.world, {}) for each in found.occurrences]
        for each, one in zip(found.occurrences, told, strict=True):
            alike = f"{each.headline} {each.effect_text} {found.severity} {found.status} {each.last}"
            one["group"] = digest(found.rule, found.other, found.subject.namespace, alike)
            members.setdefault(one["group"], []).append(each)
        rows.append((documents.finding(found), told, 0))
    for group in documents.finding_groups(rows, analysis.world.first, analysis.world.last):
        alike_ones = members[group["key"]]
        lengths = sorted(each.length for each in alike_ones)
        if lengths[0] == lengths[-1]:
            yield group, group["proof"]
            continue
        group["summary"] += f", by {duration(lengths[0])} to {duration(lengths[-1])}"
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
    where = _plain(group["namespace"] or "cluster")
    head, *more = textwrap.wrap(_plain(group["summary"]), terminal.width - len(_INDENT), break_long_words=False)
    severity = terminal.paint(f"{group['severity']:<{len(_INDENT)}}", group["severity"])
    terminal.line(severity + terminal.paint(head, "title"))
    for line in more:
        terminal.line(_INDENT + terminal.paint(line, "title"))
    terminal.line(_INDENT + terminal.paint(f"{group['rule']} · {where} · {group['status']}", "quiet"))
    terminal.wrapped(f"{_plain(group['why'])} Effect: {_plain(group['effect_text'])}.", _INDENT)
    for event in proof:
        terminal.wrapped(_proof(event), _INDENT, "  ")
    for advice in group["advice"]:
        terminal.wrapped(f"→ {_plain(advice)}", _INDENT, "  ")
    terminal.line()


def _proof(proof: ProofPayload) -> str:
    """Its parts stay whole where the line is broken."""
    revision = f"revision {proof['resource_version']}" if proof["resource_version"] else "no revision"
    place = f"{proof['file']}:{proof['line']}" if proof["file"] else ""
    program = (proof["user_agent"] or "").partition(" ")[0]  # behind it stand its platform and its build
    who = " with ".join(filter(None, [proof["actor"], program]))
    parts = filter(None, [_time(proof["time"]), proof["role"], revision, who, place])
    return f"{_KEPT}· ".join(_plain(part).replace(" ", _KEPT) for part in parts)


def _time(told: str) -> str:
    """Of a clock that counts whole seconds no more than those."""
    return told.replace(".000000Z", "Z")


def _show_coverage(rows: Sequence[CoverageRow], judged: Sequence[RuleCoverage], terminal: Terminal) -> None:
    names = [row.name for row in rows]
    wide = max(10, min(max(map(len, names), default=0), terminal.width - 42))
    terminal.line(terminal.paint(f"{'Seen':<{wide}}  {'told by':<16} {'followed':<11}changes", "title"))
    for name, row in zip(names, rows, strict=True):
        short = _plain(name if len(name) <= wide else f"{name[: wide - 1]}…")
        lost = f", {row.holes} missing" if row.holes else ""
        terminal.line(f"{short:<{wide}}  {row.level:<16} {row.followed:<11}{row.entries}{lost}")
    terminal.line()
    terminal.line(terminal.paint("Rules", "title"))
    for each in judged:
        terminal.line(f"{each.rule:<28}{each.told}")
        if each.remedy:
            terminal.wrapped(f"{_plain(each.why)}.", "    ", colour="quiet")
    terminal.line()
    _show_remedies(dict.fromkeys(line for each in judged for line in each.remedy.splitlines()), terminal)


def _show_remedies(remedies: Iterable[str], terminal: Terminal) -> None:
    """Each once, in a line of its own to copy, however many rules lack it."""
    headings: dict[str, list[str]] = {}
    for remedy in remedies:
        if remedy.startswith(POLICY):
            heading = "In the audit policy, among its first rules"
        elif remedy.startswith("kubectl"):
            heading = "With kubectl, each into a file of its own, and all of them analysed together"
        else:
            heading = "With more files"
        headings.setdefault(heading, []).append(remedy.removeprefix(POLICY))
    for heading, lines in headings.items():
        terminal.line(terminal.paint(heading, "title"))
        for line in lines:
            terminal.line(_plain(line))
        terminal.line()


def _summary(analysis: Analysis, findings: Sequence[Finding], shown: int) -> str:
    counts = {name: sum(found.severity == name for found in findings) for name in ("error", "warning", "info")}
    told = ", ".join(f"{count} {name}{'s' if count != 1 and name != 'info' else ''}" for name, count in counts.items())
    rows = f", told in {shown} row{'s' if shown != 1 else ''}," if shown != len(findings) else ""
    world = analysis.world
    span = f" from {_time(documents.timestamp(world.first))} to {_time(documents.timestamp(world.last))}"
    return f"{told}{rows} in {analysis.entries} changes{span if world.first else ''}; {analysis.skips} skipped."


def show_rules(terminal: Terminal) -> None:
    for rule in rulebook():
        terminal.line(f"{terminal.paint(f'{rule.id:<28}', 'title')} {rule.title}")


def show_rule(rule: Rule, terminal: Terminal) -> None:
    terminal.wrapped(f"{rule.id}: {rule.title}", "", colour="title")
    for paragraph in rule.page.partition("\n")[2].split("\n\n"):
        text = " ".join(paragraph.split())
        if text.startswith("## "):
            terminal.line()
            terminal.line(terminal.paint(text.removeprefix("## "), "title"))
        elif text:
            terminal.wrapped(text, "")
    own = [setting for setting in settings.values() if setting.rule == rule.id]
    if own:
        terminal.line()
        terminal.line(terminal.paint("Settings", "title"))
        for setting in own:
            terminal.line(f"{setting.variable} = {setting.value:g}{' ' + setting.unit if setting.unit else ''}")
            terminal.wrapped(setting.meaning, "    ")


class Progress:
    """One line on a terminal that says how far the reading is; nothing elsewhere."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._shown = stream.isatty()

    def __call__(self, reading: Reading, entries: int) -> None:
        if self._shown:
            share = f"{100 * reading.bytes_read // reading.bytes_total} % · " if reading.bytes_total else ""
            print(f"\r{share}{entries} changes read", end="", file=self._stream, flush=True)

    def end(self) -> None:
        if self._shown:
            print("\r\033[K", end="", file=self._stream, flush=True)


def _plain(text: str) -> str:
    """Names come from recordings: what would move the cursor or change colours is shown, not obeyed."""
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in text)

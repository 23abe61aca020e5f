"""What an analysis found, as a person reads it in a terminal."""

import os
import shutil
import textwrap
from collections.abc import Sequence
from typing import TextIO

from collectors.analysis import Analysis
from collectors.formats import Reading, Skipped
from timeline import documents
from timeline.coverage import coverage, judgeable
from timeline.judge import rulebook
from timeline.payloads import FindingGroupPayload, ProofPayload
from timeline.rulebook import Finding, Rule, settings

_COLOURS = {"error": "31;1", "warning": "33;1", "info": "36", "title": "1", "quiet": "2"}
_SKIPPED = 5  # reasons shown; JSON has them all


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

    def wrapped(self, text: str, indent: str) -> None:
        for line in textwrap.wrap(
            text, self.width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
        ):
            self.line(line)


def show(analysis: Analysis, findings: Sequence[Finding], terminal: Terminal, *, with_coverage: bool) -> None:
    """The findings, one row for all whom one befell alike, errors first; then what was read."""
    for group in _groups(analysis, findings):
        _show_group(group, terminal)
    if with_coverage:
        _show_coverage(analysis, terminal)
    _show_skipped(analysis, terminal)
    terminal.line(_summary(analysis, findings))


def _show_skipped(analysis: Analysis, terminal: Terminal) -> None:
    """First what is more than a line; lines of one file that are skipped for one reason together."""
    alike: dict[tuple[str, str], list[Skipped]] = {}
    for skipped in sorted(analysis.skipped, key=lambda each: each.line > 0):
        alike.setdefault((skipped.file, skipped.reason), []).append(skipped)
    shown = list(alike.values())[:_SKIPPED]
    for first, *others in shown:
        more = f" and {len(others)} more" if others else ""
        where = f"{first.file} line {first.line}{more}" if first.line else first.file
        terminal.wrapped(f"skipped {_plain(f'{where}: {first.reason}')}", "")
    if more_skips := analysis.skips - sum(map(len, shown)):
        terminal.line(f"skipped {more_skips} more; --output json tells them")


def _groups(analysis: Analysis, findings: Sequence[Finding]) -> list[FindingGroupPayload]:
    rows = [
        (
            documents.finding(found),
            [documents.occurrence(found, each, analysis.world, {}) for each in found.occurrences],
            0,
        )
        for found in findings
    ]
    return documents.finding_groups(rows, analysis.world.first, analysis.world.last)


def _show_group(group: FindingGroupPayload, terminal: Terminal) -> None:
    severity = terminal.paint(f"{group['severity']:<7}", group["severity"])
    where = _plain(group["namespace"] or "cluster")
    terminal.line(f"{severity} {terminal.paint(_plain(group['summary']), 'title')}")
    terminal.line(terminal.paint(f"        {group['rule']} · {where} · {group['status']}", "quiet"))
    terminal.wrapped(f"{group['why']} Effect: {_plain(group['effect_text'])}.", "        ")
    for proof in group["proof"]:
        terminal.line(f"        {_plain(_proof(proof))}")
    for advice in group["advice"]:
        terminal.wrapped(f"→ {_plain(advice)}", "        ")
    terminal.line()


def _proof(proof: ProofPayload) -> str:
    revision = f"revision {proof['resource_version']}" if proof["resource_version"] else "no revision"
    place = f"{proof['file']}:{proof['line']}" if proof["file"] else ""
    return " · ".join(filter(None, [proof["time"], proof["role"], revision, proof["actor"] or "", place]))


def _show_coverage(analysis: Analysis, terminal: Terminal) -> None:
    rows = coverage(analysis.world)
    terminal.line(terminal.paint("Seen", "title"))
    for row in rows:
        name = f"{row.resource}.{row.group}" if row.group else row.resource
        state = "complete" if row.complete else "with gaps" if row.level != "list" else "one moment"
        terminal.line(f"  {name:<55} {row.level:<16} {state:<10} {row.entries:>8}")
    terminal.line(terminal.paint("Rules", "title"))
    for each in judgeable(rows, rulebook()):
        terminal.line(f"  {each.rule:<28} {'cannot judge' if each.verdict == 'not' else each.verdict}")
        if each.remedy:
            terminal.wrapped(f"{each.why}. {each.remedy}", "      ")
    terminal.line()


def _summary(analysis: Analysis, findings: Sequence[Finding]) -> str:
    counts = {name: sum(found.severity == name for found in findings) for name in ("error", "warning", "info")}
    told = ", ".join(f"{count} {name}{'s' if count != 1 and name != 'info' else ''}" for name, count in counts.items())
    world = analysis.world
    span = f" from {documents.timestamp(world.first)} to {documents.timestamp(world.last)}" if world.first else ""
    return f"{told} in {analysis.entries} changes{span}; {analysis.skips} skipped."


def show_rules(terminal: Terminal) -> None:
    for rule in rulebook():
        terminal.line(f"{terminal.paint(f'{rule.id:<28}', 'title')} {rule.title}")


def show_rule(rule: Rule, terminal: Terminal) -> None:
    terminal.line(terminal.paint(rule.id, "title"))
    for line in rule.page.splitlines():
        terminal.line(terminal.paint(line.removeprefix("## "), "title") if line.startswith("## ") else line)
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

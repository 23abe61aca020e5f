"""Print what changed before a time or an incident, without a server. Modules are imported late, to start quickly."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dashboard import environment
from dashboard.cli import arguments
from dashboard.cli.compare import lives_of, owner_named
from dashboard.cli.output import writing_standard_output
from dashboard.cli.reading import accepted, print_json, reading
from dashboard.cli.terminal import Terminal
from timeline.core.printable import plain

if TYPE_CHECKING:
    import argparse

    from collectors.analysis import Analysis
    from timeline.judging.incidents.changes import Known, Surroundings
    from timeline.payloads.changes import ChangesPayload

_INCIDENTS = 50  # the most incidents for which the changes before them are listed
_OF_INCIDENT = 5  # the most sets of changes that the table lists for each of them
_WRITES = 5  # the most writes of a set that the table lists
_INDENT = " " * 4


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command and its options."""
    command = commands.add_parser(
        "changes",
        help="say what people changed before a time, or before each incident",
        epilog="Exit status: 0 printed, 2 input or command not understood, or most of an input skipped.",
    )
    arguments.files(command)
    command.add_argument(
        "--before",
        metavar="TIME",
        help="list what changed before this time, such as 2026-11-21T07:52:00Z (before each incident)",
    )
    command.add_argument(
        "--about", metavar="NS/KIND/NAME", help="rank by the distance from this object (before its end)"
    )
    command.add_argument(
        "--minutes",
        type=arguments.whole(1, 1_440),
        default=30,
        help="how many minutes to look back, up to a day (%(default)s)",
    )
    command.add_argument(
        "--limit", type=arguments.whole(1, 1_000), default=20, help="the most changes to list (%(default)s)"
    )
    command.add_argument("--output", choices=["table", "json"], default="table", help="text or JSON (%(default)s)")
    arguments.allow_skipped(command)
    command.set_defaults(run=changes)


def changes(options: argparse.Namespace) -> int:
    """Print what changed before a time, or before each incident.

    Return the exit status: 0 printed, 2 the input or the command is not understood, or most of it was skipped.
    """
    from collectors.analysis import analyse
    from dashboard.web.timestamps import parsed

    with reading() as progress:
        at = parsed(options.before) if options.before else None
        about = owner_named(options.about) if options.about else None
        files = [(Path(name), name) for name in options.files]
        analysis = analyse(files, environment.limits(), progress, intents=True)
        tracks = lives_of(analysis.world, about, analysis.name) if about else ()
    options.analysis = analysis  # keeps the world alive until the process ends: see `reading.leave`
    with writing_standard_output():
        _print(analysis, options, at, tracks)
    return 0 if accepted(analysis.mostly_skipped, allowed=options.allow_skipped) else 2


def _print(analysis: Analysis, options: argparse.Namespace, at: int | None, tracks: Any) -> None:
    from timeline.judging.incidents.changes import known_changes, surroundings

    known = known_changes(analysis.world)
    if at is None and not tracks:
        _print_incidents(analysis, known, options)
        return
    around = surroundings(analysis.world, tracks) if tracks else None
    if at is None:
        at = max(track.until or analysis.world.last for track in tracks)
    found = _before(known, at, around, options)
    if options.output == "json":
        print_json(found)
    else:
        _show(found, Terminal(sys.stdout), "")


def _before(known: list[Known], at: int, around: Surroundings | None, options: argparse.Namespace) -> ChangesPayload:
    from timeline.judging.incidents.changes import before
    from timeline.payloads import changes

    return changes.changes(before(known, at, options.minutes, around), at, options.minutes, limit=options.limit)


def _print_incidents(analysis: Analysis, known: list[Known], options: argparse.Namespace) -> None:
    """Print what changed before each incident, the gravest incident first."""
    from timeline.payloads.changes import before_incident
    from timeline.payloads.documents import timestamp

    findings = {each.id: each for each in analysis.findings}
    rows: list[dict[str, Any]] = []
    for incident in analysis.incidents()[:_INCIDENTS]:
        members = [findings[each] for each in incident.findings]
        found = before_incident(analysis.world, known, incident, members, minutes=options.minutes, limit=options.limit)
        rows.append(
            {
                "id": incident.id,
                "rule": incident.gravest.rule,
                "severity": incident.worst.severity,
                "title": incident.title,
                "start": timestamp(incident.first),
                **found,
            }
        )
    if options.output == "json":
        print_json({"incidents": rows})
        return
    terminal = Terminal(sys.stdout)
    for row in rows:
        terminal.line(terminal.paint(f"{row['severity']}: {plain(row['title'])}", row["severity"]))
        _show({**row, "changes": row["changes"][:_OF_INCIDENT]}, terminal, "  ")  # type: ignore[typeddict-item]
    if not rows:
        terminal.line("No incident was found. --before TIME lists what changed before a time.")


def _show(found: ChangesPayload, terminal: Terminal, indent: str) -> None:
    """Print sets of changes as text."""
    from dashboard.presentation.changes_before import minutes, nothing, rows

    before = f"before {found['before'][:23].replace('T', ' ')} UTC, in {minutes(found['minutes'])}"
    if not found["changes"]:
        terminal.wrapped(f"{nothing(found)} ({before})", indent)
        terminal.line()
        return
    terminal.line(terminal.paint(f"{indent}What changed {before}", "quiet"))
    for number, row in enumerate(rows(found), 1):
        terminal.wrapped(f"{number}. {plain(row.text)}", indent, "   ")
        near = [row.when, row.near, plain(row.where), plain(row.who), row.time]
        terminal.wrapped(" · ".join(filter(None, near)), f"{indent}{_INDENT}", colour="quiet")
        for each in row.writes[1:_WRITES]:
            terminal.wrapped(f"+ {plain(each.text)}", f"{indent}{_INDENT}", "  ")
        if (rest := max(0, len(row.writes) - _WRITES) + row.writes_more) > 0:
            terminal.line(f"{indent}{_INDENT}+ {rest} more; --output json has them")
        if row.steps:
            last = row.steps[-1]
            terminal.wrapped(
                f"{row.steps_words}; the last one listed: {plain(last.text)} at {last.time}",
                f"{indent}{_INDENT}",
                "  ",
            )
    if (more := found["total"] - len(found["changes"])) > 0:
        terminal.line(f"{indent}and {more} more; --limit shows more of them")
    terminal.line()

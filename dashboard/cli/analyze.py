"""Judge recordings without servers and a database. Modules are imported late, to start quickly."""

from __future__ import annotations

import gc
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from dashboard import environment
from dashboard.cli import arguments
from dashboard.cli.output import writable, write, writing_standard_output
from dashboard.cli.reading import accepted, print_json, reading
from dashboard.cli.terminal import Terminal, give_up, say

if TYPE_CHECKING:
    import argparse

    from collectors.analysis import Analysis


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the commands and their options."""
    command = commands.add_parser(
        "analyze",
        parents=[arguments.judging()],
        help="judge recordings without a server and a database",
        epilog="Exit status: 0 nothing at or above the threshold, 1 findings, 2 input or command not understood, "
        "or most of an input skipped.",
    )
    command.add_argument(
        "--output",
        choices=["table", "json", "sarif", "junit"],
        default="table",
        help="a table to read, the findings document, or what CI systems read: SARIF with a result for each incident, "
        "or JUnit XML with a test for each rule (%(default)s)",
    )
    command.add_argument(
        "--fail-on",
        choices=["error", "warning", "never"],
        default="warning",
        help="the lowest severity for which the exit status is 1 (%(default)s)",
    )
    command.add_argument(
        "--schema",
        choices=["v1", "v2", "v3"],
        default="v3",
        help="the version of the findings document: v1 has no incidents, v2 one for each rule and object, v3 one for "
        "each cause (%(default)s)",
    )
    command.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="PART",
        help="read and judge only a part: namespace=NAME, or object=NAMESPACE/KIND/NAME with what it owns; may be "
        "repeated. It is faster than --namespace if the inputs are files of audit logs",
    )
    shown = command.add_mutually_exclusive_group()
    shown.add_argument("--findings", action="store_true", help="show every finding with its proof instead of incidents")
    shown.add_argument("--brief", action="store_true", help="show each incident in one line")
    command.add_argument("--coverage", action="store_true", help="show what was observed, and what each rule can judge")
    command.set_defaults(run=analyze)
    command = commands.add_parser(
        "report",
        parents=[arguments.judging()],
        help="write incidents, proof and timeline as one HTML file, or without the timeline as Markdown",
        epilog="Exit status: 0 written, 2 input or command not understood, the file not writable, or most of an input "
        "skipped: the file is written then, too.",
    )
    command.add_argument("-o", "--output", required=True, metavar="FILE", help="the file to write, or -")
    command.add_argument("--title", default="", help="the title of the report (the names of the files)")
    command.add_argument("--note", default="", metavar="TEXT", help="a note of yours, which the report begins with")
    command.add_argument(
        "--format",
        choices=["html", "markdown"],
        help="an HTML file, or Markdown to paste into a document (markdown if FILE ends in .md, else html)",
    )
    command.set_defaults(run=report)
    command = commands.add_parser("rules", help="list the rules, or show one rule")
    command.add_argument("id", nargs="?", metavar="ID", help="the rule, such as service-gap (all rules)")
    command.add_argument("--markdown", action="store_true", help="print all rules as Markdown, as in docs/rules.md")
    command.set_defaults(run=rules)
    command = commands.add_parser(
        "schema", help="print the JSON Schema of what analyze or compare --output json, or audit-trail prints"
    )
    command.add_argument(
        "version",
        nargs="?",
        choices=["v1", "v2", "v3", "comparison", "tables", "audit"],
        default="v3",
        help="the version of the findings document, or the comparison document, or the tables as Markdown, or a "
        "line of the audit trail (%(default)s)",
    )
    command.set_defaults(run=schema)


def analyze(options: argparse.Namespace) -> int:
    """Judge files and print the findings.

    Return the exit status: 0 nothing at or above the threshold, 1 findings, 2 the input or the command is not
    understood.
    """
    from collectors.analysis import choose  # imported here, because other commands do not need it
    from dashboard.cli import ci_formats

    analysis = _analysis(options)
    findings = choose(analysis.findings, options.rule, options.namespace, options.since, options.until)
    chosen = analysis._replace(findings=findings)
    complete = options.allow_skipped or not analysis.mostly_skipped
    with writing_standard_output():
        match options.output:
            case "json":
                _print_document(chosen, options.schema)
            case "sarif":
                print_json(ci_formats.sarif(chosen, options.rule, options.address, complete=complete))
            case "junit":
                print(ci_formats.junit(chosen, options.rule, options.fail_on, complete=complete))
            case _:
                _show(chosen, options)
    if not accepted(analysis.mostly_skipped, allowed=options.allow_skipped):
        return 2
    alarming = ci_formats.ALARMING[options.fail_on]
    return int(any(found.severity in alarming and found.status != "withdrawn" for found in findings))


def _print_document(analysis: Analysis, version: str) -> None:
    """Print the findings document in this version."""
    from timeline.payloads.documents import first_version

    match version:
        case "v1":
            print_json(first_version(analysis.second_document()))
        case "v2":
            print_json(analysis.second_document())
        case _:
            print_json(analysis.document())


def _show(analysis: Analysis, options: argparse.Namespace) -> None:
    """Print incidents or findings to read, and what was read."""
    from dashboard.cli.text import show_findings, show_incidents, show_input

    terminal = Terminal(sys.stdout)
    if options.findings:
        show_findings(analysis, terminal)
    else:
        show_incidents(analysis, terminal, brief=options.brief)
    show_input(analysis, terminal, with_coverage=options.coverage, only=options.rule)


def report(options: argparse.Namespace) -> int:
    """Judge files and write the report.

    Return the exit status: 0 written, 2 the input or the command is not understood, most of the input was skipped, or
    the file cannot be written.
    """
    from dashboard.presentation import wording
    from dashboard.report.contents import NOTE

    if len(options.note) > NOTE:
        give_up(f"The note has {len(options.note)} characters; {NOTE} are the most.")
    if options.output != "-":
        writable(Path(options.output), [Path(name) for name in options.files if name != "-"])
    analysis = _analysis(options)
    content = _report(analysis, options).encode("utf-8", "replace")  # a file's name may hold bytes that are no text
    if options.output == "-":
        with writing_standard_output():
            sys.stdout.buffer.write(content)
    else:
        write(Path(options.output), [content])
        say(f"{options.output} is written, {wording.size(len(content))}")
    return 0 if accepted(analysis.mostly_skipped, allowed=options.allow_skipped) else 2


def _report(analysis: Analysis, options: argparse.Namespace) -> str:
    """Return the report as HTML, or as Markdown if that is asked for or the name of the file ends in .md."""
    from dashboard.report import markdown, page
    from dashboard.report.contents import of_analysis

    contents = of_analysis(
        analysis,
        title=options.title,
        note=options.note,
        rules=options.rule,
        namespaces=options.namespace,
        since=options.since,
        until=options.until,
    )
    wanted = options.format or ("markdown" if options.output.endswith(".md") else "html")
    return markdown.document(contents) if wanted == "markdown" else page.rendered(contents)


def _analysis(options: argparse.Namespace) -> Analysis:
    """Return the analysis of the files. Raises GaveUp."""
    from collectors.analysis import analyse, choose
    from dashboard.web.timestamps import parsed
    from timeline.history.part import part_of

    gc.disable()  # it has printed everything when the process ends, and the world has no reference cycles to search for
    with reading() as progress:
        choose([], options.rule, ())
        options.address = environment.web_address() if options.run is analyze and options.output == "sarif" else ""
        options.since, options.until = (moment and parsed(moment) for moment in (options.since, options.until))
        analysis = analyse(
            [(Path(name), name) for name in options.files],
            environment.limits(),
            progress,
            counts=getattr(options, "coverage", False),
            intents=options.run is report,
            only=part_of(only) if (only := getattr(options, "only", ())) else None,
        )
    if analysis.nothing:
        say(analysis.nothing)
    else:
        seen = {track.ref.namespace for track in analysis.world.tracks()}
        for name in sorted(set(options.namespace) - seen):
            say(f"no object that a rule needs was observed in a namespace {name}")
    options.analysis = analysis  # keeps the world alive until the process ends: see `reading.leave`
    return analysis


def rules(options: argparse.Namespace) -> int:
    from dashboard.cli.text import show_rule, show_rules
    from dashboard.presentation.catalogue import catalogue
    from timeline.judge import rulebook

    if not options.markdown:  # the Markdown lists the defaults
        environment.rule_settings()
    rule = next((rule for rule in rulebook() if rule.id == options.id), None)
    if options.id and rule is None:
        give_up(f"There is no rule {options.id}. `causeline rules` lists them.")
    with writing_standard_output():
        if options.markdown:
            print(catalogue(), end="")
        elif rule:
            show_rule(rule, Terminal(sys.stdout))
        else:
            show_rules(Terminal(sys.stdout))
    return 0


def schema(options: argparse.Namespace) -> int:
    from importlib.resources import files

    if options.version in {"tables", "audit"}:
        if options.version == "tables":
            from dashboard.tables.schema import page
        else:
            from dashboard.access.trail.audit_lines import schema as page

        with writing_standard_output():
            print(page(), end="")
        return 0
    name = "comparison-v1" if options.version == "comparison" else f"findings-{options.version}"
    with writing_standard_output():
        print((files("timeline") / f"payloads/schemas/{name}.json").read_text(encoding="utf-8"), end="")
    return 0

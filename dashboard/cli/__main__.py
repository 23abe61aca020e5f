"""This module runs the `causeline` command: its subcommands, their arguments, and its exit status.

Nothing of Django is imported here, so `--help` is quick.
"""

from __future__ import annotations

import argparse
import io
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from dashboard import __version__, environment
from dashboard.cli import analyze, changes, collect, compare, mcp, policy, pull, record, replay, tables
from dashboard.cli.servers import clusters, grants, retention, serve, tokens, trail
from dashboard.cli.terminal import say
from dashboard.services import ServiceError, Stopped
from dashboard.services.launcher import PORTS

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one subcommand, and return its exit status."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # not every terminal speaks UTF-8
    options = _parser().parse_args(arguments)
    try:
        status: int = options.run(options)
        if arguments is None and "analysis" in options:
            analyze.leave(status)
        return status
    except Stopped:
        return 0
    except analyze.Unwritten as error:
        say(f"standard output cannot be written: {error}.")
        return 2
    except (ServiceError, environment.SettingError) as error:
        say(str(error))
        return 1


def _parser() -> argparse.ArgumentParser:
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument(
        "--data-dir",
        type=Path,
        metavar="D",
        help="the folder for all data (CAUSELINE_DATA_DIR, or ~/.local/share/causeline)",
    )
    served = argparse.ArgumentParser(add_help=False, parents=[shared])
    served.add_argument("--host", default="127.0.0.1", help="address to listen on (%(default)s)")
    served.add_argument("--port", type=_port, help=f"port to listen on (the first free one from {PORTS.start})")
    served.add_argument("--workers", type=_workers, default=2, help="processes that import recordings (%(default)s)")
    served.add_argument(
        "--no-token",
        action="store_true",
        help="while there are no accounts, let in anybody on this machine without the start-up token",
    )
    judge = argparse.ArgumentParser(add_help=False)
    judge.add_argument("files", nargs="+", metavar="FILE", help="a recording, an archive or a folder of them, or -")
    judge.add_argument(
        "--allow-skipped",
        action="store_true",
        help="accept the result even if most lines of an input were skipped",
    )
    judge.add_argument(
        "--rule", action="append", default=[], metavar="ID", help="apply only this rule; may be repeated"
    )
    judge.add_argument(
        "--namespace",
        action="append",
        default=[],
        metavar="NS",
        help="show only findings in this namespace; may be repeated",
    )
    judge.add_argument(
        "--since", metavar="TIME", help="show only what went on after this time, such as 2026-11-21T07:52:00Z"
    )
    judge.add_argument("--until", metavar="TIME", help="show only what began before this time")

    parser = argparse.ArgumentParser(prog="causeline", description="Kubernetes reconciliation timelines.")
    parser.add_argument("--version", action="version", version=f"causeline {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    command = commands.add_parser("up", parents=[served], help="start everything; Ctrl-C stops it")
    command.set_defaults(run=serve.up)
    command = commands.add_parser(
        "demo", parents=[served], help="start everything with two example recordings and an example live cluster"
    )
    command.set_defaults(run=serve.demonstrate)
    command = commands.add_parser(
        "token",
        parents=[shared],
        help="print the address of the running Causeline, with its token",
        epilog="Exit status: 0 printed, 1 nothing runs.",
    )
    command.set_defaults(run=serve.print_address)
    command = commands.add_parser(
        "import",
        parents=[shared],
        help="import files as one recording, whether Causeline is running or not",
        epilog="Exit status: 0 imported, 1 the servers failed, 2 input or command not understood.",
    )
    command.add_argument("files", nargs="+", metavar="FILE", help="a recording, an archive or a folder of them, or -")
    command.add_argument(
        "--name", metavar="N", help="the recording to add to, or the name of a new one (the first file's name)"
    )
    command.add_argument(
        "--cluster", metavar="C", help="add audit logs to what is watched of this connected cluster, while it goes on"
    )
    command.set_defaults(run=serve.import_files)
    command = commands.add_parser(
        "export",
        parents=[shared],
        help="write the findings of a recording, the recording itself, or tables of it",
        epilog="Exit status: 0 written, 1 the servers failed, 2 no such recording, or not writable.",
    )
    command.add_argument(
        "source",
        nargs="+",
        metavar="SOURCE",
        help="the name of the recording, or its number as in its address; with --format parquet also files, which need "
        "no server",
    )
    command.add_argument(
        "--format",
        choices=["findings", "recording", "parquet"],
        default="findings",
        help="the findings document; or all entries in Causeline's own format, which import and analyze read back; or "
        "tables as Parquet files (%(default)s)",
    )
    command.add_argument(
        "-o",
        "--output",
        default="-",
        metavar="FILE",
        help="the file to write, packed if it ends in .zst (stdout); for tables a new folder",
    )
    command.add_argument(
        "--allow-skipped", action="store_true", help="accept tables of files even if most lines of a file were skipped"
    )
    command.set_defaults(run=tables.export)
    pull.add(commands, shared)
    retention.add(commands, shared)
    clusters.add(commands, shared)
    command = commands.add_parser("createuser", parents=[shared], help="add an account")
    command.add_argument("name")
    role = command.add_mutually_exclusive_group()
    role.add_argument(
        "--admin", action="store_const", dest="role", const="admin", default="", help="the same as --role admin"
    )
    role.add_argument(
        "--role",
        choices=grants.ROLES,
        default="",
        help="the role on all clusters and recordings (none)",
    )
    command.set_defaults(run=serve.create_user)
    grants.add(commands, shared)
    tokens.add(commands, shared)
    trail.add(commands, shared)
    command = commands.add_parser("unlock", parents=[shared], help="let a person sign in again who failed too often")
    command.add_argument("name", nargs="?", metavar="NAME", help="the account (all accounts)")
    command.add_argument("--address", metavar="A", help="only attempts from this address, for all accounts")
    command.set_defaults(run=serve.unlock)
    for name, change, does in (
        (
            "deactivate",
            "deactivate",
            "let somebody not sign in any more, end the sessions, and refuse the access tokens",
        ),
        ("activate", "activate", "let somebody sign in again who was deactivated"),
        ("reset-totp", "reset_totp", "remove the second factor of somebody who has lost it"),
    ):
        command = commands.add_parser(name, parents=[shared], help=does)
        command.add_argument("name", metavar="NAME", help="the account")
        command.set_defaults(run=serve.change_account, change=change)
    command = commands.add_parser(
        "backup", parents=[shared], help="write the database to one file, whether it is in use or not"
    )
    command.add_argument("file", metavar="FILE", help="the file to write, or -")
    command.set_defaults(run=serve.back_up)
    command = commands.add_parser("restore", parents=[shared], help="fill an empty database from a backup")
    command.add_argument("file", metavar="FILE", help="the file to read, or -")
    command.set_defaults(run=serve.restore)
    command = commands.add_parser("manage", parents=[shared], help="run a management command of Django")
    command.add_argument("command", nargs=argparse.REMAINDER, metavar="COMMAND …")
    command.set_defaults(run=serve.manage)
    command = commands.add_parser(
        "analyze",
        parents=[judge],
        help="judge recordings without a server and a database",
        epilog="Exit status: 0 nothing at or above the threshold, 1 findings, 2 input or command not understood, "
        "or most of an input skipped.",
    )
    command.add_argument(
        "--output",
        choices=["table", "json"],
        default="table",
        help="a table to read, or the findings document (%(default)s)",
    )
    command.add_argument(
        "--fail-on",
        choices=["error", "warning", "never"],
        default="warning",
        help="the lowest severity for which the exit status is 1 (%(default)s)",
    )
    command.add_argument(
        "--schema",
        choices=["v1", "v2"],
        default="v2",
        help="the version of the findings document; v1 has no incidents (%(default)s)",
    )
    shown = command.add_mutually_exclusive_group()
    shown.add_argument("--findings", action="store_true", help="show every finding with its proof instead of incidents")
    shown.add_argument("--brief", action="store_true", help="show each incident in one line")
    command.add_argument("--coverage", action="store_true", help="show what was observed, and what each rule can judge")
    command.set_defaults(run=analyze.analyze)
    command = commands.add_parser(
        "report",
        parents=[judge],
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
    command.set_defaults(run=analyze.report)
    command = commands.add_parser(
        "compare",
        help="say what differs between runs of the same work that went well and one that did not",
        epilog="Exit status: 0 nothing differs, 1 something differs, 2 input or command not understood, or most of an "
        "input skipped.",
    )
    command.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="a recording, an archive or a folder of them, for each run; the last one is the run that did not go well",
    )
    command.add_argument(
        "--owner",
        action="append",
        default=[],
        metavar="NS/KIND/NAME",
        help="compare only this object and what it owns; may be repeated, with one FILE or with as many; #2 after the"
        " name means its second incarnation",
    )
    command.add_argument(
        "--output",
        choices=["table", "json"],
        default="table",
        help="a table to read, or the comparison document (%(default)s)",
    )
    command.add_argument(
        "--allow-skipped",
        action="store_true",
        help="accept the result even if most lines of an input were skipped",
    )
    command.set_defaults(run=compare.compare)
    command = commands.add_parser(
        "changes",
        help="say what people changed before a time, or before each incident",
        epilog="Exit status: 0 printed, 2 input or command not understood, or most of an input skipped.",
    )
    command.add_argument("files", nargs="+", metavar="FILE", help="a recording, an archive or a folder of them, or -")
    command.add_argument(
        "--before",
        metavar="TIME",
        help="list what changed before this time, such as 2026-11-21T07:52:00Z (before each incident)",
    )
    command.add_argument(
        "--about", metavar="NS/KIND/NAME", help="rank by the distance from this object (before its end)"
    )
    command.add_argument(
        "--minutes", type=_minutes, default=30, help="how many minutes to look back, up to a day (%(default)s)"
    )
    command.add_argument("--limit", type=_limit, default=20, help="the most changes to list (%(default)s)")
    command.add_argument("--output", choices=["table", "json"], default="table", help="text or JSON (%(default)s)")
    command.add_argument(
        "--allow-skipped",
        action="store_true",
        help="accept the result even if most lines of an input were skipped",
    )
    command.set_defaults(run=changes.changes)
    command = commands.add_parser(
        "sql",
        help="ask recordings with SQL, without a server and a database",
        epilog="docs/tables.md lists the tables. Exit status: 0 printed, 1 the query failed or took too much, 2 the "
        "input is not understood, or most of it was skipped.",
    )
    command.add_argument(
        "words",
        nargs="+",
        metavar="FILE… QUERY",
        help="recordings, or a folder that export --format parquet wrote; and one query, or - for standard input",
    )
    command.add_argument(
        "--output", choices=["table", "csv", "json"], default="table", help="how to print the answer (%(default)s)"
    )
    command.add_argument("--limit", type=_rows, default=1000, help="the most rows of a table (%(default)s)")
    command.add_argument(
        "--time-limit", type=_seconds, default=60, metavar="S", help="seconds that the query may take (%(default)s)"
    )
    command.add_argument(
        "--memory-limit", type=_megabytes, default=1024, metavar="MB", help="what the query may take (%(default)s)"
    )
    command.add_argument(
        "--allow-skipped",
        action="store_true",
        help="accept the result even if most lines of an input were skipped",
    )
    command.set_defaults(run=tables.sql)
    command = commands.add_parser(
        "replay",
        help="serve recordings as a Kubernetes API that kubectl and client libraries can read",
        epilog="Exit status: 0 stopped, 1 the port is taken, 2 input or command not understood.",
    )
    command.add_argument("files", nargs="+", metavar="FILE", help="a recording, an archive or a folder of them, or -")
    command.add_argument("--host", default="127.0.0.1", help="address to listen on (%(default)s)")
    command.add_argument("--port", type=_port, default=0, help="port to listen on (any that is free)")
    command.add_argument("--speed", type=replay.pace, default="1", help=f"{replay.SPEEDS} (%(default)s)")
    command.add_argument(
        "--at", type=replay.instant, metavar="TIME", help="the time to begin at (the start of the recording)"
    )
    command.add_argument("--loop", action="store_true", help="repeat the recording, each time as if it happened now")
    command.add_argument("--paused", action="store_true", help="wait until POST /replay/control says play")
    command.add_argument("--write-kubeconfig", metavar="FILE", help="write a kubeconfig for this API")
    command.add_argument(
        "--token-file",
        metavar="FILE",
        help="require the token in this file; the file is created if it does not exist",
    )
    command.set_defaults(run=replay.replay)
    command = commands.add_parser(
        "record",
        parents=[shared],
        help="watch a cluster without a server and a database, and write its changes to one file",
        epilog="Exit status: 0 recorded, 1 the cluster cannot be reached or read, 2 not writable, or not understood.",
    )
    command.add_argument("-o", "--output", required=True, metavar="FILE", help="a new file, packed if it ends in .zst")
    command.add_argument(
        "--kubeconfig", metavar="F", help="the kubeconfig of the cluster (KUBECONFIG, or ~/.kube/config)"
    )
    command.add_argument(
        "--context", default="", metavar="C", help="the context of the kubeconfig (its current context)"
    )
    command.add_argument(
        "--in-cluster", action="store_true", help="use the ServiceAccount of the Pod in which this runs"
    )
    command.add_argument(
        "--include",
        action="append",
        default=[],
        metavar="R",
        help="also watch this resource, as kubectl names it: crontabs.example.com, '*.example.com'; may be repeated",
    )
    command.add_argument(
        "--exclude", action="append", default=[], metavar="R", help="do not watch this resource; may be repeated"
    )
    command.add_argument("--namespace", metavar="NS", help="watch only this namespace (all namespaces)")
    command.add_argument(
        "--for",
        dest="duration",
        type=record.duration,
        metavar="T",
        help="stop after this time, such as 90s, 10m or 1h30m (Ctrl-C)",
    )
    command.add_argument(
        "--source", metavar="NAME", help="write what Causeline has observed of this connected cluster instead"
    )
    command.set_defaults(run=record.record)
    collect.add(commands)
    command = commands.add_parser(
        "mcp",
        parents=[shared],
        help="answer an agent over MCP, on standard input and output: from a running Causeline, or from recordings",
        epilog="A running Causeline is the one at CAUSELINE_URL, with the token in CAUSELINE_ACCESS_TOKEN or in the "
        "file that CAUSELINE_ACCESS_TOKEN_FILE names, or else the one on this machine. Exit status: 0 the client has "
        "gone, 1 no Causeline is known, 2 the input is not understood.",
    )
    command.add_argument("files", nargs="*", metavar="FILE", help="a recording, an archive or a folder of them")
    command.set_defaults(run=mcp.mcp)
    command = commands.add_parser("rules", help="list the rules, or show one rule")
    command.add_argument("id", nargs="?", metavar="ID", help="the rule, such as service-gap (all rules)")
    command.add_argument("--markdown", action="store_true", help="print all rules as Markdown, as in docs/rules.md")
    command.set_defaults(run=analyze.rules)
    command = commands.add_parser(
        "policy",
        help="print the audit policy that rules need, and how much it would log",
        epilog="Exit status: 0 printed, 2 command or sample not understood, or most of the sample skipped.",
    )
    command.add_argument("rules", nargs="*", metavar="RULE", help="a rule, such as service-gap (all rules)")
    command.add_argument(
        "--sample",
        nargs="+",
        default=[],
        metavar="FILE",
        help="an audit log of the cluster, of any level: say how much the policy would have logged of it",
    )
    command.add_argument(
        "--namespace",
        action="append",
        default=[],
        metavar="NS",
        help="log only what is in this namespace, or in none; may be repeated",
    )
    command.add_argument(
        "--allow-skipped", action="store_true", help="accept the figures even if most lines of the sample were skipped"
    )
    command.set_defaults(run=policy.policy)
    command = commands.add_parser(
        "schema", help="print the JSON Schema of what analyze or compare --output json, or audit-trail prints"
    )
    command.add_argument(
        "version",
        nargs="?",
        choices=["v1", "v2", "comparison", "tables", "audit"],
        default="v2",
        help="the version of the findings document, or the comparison document, or the tables as Markdown, or a "
        "line of the audit trail (%(default)s)",
    )
    command.set_defaults(run=analyze.schema)
    return parser


def _port(text: str) -> int:
    return _number(text, 0, 65_535)


def _minutes(text: str) -> int:
    return _number(text, 1, 1440)


def _limit(text: str) -> int:
    return _number(text, 1, 1000)


def _rows(text: str) -> int:
    return _number(text, 1, 1_000_000)


def _seconds(text: str) -> int:
    return _number(text, 1, 86_400)


def _megabytes(text: str) -> int:
    return _number(text, 16, 1_000_000)


def _workers(text: str) -> int:
    return _number(text, 1, 256)


def _number(text: str, least: int, most: int) -> int:
    """Parse a number for argparse, which prints the error."""
    with suppress(ValueError):
        if least <= (number := int(text)) <= most:
            return number
    raise argparse.ArgumentTypeError(f"{text[:40]!r}; write a whole number from {least} to {most}")


if __name__ == "__main__":
    sys.exit(main())

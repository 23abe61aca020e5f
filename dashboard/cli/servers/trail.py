"""Print the audit trail as lines of JSON. What needs Django runs in a process of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dashboard.cli.servers import serve

if TYPE_CHECKING:
    import argparse

OPTIONS = {
    "since": ("TIME", "only what was done from this time on, such as 2026-11-21T07:52:00Z"),
    "until": ("TIME", "only what was done before this time"),
    "who": ("NAME", "only what this person or token did"),
    "action": ("ACTION", "only this action, such as delete; docs/how-to/share-and-audit.md lists them"),
    "source": ("NUMBER", "only about this recording, or what was watched, by its number"),
}


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser], shared: argparse.ArgumentParser) -> None:
    command = commands.add_parser(
        "audit-trail",
        parents=[shared],
        help="print who did and saw what in Causeline, as one JSON object on each line",
        epilog="Exit status: 0 printed, 1 the servers failed, 2 the options are not possible.",
    )
    add_arguments(command)
    command.set_defaults(run=print_trail)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    for name, (value, words) in OPTIONS.items():
        parser.add_argument(f"--{name}", metavar=value, default="", help=words)


def print_trail(options: argparse.Namespace) -> int:
    given = [f"--{name}={value}" for name in OPTIONS if (value := getattr(options, name))]
    return serve.run_beside(options, "audit_trail", *given)

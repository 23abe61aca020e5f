"""These subcommands show what sources take and what retention will free, run retention, and place and lift legal holds.
What needs Django runs in a process of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dashboard.cli import serve

if TYPE_CHECKING:
    import argparse


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser], shared: argparse.ArgumentParser) -> None:
    """Add the subcommands with their arguments."""
    command = commands.add_parser(
        "hold",
        parents=[shared],
        help="put a recording or a cluster under a legal hold, so that nothing of it is deleted",
        epilog="Exit status: 0 held, 1 the servers failed, 2 no such recording or cluster, or no reason.",
    )
    command.add_argument("name", metavar="NAME", help="of a connected cluster or a recording, or its number")
    command.add_argument("--reason", required=True, metavar="TEXT", help="why, in a sentence that pages show")
    command.set_defaults(run=hold)
    command = commands.add_parser(
        "unhold",
        parents=[shared],
        help="lift the legal hold of a recording or a cluster",
        epilog="Exit status: 0 lifted, 1 the servers failed, 2 there is no such hold.",
    )
    command.add_argument("name", metavar="NAME", help="of a connected cluster or a recording, or its number")
    command.set_defaults(run=unhold)


def hold(options: argparse.Namespace) -> int:
    """Place a legal hold. Return the exit status: 2 if there is no such recording or cluster."""
    return serve.run_beside(options, "retention", "hold", f"--reason={options.reason}", "--", options.name)


def unhold(options: argparse.Namespace) -> int:
    """Lift a legal hold. Return the exit status: 2 if there is none."""
    return serve.run_beside(options, "retention", "unhold", "--", options.name)

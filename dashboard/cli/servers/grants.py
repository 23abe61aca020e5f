"""Give roles, take them away, and say who has which and why. What needs Django runs in a process of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dashboard.cli.arguments import ROLES
from dashboard.cli.servers import serve

if TYPE_CHECKING:
    import argparse

_REFUSED = "Exit status: 0 done, 1 the servers failed, 2 it is not possible, or the answer was no."


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser], shared: argparse.ArgumentParser) -> None:
    add_arguments(commands, shared)


def add_arguments(
    commands: argparse._SubParsersAction[argparse.ArgumentParser], shared: argparse.ArgumentParser | None = None
) -> None:
    """Add what can be done with roles, with the options of each."""
    parents = [shared] if shared else []
    command = commands.add_parser(
        "grant",
        parents=parents,
        help="give a role to a person or a group, in place of the one given on the same thing before",
        epilog=_REFUSED,
    )
    _to(command)
    command.add_argument("--role", choices=ROLES, required=True, help="a higher role contains the lower ones")
    _on(command)
    command.set_defaults(run=_run, act="grant")
    command = commands.add_parser(
        "revoke", parents=parents, help="take a role away from a person or a group", epilog=_REFUSED
    )
    _to(command)
    _on(command)
    command.add_argument("--yes", action="store_true", help="do not ask first")
    command.set_defaults(run=_run, act="revoke")
    command = commands.add_parser(
        "rights", parents=parents, help="say which roles a person or a group has, and why", epilog=_REFUSED
    )
    _to(command)
    command.add_argument("--output", choices=["table", "json"], default="table", help="text or JSON (%(default)s)")
    command.set_defaults(run=_run, act="rights")


def _to(command: argparse.ArgumentParser) -> None:
    command.add_argument("name", metavar="NAME", help="the account, or with --group the group")
    command.add_argument("--group", action="store_true", help="NAME is a group, such as oidc:platform")


def _on(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--on",
        metavar="THING",
        default="",
        help="the cluster, or the recording by its name or number; cluster/NAME and recording/NAME if both have the "
        "name (everything)",
    )
    command.add_argument(
        "--namespace",
        action="append",
        default=[],
        metavar="NS",
        help="only in this namespace; may be repeated (all)",
    )


def _run(options: argparse.Namespace) -> int:
    given = []
    for name in ("role", "on", "output"):
        if value := getattr(options, name, ""):
            given.append(f"--{name}={value}")
    given += [f"--namespace={each}" for each in getattr(options, "namespace", [])]
    given += [f"--{flag}" for flag in ("group", "yes") if getattr(options, flag, False)]
    return serve.run_beside(options, "grants", options.act, *given, "--", options.name)

"""Declare the commands that give roles, take them away, and say who has which and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dashboard.cli.arguments import ROLES

if TYPE_CHECKING:
    import argparse

    from dashboard.cli.servers.beside import Commands

_REFUSED = "Exit status: 0 done, 1 the servers failed, 2 it is not possible, or the answer was no."


def add(commands: Commands) -> None:
    """Declare the commands and their options."""
    command = commands.add(
        "grant",
        "grants.grant",
        help="give a role to a person or a group, in place of the one given on the same thing before",
        epilog=_REFUSED,
    )
    _to(command)
    command.add_argument("--role", choices=ROLES, required=True, help="a higher role contains the lower ones")
    _on(command)
    command = commands.add("revoke", "grants.revoke", help="take a role away from a person or a group", epilog=_REFUSED)
    _to(command)
    _on(command)
    command.add_argument("--yes", action="store_true", help="do not ask first")
    command = commands.add(
        "rights", "grants.rights", help="say which roles a person or a group has, and why", epilog=_REFUSED
    )
    _to(command)
    command.add_argument("--output", choices=["table", "json"], default="table", help="text or JSON (%(default)s)")


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

"""Declare the commands that add accounts, and that let somebody sign in or not."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from dashboard import environment
from dashboard.cli.arguments import ROLES
from dashboard.cli.servers.beside import Commands, given, perform_beside

if TYPE_CHECKING:
    import argparse


def add(commands: Commands) -> None:
    """Declare the commands and their options."""
    command = commands.add("createuser", "accounts.create", help="add an account")
    command.add_argument("name")
    role = command.add_mutually_exclusive_group()
    role.add_argument(
        "--admin", action="store_const", dest="role", const="admin", default="", help="the same as --role admin"
    )
    role.add_argument("--role", choices=ROLES, default="", help="the role on all clusters and recordings (none)")
    command.set_defaults(run=create_user)
    for name, function, does in (
        (
            "deactivate",
            "deactivate",
            "let somebody not sign in any more, end the sessions, and refuse the access tokens",
        ),
        ("activate", "activate", "let somebody sign in again who was deactivated"),
        ("reset-totp", "reset_totp", "remove the second factor of somebody who has lost it"),
    ):
        command = commands.add(name, f"accounts.{function}", help=does)
        command.add_argument("name", metavar="NAME", help="the account")
    command = commands.add("unlock", "accounts.unlock", help="let a person sign in again who failed too often")
    command.add_argument("name", nargs="?", metavar="NAME", help="the account (all accounts)")
    command.add_argument("--address", metavar="A", help="only attempts from this address, for all accounts")


def create_user(options: argparse.Namespace) -> int:
    """Add an account.

    Return the exit status: 0 added, 1 the name is taken, or the name or the password is not valid.
    """
    if password := environment.text("CAUSELINE_PASSWORD", ""):
        os.environ["CAUSELINE_PASSWORD"] = password  # which may have come from a file
    return perform_beside(options, "accounts.create", given(options))

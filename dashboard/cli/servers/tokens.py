"""Declare the commands that list, make and revoke access tokens."""

from __future__ import annotations

from dashboard.cli import arguments
from dashboard.cli.servers.beside import Commands

# These are as in dashboard.access.tokens.tokens, which needs Django.
SCOPES = ("read", "respond", "alerts", "audit", "collect")
USUAL_DAYS, MOST_DAYS = 90, 1826


def add(commands: Commands) -> None:
    """Add the subcommand with its own subcommands."""
    command = commands.parsers.add_parser("tokens", help="list, make and revoke access tokens, which programs send")
    acts = Commands(command.add_subparsers(required=True, metavar="ACT"), commands.shared)
    acts.add("list", "tokens.show", help="list the tokens, and when each was used")
    act = acts.add(
        "create",
        "tokens.create",
        help="make a token, and print its text, which is shown only once",
        epilog="Exit status: 0 made, 1 the servers failed, 2 the options are not possible.",
    )
    act.add_argument("name", metavar="NAME", help="what the token is for, such as grafana")
    act.add_argument(
        "--scope",
        action="append",
        required=True,
        choices=SCOPES,
        help="what it allows: to read, to respond to incidents and upload, to send alerts, "
        "to send audit and admission events, "
        "to send what a collector observes; may be repeated",
    )
    limit = act.add_mutually_exclusive_group()
    limit.add_argument("--cluster", metavar="C", help="only for this connected cluster (all)")
    limit.add_argument("--source", metavar="SOURCE", help="only for this recording, by its name or number (all)")
    act.add_argument(
        "--days",
        type=arguments.whole(1, MOST_DAYS),
        default=USUAL_DAYS,
        metavar="N",
        help="expire after N days (%(default)s)",
    )
    act = acts.add(
        "revoke",
        "tokens.revoke",
        help="end a token now",
        epilog="Exit status: 0 revoked, 1 the servers failed, 2 there is no such token, or it was kept.",
    )
    act.add_argument("token", metavar="TOKEN", help="the token's name, or its number as `tokens list` shows it")
    act.add_argument("--yes", action="store_true", help="do not ask first")

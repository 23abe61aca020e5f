"""List, make and revoke access tokens. What needs Django runs in a process of its own."""

from __future__ import annotations

import argparse

from dashboard.cli.servers import serve

# These are as in dashboard.access.tokens.tokens, which needs Django.
SCOPES = ("read", "respond", "alerts", "audit", "collect")
USUAL_DAYS, MOST_DAYS = 90, 1826


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser], shared: argparse.ArgumentParser) -> None:
    """Add the subcommand with its own subcommands."""
    command = commands.add_parser("tokens", help="list, make and revoke access tokens, which programs send")
    acts = command.add_subparsers(required=True, metavar="ACT", dest="act")
    add_arguments(acts, shared)


def add_arguments(
    acts: argparse._SubParsersAction[argparse.ArgumentParser], shared: argparse.ArgumentParser | None = None
) -> None:
    """Add what can be done with tokens, with the options of each."""
    parents = [shared] if shared else []
    act = acts.add_parser("list", parents=parents, help="list the tokens, and when each was used")
    act.set_defaults(run=list_tokens)
    act = acts.add_parser(
        "create",
        parents=parents,
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
    act.add_argument("--days", type=_days, default=USUAL_DAYS, metavar="N", help="expire after N days (%(default)s)")
    act.set_defaults(run=create)
    act = acts.add_parser(
        "revoke",
        parents=parents,
        help="end a token now",
        epilog="Exit status: 0 revoked, 1 the servers failed, 2 there is no such token, or it was kept.",
    )
    act.add_argument("token", metavar="TOKEN", help="the token's name, or its number as `tokens list` shows it")
    act.add_argument("--yes", action="store_true", help="do not ask first")
    act.set_defaults(run=revoke)


def list_tokens(options: argparse.Namespace) -> int:
    return serve.run_beside(options, "tokens", "list")


def create(options: argparse.Namespace) -> int:
    limit = [f"--{name}={given}" for name in ("cluster", "source") if (given := getattr(options, name)) is not None]
    scopes = [f"--scope={scope}" for scope in options.scope]
    return serve.run_beside(options, "tokens", "create", *scopes, *limit, f"--days={options.days}", "--", options.name)


def revoke(options: argparse.Namespace) -> int:
    return serve.run_beside(options, "tokens", "revoke", *(["--yes"] if options.yes else []), "--", options.token)


def _days(text: str) -> int:
    if text.isascii() and text.isdecimal() and len(text) < 6 and 1 <= int(text) <= MOST_DAYS:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text[:40]!r}; write a whole number from 1 to {MOST_DAYS}")

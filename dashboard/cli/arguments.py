"""The arguments that several subcommands share, and the numbers that they take."""

from __future__ import annotations

import argparse
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

ROLES = ("viewer", "responder", "editor", "admin")  # these are as in dashboard.access.roles.grants, which needs Django


def files(command: argparse.ArgumentParser) -> None:
    """Add the files to read."""
    command.add_argument("files", nargs="+", metavar="FILE", help="a recording, an archive or a folder of them, or -")


def allow_skipped(command: argparse.ArgumentParser) -> None:
    """Add the option that accepts inputs even if most of them was skipped."""
    command.add_argument(
        "--allow-skipped", action="store_true", help="accept the result even if most lines of an input were skipped"
    )


def judging() -> argparse.ArgumentParser:
    """Return a parent parser with the arguments of commands that judge files."""
    parser = argparse.ArgumentParser(add_help=False)
    files(parser)
    allow_skipped(parser)
    parser.add_argument(
        "--rule", action="append", default=[], metavar="ID", help="apply only this rule; may be repeated"
    )
    parser.add_argument(
        "--namespace",
        action="append",
        default=[],
        metavar="NS",
        help="show only findings in this namespace; may be repeated",
    )
    parser.add_argument(
        "--since", metavar="TIME", help="show only what went on after this time, such as 2026-11-21T07:52:00Z"
    )
    parser.add_argument("--until", metavar="TIME", help="show only what began before this time")
    return parser


def whole(least: int, most: int) -> Callable[[str], int]:
    """Return a type for argparse that takes a whole number from `least` to `most`."""

    def parsed(text: str) -> int:
        with suppress(ValueError):
            if least <= (number := int(text)) <= most:
                return number
        raise argparse.ArgumentTypeError(f"{text[:40]!r}; write a whole number from {least} to {most}")

    return parsed

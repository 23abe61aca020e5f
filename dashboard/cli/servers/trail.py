"""Declare the command that prints the audit trail."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dashboard.cli.servers.beside import Commands

_OPTIONS = {
    "since": ("TIME", "only what was done from this time on, such as 2026-11-21T07:52:00Z"),
    "until": ("TIME", "only what was done before this time"),
    "who": ("NAME", "only what this person or token did"),
    "action": ("ACTION", "only this action, such as delete; docs/how-to/share-and-audit.md lists them"),
    "source": ("NUMBER", "only about this recording, or what was watched, by its number"),
}


def add(commands: Commands) -> None:
    """Declare the command and its options."""
    command = commands.add(
        "audit-trail",
        "trail.show",
        help="print who did and saw what in Causeline, as one JSON object on each line",
        epilog="Exit status: 0 printed, 1 the servers failed, 2 the options are not possible.",
    )
    for name, (value, words) in _OPTIONS.items():
        command.add_argument(f"--{name}", metavar=value, default="", help=words)

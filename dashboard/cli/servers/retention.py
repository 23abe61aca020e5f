"""Declare the commands about how much room sources take, and how long they are kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from timeline.core.numbers import whole_number

if TYPE_CHECKING:
    from dashboard.cli.servers.beside import Commands

# What can be said of a cluster, by the name of its column.
KEPT = {
    "keep_days": "delete changes that are older (CAUSELINE_KEEP_DAYS)",
    "keep_bytes": "delete the oldest changes beyond this size (CAUSELINE_KEEP_BYTES)",
    "keep_incident_days": "near incidents, delete changes that are older (CAUSELINE_KEEP_INCIDENT_DAYS)",
    "keep_incident_minutes": "how long before and after an incident is near it (CAUSELINE_KEEP_INCIDENT_MINUTES)",
}
DEFAULT = "default"  # in place of a number: that of the settings


def add(commands: Commands) -> None:
    """Declare the commands and their options."""
    commands.add(
        "usage",
        "retention.show_usage",
        help="measure what each recording and live source takes in the database",
        epilog="Exit status: 0 measured, 1 the servers failed.",
    )
    command = commands.add(
        "retention",
        "retention.run",
        help="delete now what is not to be kept, or show what will be deleted",
        epilog="Exit status: 0 done, 1 the servers failed.",
    )
    command.add_argument("--dry-run", action="store_true", help="delete nothing, and show what would be deleted")
    command.add_argument(
        "--within",
        type=int,
        default=0,
        choices=range(366),
        metavar="DAYS",
        help="with --dry-run: show what of the present data will be deleted until then, 0 to 365 days from now",
    )
    command = commands.add(
        "keep",
        "retention.keep",
        help="change how long a connected cluster or a recording is kept",
        description="What is not given stays as it is. The word default stands for what the settings say.",
        epilog="Exit status: 0 changed, 1 the servers failed, 2 no such recording or cluster, or not possible.",
    )
    command.add_argument("name", metavar="NAME", help="of a connected cluster or a recording, or its number")
    for name, what in KEPT.items():
        more = "; a recording, counted from its import: 0 for ever (CAUSELINE_RECORDING_DAYS)"
        command.add_argument(
            f"--{name.replace('_', '-')}",
            type=number,
            metavar="N",
            help=f"{what}{more if name == 'keep_days' else ''}",
        )
    command = commands.add(
        "hold",
        "retention.hold",
        help="put a recording or a cluster under a legal hold, so that nothing of it is deleted",
        epilog="Exit status: 0 held, 1 the servers failed, 2 no such recording or cluster, or no reason.",
    )
    command.add_argument("name", metavar="NAME", help="of a connected cluster or a recording, or its number")
    command.add_argument("--reason", required=True, metavar="TEXT", help="why, in a sentence that pages show")
    command = commands.add(
        "unhold",
        "retention.unhold",
        help="lift the legal hold of a recording or a cluster",
        epilog="Exit status: 0 lifted, 1 the servers failed, 2 there is no such hold.",
    )
    command.add_argument("name", metavar="NAME", help="of a connected cluster or a recording, or its number")


def number(text: str) -> str:
    """Return a text that is a whole number or the word default. Raises ValueError, as argparse expects."""
    if text != DEFAULT and whole_number(text) is None:
        raise ValueError(text)
    return text

"""Show how much room sources take and what retention will free, run retention, and place and lift legal holds. What
needs Django runs in a process of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dashboard.cli.servers import serve
from timeline.core.numbers import whole_number

if TYPE_CHECKING:
    import argparse


# What can be said of a cluster, by the name of its column.
KEPT = {
    "keep_days": "delete changes that are older (CAUSELINE_KEEP_DAYS)",
    "keep_bytes": "delete the oldest changes beyond this size (CAUSELINE_KEEP_BYTES)",
    "keep_incident_days": "near incidents, delete changes that are older (CAUSELINE_KEEP_INCIDENT_DAYS)",
    "keep_incident_minutes": "how long before and after an incident is near it (CAUSELINE_KEEP_INCIDENT_MINUTES)",
}
DEFAULT = "default"  # in place of a number: that of the settings


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser], shared: argparse.ArgumentParser) -> None:
    """Add the subcommands with their arguments."""
    command = commands.add_parser(
        "usage",
        parents=[shared],
        help="measure what each recording and live source takes in the database",
        epilog="Exit status: 0 measured, 1 the servers failed.",
    )
    command.set_defaults(run=usage)
    command = commands.add_parser(
        "retention",
        parents=[shared],
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
    command.set_defaults(run=run)
    command = commands.add_parser(
        "keep",
        parents=[shared],
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
    command.set_defaults(run=keep)
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


def usage(options: argparse.Namespace) -> int:
    """Print what each source takes. Return the exit status: 1 if the servers failed."""
    return serve.run_beside(options, "retention", "usage")


def run(options: argparse.Namespace) -> int:
    """Run retention now, or print what it will free. Return the exit status: 1 if the servers failed."""
    if options.dry_run:
        return serve.run_beside(options, "retention", "foresee", f"--within={options.within}")
    return serve.run_beside(options, "retention", "run")


def number(text: str) -> str:
    """Return a text that is a whole number or the word default. Raises ValueError, as argparse expects."""
    if text != DEFAULT and whole_number(text) is None:
        raise ValueError(text)
    return text


def keep(options: argparse.Namespace) -> int:
    """Change how long something is kept. Return the exit status: 2 if there is no such recording or cluster."""
    given = [f"--{name.replace('_', '-')}={value}" for name in KEPT if (value := getattr(options, name)) is not None]
    return serve.run_beside(options, "retention", "keep", *given, "--", options.name)


def hold(options: argparse.Namespace) -> int:
    """Place a legal hold. Return the exit status: 2 if there is no such recording or cluster."""
    return serve.run_beside(options, "retention", "hold", f"--reason={options.reason}", "--", options.name)


def unhold(options: argparse.Namespace) -> int:
    """Lift a legal hold. Return the exit status: 2 if there is none."""
    return serve.run_beside(options, "retention", "unhold", "--", options.name)

"""Run the `causeline` command: its subcommands, their arguments, and its exit status.

Nothing of Django is imported here, so `--help` is quick.
"""

from __future__ import annotations

import argparse
import io
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from dashboard import __version__, environment
from dashboard.cli import analyze, changes, collect, compare, mcp, policy, pull, record, replay, tables
from dashboard.cli.output import NotWritable
from dashboard.cli.reading import leave
from dashboard.cli.servers import accounts, clusters, grants, recordings, retention, serve, tokens, trail
from dashboard.cli.servers.beside import Commands
from dashboard.cli.terminal import GaveUp, say
from dashboard.services import ServiceError, Stopped

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any


def main(arguments: Sequence[str] | None = None, perform: Callable[[str, dict[str, Any]], int] | None = None) -> int:
    """Run one subcommand, and return its exit status.

    `perform` does what a command does that needs Django, in this process; without it, that runs in a process of its
    own.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # not every terminal speaks UTF-8
    options = _parser().parse_args(arguments)
    options.perform = perform
    try:
        status: int = options.run(options)
        if arguments is None and "analysis" in options:
            leave(status)
        return status
    except Stopped:
        return 0
    except GaveUp as error:
        return int(error.code or 0)
    except NotWritable as error:
        say(str(error))
        return 2
    except (ServiceError, environment.SettingError) as error:
        say(str(error))
        return 1


def _parser() -> argparse.ArgumentParser:
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument(
        "--data-dir",
        type=Path,
        metavar="D",
        help="the folder for all data (CAUSELINE_DATA_DIR, or ~/.local/share/causeline)",
    )
    parser = argparse.ArgumentParser(prog="causeline", description="Kubernetes reconciliation timelines.")
    parser.add_argument("--version", action="version", version=f"causeline {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for each in (serve, recordings, tables, pull, retention, clusters, accounts, grants, tokens, trail, record, mcp):
        each.add(Commands(commands, shared))
    for alone in (analyze, compare, changes, replay, collect, policy):
        alone.add(commands)
    return parser


if __name__ == "__main__":
    sys.exit(main())

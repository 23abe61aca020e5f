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
from dashboard.cli.servers import clusters, grants, retention, serve, tokens, trail
from dashboard.cli.terminal import say
from dashboard.services import ServiceError, Stopped

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one subcommand, and return its exit status."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # not every terminal speaks UTF-8
    options = _parser().parse_args(arguments)
    try:
        status: int = options.run(options)
        if arguments is None and "analysis" in options:
            analyze.leave(status)
        return status
    except Stopped:
        return 0
    except analyze.Unwritten as error:
        say(f"standard output cannot be written: {error}.")
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
    for servers in (serve, tables, pull, retention, clusters, grants, tokens, trail, record, mcp):
        servers.add(commands, shared)
    for alone in (analyze, compare, changes, replay, collect, policy):
        alone.add(commands)
    return parser


if __name__ == "__main__":
    sys.exit(main())

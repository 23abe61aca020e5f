"""Make tables of recordings and query them with SQL. Modules are imported late, to start quickly."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from dashboard import environment
from dashboard.cli import arguments
from dashboard.cli.output import writing_standard_output
from dashboard.cli.reading import accepted
from dashboard.cli.servers import recordings
from dashboard.cli.terminal import Progress, say

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from collectors.analysis import Analysis
    from dashboard.cli.servers.beside import Commands

_ENTRIES = re.compile(r"\bentries\b", re.IGNORECASE)


def add(commands: Commands) -> None:
    """Declare the commands and their options."""
    command = commands.add(
        "export",
        help="write the findings of a recording, the recording itself, or tables of it",
        epilog="Exit status: 0 written, 1 the servers failed, 2 no such recording, or not writable.",
    )
    command.add_argument(
        "source",
        nargs="+",
        metavar="SOURCE",
        help="the name of the recording, or its number as in its address; with --format parquet also files, which need "
        "no server",
    )
    command.add_argument(
        "--format",
        choices=["findings", "recording", "parquet"],
        default="findings",
        help="the findings document; or all entries in Causeline's own format, which import and analyze read back; or "
        "tables as Parquet files (%(default)s)",
    )
    command.add_argument(
        "-o",
        "--output",
        default="-",
        metavar="FILE",
        help="the file to write, packed if it ends in .zst (stdout); for tables a new folder",
    )
    command.add_argument(
        "--allow-skipped", action="store_true", help="accept tables of files even if most lines of a file were skipped"
    )
    command.set_defaults(run=export)
    command = commands.parsers.add_parser(
        "sql",
        help="ask recordings with SQL, without a server and a database",
        epilog="docs/tables.md lists the tables. Exit status: 0 printed, 1 the query failed or took too much, 2 the "
        "input is not understood, or most of it was skipped.",
    )
    command.add_argument(
        "words",
        nargs="+",
        metavar="FILE… QUERY",
        help="recordings, or a folder that export --format parquet wrote; and one query, or - for standard input",
    )
    command.add_argument(
        "--output", choices=["table", "csv", "json"], default="table", help="how to print the answer (%(default)s)"
    )
    command.add_argument(
        "--limit", type=arguments.whole(1, 1_000_000), default=1000, help="the most rows of a table (%(default)s)"
    )
    command.add_argument(
        "--time-limit",
        type=arguments.whole(1, 86_400),
        default=60,
        metavar="S",
        help="seconds that the query may take (%(default)s)",
    )
    command.add_argument(
        "--memory-limit",
        type=arguments.whole(16, 1_000_000),
        default=1024,
        metavar="MB",
        help="what the query may take (%(default)s)",
    )
    arguments.allow_skipped(command)
    command.set_defaults(run=sql)


def export(options: argparse.Namespace) -> int:
    """Export a stored recording, or write the tables of files or of a stored recording.

    Return the exit status: 0 written, 1 the servers failed, 2 no such recording, not understood, or not writable.
    """
    if options.format != "parquet":
        if len(options.source) > 1:
            say("Name one recording. Only --format parquet takes several files.")
            return 2
        return recordings.export(options, options.source[0], options.format, options.output)
    if options.output == "-":
        say("Tables are files in a folder: name a new folder with --output.")
        return 2
    from dashboard.tables.files import Missing, Unwritable, free, libraries

    try:
        libraries()
        folder = Path(options.output)
        free(folder)
    except (Missing, Unwritable) as error:
        say(str(error))
        return 2
    if all(Path(name).exists() for name in options.source):
        return _write([(Path(name), name) for name in options.source], folder, options)
    if len(options.source) > 1:
        missing = next(name for name in options.source if not Path(name).exists())
        say(f"There is no file {missing}.")
        return 2
    return _of_stored(options.source[0], folder, options)


def _of_stored(source: str, folder: Path, options: argparse.Namespace) -> int:
    """Write the tables of a stored recording: it is exported to a file, from which they are made."""
    parent = os.getpid()
    between = Path(tempfile.mkdtemp(prefix="causeline-"))
    try:
        file = between / "recording.jsonl.zst"
        status = recordings.export(options, source, "recording", str(file))
        if status or os.getpid() != parent:  # started as root, a child has written the file
            return status
        return _write([(file, source)], folder, options)
    finally:
        if os.getpid() == parent:
            shutil.rmtree(between, ignore_errors=True)


def _write(inputs: Sequence[tuple[Path, str]], folder: Path, options: argparse.Namespace) -> int:
    from collectors.formats import NotARecording
    from dashboard.presentation import wording
    from dashboard.tables.files import Unwritable, into

    try:
        into(folder, lambda beside: _tables(inputs, beside, options))
    except (NotARecording, Unwritable, OSError, environment.SettingError) as error:
        say(str(error))
        return 2
    except KeyboardInterrupt:
        return 130
    size = sum(each.stat().st_size for each in folder.iterdir())
    say(f'{folder} is written, {wording.size(size)}; `causeline sql {folder} "select …"` asks it')
    return 0 if _accepted(options) else 2


def _tables(
    inputs: Sequence[tuple[Path, str]], folder: Path, options: argparse.Namespace, *, entries: bool = True
) -> None:
    from dashboard.tables.files import write

    environment.rule_settings()
    environment.redaction()
    progress = Progress(sys.stderr)
    try:
        analysis: Analysis = write(inputs, environment.limits(), folder, progress, entries=entries)
    finally:
        progress.end()
    options.analysis = analysis  # keeps the world alive until the process ends: see `reading.leave`
    if analysis.nothing:
        say(analysis.nothing)


def _accepted(options: argparse.Namespace) -> bool:
    """Return whether the tables count: they were exported before, or most of each file could be read."""
    analysis: Analysis | None = getattr(options, "analysis", None)
    return analysis is None or accepted(analysis.mostly_skipped, allowed=options.allow_skipped)


def sql(options: argparse.Namespace) -> int:
    """Ask the tables of recordings, and print the answer.

    Return the exit status: 0 printed, 1 the query failed or took too much, 2 the input is not understood.
    """
    *files, query = options.words
    if not files:
        say('Name a recording, and then the query: causeline sql audit.log "select * from incidents".')
        return 2
    from collectors.formats import NotARecording
    from dashboard.cli.sql_output import show
    from dashboard.tables.files import Missing, libraries
    from dashboard.tables.query import Failed, Limit, asked, is_exported

    between = Path(tempfile.mkdtemp(prefix="causeline-"))
    try:
        libraries()
        query = sys.stdin.read() if query == "-" else query
        folder = Path(files[0])
        if len(files) > 1 or not is_exported(folder):
            folder = between
            named = bool(_ENTRIES.search(query))  # nothing else needs the bodies, which take longest to read
            _tables([(Path(name), name) for name in files], folder, options, entries=named)
        limit = Limit(options.time_limit, options.memory_limit)
        with asked(folder, query, limit) as result, writing_standard_output():
            show(result, options.output, options.limit)
    except Failed as error:
        say(str(error))
        return 1
    except (Missing, NotARecording, OSError, environment.SettingError) as error:
        say(str(error))
        return 2
    except KeyboardInterrupt:
        return 130
    finally:
        shutil.rmtree(between, ignore_errors=True)
    return 0 if _accepted(options) else 2

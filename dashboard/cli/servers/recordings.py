"""Declare the commands that import, delete and restore recordings, and that back up and restore the database."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from dashboard.cli import arguments
from dashboard.cli.servers.beside import Commands, leaves_root, perform_beside, to_file

if TYPE_CHECKING:
    import argparse


def add(commands: Commands) -> None:
    """Declare the commands and their options."""
    command = commands.add(
        "import",
        "recordings.import_files",
        reads="files",
        help="import files as one recording, whether Causeline is running or not",
        epilog="Exit status: 0 imported, 1 the servers failed, 2 input or command not understood.",
    )
    arguments.files(command)
    command.add_argument(
        "--name", metavar="N", help="the recording to add to, or the name of a new one (the first file's name)"
    )
    command.add_argument(
        "--cluster", metavar="C", help="add audit logs to what is watched of this connected cluster, while it goes on"
    )
    command = commands.add(
        "delete",
        "recordings.delete",
        help="delete a recording; `undo` restores it within a minute",
        epilog="Exit status: 0 deleted, 1 the servers failed, 2 no such recording, or it was kept.",
    )
    command.add_argument("source", metavar="SOURCE", help="the name of the recording, or its number as in its address")
    command.add_argument("--yes", action="store_true", help="do not ask first")
    command = commands.add(
        "undo",
        "recordings.undo",
        help="restore a recording or a cluster that was deleted less than a minute ago",
        epilog="Exit status: 0 restored, 1 the servers failed, 2 it is too late.",
    )
    command.add_argument("name", nargs="?", metavar="NAME", help="of the recording or cluster (the latest deletion)")
    command = commands.add(
        "backup", "backups.back_up", help="write the database to one file, whether it is in use or not"
    )
    command.add_argument("file", metavar="FILE", help="the file to write, or -")
    command.set_defaults(run=back_up)
    command = commands.add("restore", "backups.restore", reads="file", help="fill an empty database from a backup")
    command.add_argument("file", metavar="FILE", help="the file to read, or -")


def export(options: argparse.Namespace, source: str, format: str, output: str) -> int:
    """Return the exit status: 0 written, 2 there is no such recording, or the file cannot be written."""
    packed = output.endswith(".zst")

    def export_to(path: str) -> int:
        arguments = {"source": source, "format": format, "output": path, "packed": packed}
        return perform_beside(options, "recordings.export", arguments)

    return to_file(options, output, export_to, 2)


def back_up(options: argparse.Namespace) -> int:
    """Write the database to a file, which only its owner can read. Return the exit status."""
    if leaves_root(options):
        os.umask(0o077)
    return to_file(options, options.file, lambda file: perform_beside(options, "backups.back_up", {"file": file}), 1)

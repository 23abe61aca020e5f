"""The `causeline` command: which subcommands there are, with which arguments, and how it ends.

Nothing of Django is imported here, so `--help` is quick.
"""

from __future__ import annotations

import argparse
import io
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from dashboard import __version__, environment
from dashboard.cli import analyze, clusters, record, replay, serve
from dashboard.cli.terminal import say
from dashboard.services import ServiceError, Stopped
from dashboard.services.launcher import PORTS

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one subcommand; returns the exit status."""
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
        help="where the data lies (CAUSELINE_DATA_DIR, or ~/.local/share/causeline)",
    )
    served = argparse.ArgumentParser(add_help=False, parents=[shared])
    served.add_argument("--host", default="127.0.0.1", help="address to listen on (%(default)s)")
    served.add_argument("--port", type=_port, help=f"port to listen on (the first free one from {PORTS.start})")
    served.add_argument("--workers", type=_workers, default=2, help="processes that import recordings (%(default)s)")
    served.add_argument(
        "--no-token",
        action="store_true",
        help="without accounts, let in whoever opens the address on this machine, with no start-up token",
    )
    judge = argparse.ArgumentParser(add_help=False)
    judge.add_argument("files", nargs="+", metavar="FILE", help="a recording, an archive or a folder of them, or -")
    judge.add_argument(
        "--allow-skipped",
        action="store_true",
        help="take what was found for the whole, also where most lines of an input were skipped",
    )
    judge.add_argument("--rule", action="append", default=[], metavar="ID", help="only this rule; may be repeated")
    judge.add_argument(
        "--namespace", action="append", default=[], metavar="NS", help="only in this namespace; may be repeated"
    )

    parser = argparse.ArgumentParser(prog="causeline", description="Kubernetes reconciliation timelines.")
    parser.add_argument("--version", action="version", version=f"causeline {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    command = commands.add_parser("up", parents=[served], help="start everything, until Ctrl-C")
    command.set_defaults(run=serve.up)
    command = commands.add_parser("demo", parents=[served], help="the same, with a recording and a live cluster to see")
    command.set_defaults(run=serve.show)
    command = commands.add_parser(
        "token",
        parents=[shared],
        help="print the address that lets you in, of what runs",
        epilog="Exit status: 0 printed, 1 nothing runs.",
    )
    command.set_defaults(run=serve.tell_address)
    command = commands.add_parser(
        "import",
        parents=[shared],
        help="put recordings on the timeline, as one; beside a running Causeline or without",
        epilog="Exit status: 0 imported, 1 the servers failed, 2 input or command not understood.",
    )
    command.add_argument("files", nargs="+", metavar="FILE", help="a recording, an archive or a folder of them, or -")
    command.add_argument(
        "--name", metavar="N", help="add to the recording of this name, or call a new one so (the first file's name)"
    )
    command.set_defaults(run=serve.take_in)
    command = commands.add_parser(
        "export",
        parents=[shared],
        help="write what was found in a recording, or the recording itself",
        epilog="Exit status: 0 written, 1 the servers failed, 2 no such recording, or not writable.",
    )
    command.add_argument("source", metavar="SOURCE", help="the recording's name, or its number as in its address")
    command.add_argument(
        "--format",
        choices=["findings", "recording"],
        default="findings",
        help="the findings document, or all entries in Causeline's own format, which import and analyze read back"
        " (%(default)s)",
    )
    command.add_argument(
        "-o", "--output", default="-", metavar="FILE", help="the file to write, packed if it ends in .zst (stdout)"
    )
    command.set_defaults(run=serve.give_out)
    clusters.add(commands, shared)
    command = commands.add_parser("createuser", parents=[shared], help="add somebody who may log in")
    command.add_argument("name")
    command.add_argument(
        "--admin", action="store_true", help="who also connects clusters, and deletes what others have sent"
    )
    command.set_defaults(run=serve.create_user)
    command = commands.add_parser(
        "unlock", parents=[shared], help="let somebody sign in again at once who failed too often"
    )
    command.add_argument("name", nargs="?", metavar="NAME", help="who; everybody where nobody is named")
    command.add_argument("--address", metavar="A", help="only what came from this address, of all names")
    command.set_defaults(run=serve.unlock)
    command = commands.add_parser("backup", parents=[shared], help="write the database to one file; in use or not")
    command.add_argument("file", metavar="FILE", help="the file to write, or -")
    command.set_defaults(run=serve.back_up)
    command = commands.add_parser("restore", parents=[shared], help="fill an empty database from such a file")
    command.add_argument("file", metavar="FILE", help="the file to read, or -")
    command.set_defaults(run=serve.restore)
    command = commands.add_parser("manage", parents=[shared], help="run a management command of Django")
    command.add_argument("command", nargs=argparse.REMAINDER, metavar="COMMAND …")
    command.set_defaults(run=serve.manage)
    command = commands.add_parser(
        "analyze",
        parents=[judge],
        help="judge recordings here and now; no server, no database",
        epilog="Exit status: 0 nothing at or above the threshold, 1 findings, 2 input or command not understood, "
        "or most of an input skipped.",
    )
    command.add_argument(
        "--output",
        choices=["table", "json"],
        default="table",
        help="for a person, or the findings document (%(default)s)",
    )
    command.add_argument(
        "--fail-on",
        choices=["error", "warning", "never"],
        default="warning",
        help="the least severity for which the exit status is 1 (%(default)s)",
    )
    command.add_argument("--coverage", action="store_true", help="show what was seen, and what can be judged")
    command.set_defaults(run=analyze.analyze)
    command = commands.add_parser(
        "report",
        parents=[judge],
        help="write what analyze finds, with its timeline, as one HTML file",
        epilog="Exit status: 0 written, 2 input or command not understood, the file not writable, or most of an input "
        "skipped: the file is written then, too.",
    )
    command.add_argument("-o", "--output", required=True, metavar="FILE", help="the file to write, or -")
    command.add_argument("--title", default="", help="what stands on top (the names of the files)")
    command.set_defaults(run=analyze.report)
    command = commands.add_parser(
        "replay",
        help="serve recordings with their objects as a Kubernetes API: kubectl and client libraries read the past",
        epilog="Exit status: 0 stopped, 1 the port is taken, 2 input or command not understood.",
    )
    command.add_argument("files", nargs="+", metavar="FILE", help="a recording, an archive or a folder of them, or -")
    command.add_argument("--host", default="127.0.0.1", help="address to listen on (%(default)s)")
    command.add_argument("--port", type=_port, default=0, help="port to listen on (any that is free)")
    command.add_argument("--speed", type=replay.pace, default="1", help=f"{replay.SPEEDS} (%(default)s)")
    command.add_argument("--at", type=replay.instant, metavar="TIME", help="begin then (the recording's beginning)")
    command.add_argument("--loop", action="store_true", help="again and again, each time as if it happened now")
    command.add_argument("--paused", action="store_true", help="stand still until POST /replay/control says play")
    command.add_argument("--write-kubeconfig", metavar="FILE", help="write a kubeconfig that leads here")
    command.add_argument(
        "--token-file",
        metavar="FILE",
        help="let in only who bears its token; made where there is none",
    )
    command.set_defaults(run=replay.replay)
    command = commands.add_parser(
        "record",
        parents=[shared],
        help="watch a cluster from here, and write all that happens into one file; no server, no database",
        epilog="Exit status: 0 recorded, 1 the cluster cannot be reached or read, 2 not writable, or not understood.",
    )
    command.add_argument("-o", "--output", required=True, metavar="FILE", help="a new file, packed if it ends in .zst")
    command.add_argument("--kubeconfig", metavar="F", help="how the cluster is reached (KUBECONFIG, or ~/.kube/config)")
    command.add_argument("--context", default="", metavar="C", help="of the kubeconfig (its current one)")
    command.add_argument("--in-cluster", action="store_true", help="as the ServiceAccount of the Pod this runs in")
    command.add_argument(
        "--include",
        action="append",
        default=[],
        metavar="R",
        help="also this, as kubectl names it: crontabs.example.com, '*.example.com'; may be repeated",
    )
    command.add_argument("--exclude", action="append", default=[], metavar="R", help="leave this out; may be repeated")
    command.add_argument("--namespace", metavar="NS", help="only in this namespace; all where none is named")
    command.add_argument(
        "--for", dest="duration", type=record.duration, metavar="T", help="end after 90s, 10m, 1h30m (Ctrl-C)"
    )
    command.add_argument("--source", metavar="NAME", help="instead: what is known of a cluster that is connected")
    command.set_defaults(run=record.record)
    command = commands.add_parser("rules", help="list the rules, or show the page of one")
    command.add_argument("id", nargs="?", metavar="ID", help="such as service-gap; all where none is named")
    command.add_argument("--markdown", action="store_true", help="all pages, as docs/rules.md has them")
    command.set_defaults(run=analyze.rules)
    command = commands.add_parser("schema", help="print the JSON Schema of what analyze --output json prints")
    command.set_defaults(run=analyze.schema)
    return parser


def _port(told: str) -> int:
    return _number(told, 0, 65_535)


def _workers(told: str) -> int:
    return _number(told, 1, 256)


def _number(told: str, least: int, most: int) -> int:
    """For argparse, which tells what was wrong."""
    with suppress(ValueError):
        if least <= (number := int(told)) <= most:
            return number
    raise argparse.ArgumentTypeError(f"{told[:40]!r}; write a whole number from {least} to {most}")


if __name__ == "__main__":
    sys.exit(main())

"""The `causeline` command: starts everything on one machine, and gives Django's commands the right environment.

Django is never set up here: what needs it runs in a process of its own, so `--help` is quick and a failing part cannot
take the supervisor with it. A report uses its templates alone.
"""

from __future__ import annotations

import argparse
import io
import ipaddress
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from dashboard import environment, judging
from dashboard.judging import say
from dashboard.launcher import (
    PORTS,
    await_page,
    django_command,
    finish,
    free_port,
    import_sample,
    migrate,
    programs,
    served,
)
from dashboard.services import ServiceError, Stopped, Supervisor

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
            judging.leave(status)
        return status
    except Stopped:
        return 0
    except judging.Unwritten as error:
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
    serve = argparse.ArgumentParser(add_help=False, parents=[shared])
    serve.add_argument("--host", default="127.0.0.1", help="address to listen on (%(default)s)")
    serve.add_argument("--port", type=int, help=f"port to listen on (the first free one from {PORTS.start})")
    serve.add_argument("--workers", type=int, default=2, help="processes that import recordings (%(default)s)")

    parser = argparse.ArgumentParser(prog="causeline", description="Kubernetes reconciliation timelines.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    command = commands.add_parser("up", parents=[serve], help="start everything, until Ctrl-C")
    command.set_defaults(run=_up)
    command = commands.add_parser("demo", parents=[serve], help="the same, with a sample recording to look at")
    command.set_defaults(run=_demo)
    command = commands.add_parser("createuser", parents=[shared], help="add somebody who may log in")
    command.add_argument("name")
    command.set_defaults(run=_create_user)
    command = commands.add_parser("manage", parents=[shared], help="run a management command of Django")
    command.add_argument("command", nargs=argparse.REMAINDER, metavar="COMMAND …")
    command.set_defaults(run=_manage)
    command = commands.add_parser(
        "analyze",
        help="judge recordings here and now; no server, no database",
        epilog="Exit status: 0 nothing at or above the threshold, 1 findings, 2 input or command not understood.",
    )
    command.add_argument("files", nargs="+", metavar="FILE", help="a recording, an archive or a folder of them, or -")
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
    command.add_argument("--rule", action="append", default=[], metavar="ID", help="only this rule; may be repeated")
    command.add_argument(
        "--namespace", action="append", default=[], metavar="NS", help="only in this namespace; may be repeated"
    )
    command.add_argument("--coverage", action="store_true", help="show what was seen, and what can be judged")
    command.set_defaults(run=judging.analyze)
    command = commands.add_parser("report", help="write what analyze finds, with its timeline, as one HTML file")
    command.add_argument("files", nargs="+", metavar="FILE", help="a recording, an archive or a folder of them, or -")
    command.add_argument("-o", "--output", required=True, metavar="FILE", help="the file to write, or -")
    command.add_argument("--title", default="", help="what stands on top (the names of the files)")
    command.add_argument("--rule", action="append", default=[], metavar="ID", help="only this rule; may be repeated")
    command.add_argument(
        "--namespace", action="append", default=[], metavar="NS", help="only in this namespace; may be repeated"
    )
    command.set_defaults(run=judging.report)
    command = commands.add_parser("rules", help="list the rules, or show the page of one")
    command.add_argument("id", nargs="?", metavar="ID", help="such as service-gap; all where none is named")
    command.add_argument("--markdown", action="store_true", help="all pages, as docs/rules.md has them")
    command.set_defaults(run=judging.rules)
    command = commands.add_parser("schema", help="print the JSON Schema of what analyze --output json prints")
    command.set_defaults(run=judging.schema)
    return parser


def _up(options: argparse.Namespace, *, demo: bool = False) -> int:
    host: str = options.host
    public = not _is_loopback(host)
    if public:
        _refuse_open_door(host)
    port = free_port(host, options.port)
    data_dir = _data_dir(options)
    with Supervisor(say) as supervisor, served(data_dir, supervisor) as variables:
        if not public:
            variables.setdefault("CAUSELINE_LOGIN", "off")
        migrate(supervisor, variables, data_dir)
        if public:
            _refuse_without_users(variables["DATABASE_URL"])
        supervisor.start(*programs(host, port, options.workers, variables, data_dir))
        url = await_page(supervisor, host, port)
        say(f"running, with logs in {data_dir / 'logs'}; Ctrl-C stops")
        path = import_sample(supervisor, variables) if demo else ""
        print(url + path, flush=True)
        supervisor.run()
    return 0


def _demo(options: argparse.Namespace) -> int:
    return _up(options, demo=True)


def _create_user(options: argparse.Namespace) -> int:
    command = ["createsuperuser", "--username", options.name, "--email", ""]
    if password := environment.text("CAUSELINE_PASSWORD", ""):
        os.environ["DJANGO_SUPERUSER_PASSWORD"] = password
        command.append("--noinput")
    return _beside(_data_dir(options), ["migrate", "--verbosity", "0"], command)


def _manage(options: argparse.Namespace) -> int:
    return _beside(_data_dir(options), options.command)


def _beside(data_dir: Path, *commands: Sequence[str]) -> int:
    """Run Django's commands with the servers of a running `up`, or with servers started for them.

    Ctrl-C belongs to the command (a shell only drops its line), so the supervisor does not heed it.
    """
    with Supervisor(say, (signal.SIGTERM, signal.SIGHUP)) as supervisor:
        before = signal.signal(signal.SIGINT, lambda number, frame: None)
        try:
            with served(data_dir, supervisor, join=True) as variables:
                for command in commands:
                    status = finish(supervisor, subprocess.Popen(django_command(*command), env=variables))
                    if status:
                        return status
        finally:
            signal.signal(signal.SIGINT, before)
    return 0


def _data_dir(options: argparse.Namespace) -> Path:
    given = options.data_dir or environment.text("CAUSELINE_DATA_DIR", "")
    return Path(given or Path.home() / ".local/share/causeline").absolute()


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _refuse_open_door(host: str) -> None:
    """Others can reach a public address, so nothing that is harmless on one's own machine may be left to chance."""
    problems = []
    if not environment.flag("CAUSELINE_LOGIN", True):
        problems.append("CAUSELINE_LOGIN is off, so anybody could read everything: set it to on.")
    if not environment.text("CAUSELINE_SECRET_KEY", ""):
        problems.append("CAUSELINE_SECRET_KEY is not set: set it to a long random text that only you know.")
    if not environment.text("CAUSELINE_HOSTS", ""):
        problems.append("CAUSELINE_HOSTS is not set: set it to the names that browsers use for this machine.")
    if problems:
        raise ServiceError("\n  ".join([f"{host} can be reached by others, but", *problems]))


def _refuse_without_users(database_url: str) -> None:
    import psycopg  # late: only this check needs it here

    with psycopg.connect(database_url) as connection:
        row = connection.execute("SELECT count(*) FROM auth_user WHERE is_active").fetchone()
    if not row or not row[0]:
        raise ServiceError("Nobody could log in: there is no user yet. Add one with `causeline createuser NAME`.")


if __name__ == "__main__":
    sys.exit(main())

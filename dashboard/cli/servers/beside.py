"""Run commands that need the database: each in a process of its own that has Django, beside the servers.

What a command does is a function of `dashboard.management`, which takes the options by their names. It is named by a
text such as "accounts.activate", because to import it takes seconds.
"""

from __future__ import annotations

import os
import signal
import subprocess
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dashboard import environment
from dashboard.cli.output import NotWritable, written_by_root
from dashboard.cli.terminal import say
from dashboard.services import Supervisor, leave_root
from dashboard.services.launcher import finish, function_command, served

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

_NOT_OPTIONS = {"run", "data_dir", "perform"}


class Commands(NamedTuple):
    """The commands of one parser, and the parser with the options that those have that use the data directory."""

    parsers: argparse._SubParsersAction[argparse.ArgumentParser]
    shared: argparse.ArgumentParser

    def add(self, name: str, function: str = "", *, reads: str = "", **words: Any) -> argparse.ArgumentParser:
        """Add a command, and return its parser. A function of `dashboard.management` gets the options of the command.

        `reads` is the option with the files that it reads; the words are those of `add_parser`.
        """
        command = self.parsers.add_parser(name, parents=[self.shared, *words.pop("parents", ())], **words)
        if function:
            command.set_defaults(run=partial(_run, function=function, reads=reads))
        return command


def _run(options: argparse.Namespace, function: str, reads: str) -> int:
    files = getattr(options, reads) if reads else []
    return perform_beside(options, function, given(options), [files] if isinstance(files, str) else files)


def given(options: argparse.Namespace) -> dict[str, Any]:
    """Return the options that a command declares, by name."""
    return {name: value for name, value in vars(options).items() if name not in _NOT_OPTIONS}


def perform_beside(
    options: argparse.Namespace, function: str, arguments: dict[str, Any], reads: Sequence[str] = ()
) -> int:
    """Call a function of `dashboard.management` beside the servers that the options name. Return the exit status.

    It is called here if this process has Django already: then the options have a function `perform`.
    """
    perform: Callable[[str, dict[str, Any]], int] | None = getattr(options, "perform", None)
    if perform:
        return perform(function, arguments)
    migrates = not function.startswith("backups.")  # an upgrade begins with a backup
    return beside(data_dir_of(options), function_command(function, arguments, migrates=migrates), reads)


def beside(data_dir: Path, command: Sequence[str], reads: Sequence[str] = ()) -> int:
    """Run a program with the servers of a running `up`, or with servers started for it, and return its exit status.

    `reads` are the files that it reads, even if the account that runs it may not.
    Ctrl-C is left to the program (a shell, for example, only discards its line), so the supervisor ignores it.
    """
    leave_root(data_dir, say, [Path(each).absolute() for each in reads if each != "-"])
    with Supervisor(say, (signal.SIGTERM, signal.SIGHUP)) as supervisor:
        before = signal.signal(signal.SIGINT, lambda number, frame: None)
        try:
            with served(data_dir, supervisor, join=True) as variables:
                if not environment.text("DATABASE_URL", ""):
                    variables |= cluster_hosts("on" if with_accounts() else "token")
                return finish(supervisor, subprocess.Popen(command, env=variables))
        finally:
            signal.signal(signal.SIGINT, before)


def leaves_root(options: argparse.Namespace) -> bool:
    """Return whether what runs beside the servers changes from root to another account."""
    return os.geteuid() == 0 and getattr(options, "perform", None) is None


def to_file(options: argparse.Namespace, path: str, command: Callable[[str], int], otherwise: int) -> int:
    """Run a command that writes to the path, and return its exit status, or `otherwise` if the path is not writable.
    If the command leaves root, then root writes what it prints to the file."""
    if path == "-" or not leaves_root(options):
        return command(path)
    try:
        return written_by_root(Path(path), lambda: command("-"))
    except NotWritable as error:
        say(str(error))
        return otherwise


def data_dir_of(options: argparse.Namespace) -> Path:
    """Return the folder for all data: of the options, or of the environment, or the usual one."""
    given = options.data_dir or environment.text("CAUSELINE_DATA_DIR", "")
    return Path(given or Path.home() / ".local/share/causeline").absolute()


def with_accounts() -> bool:
    """Return whether the environment asks for accounts."""
    return bool(environment.text("CAUSELINE_LOGIN", "")) and environment.login() == "on"


def cluster_hosts(login: str) -> dict[str, str]:
    """Return the variable that lets clusters be anywhere, such as kind on this machine, where all who are let in are
    administrators."""
    given = login == "on" or environment.text("CAUSELINE_CLUSTER_HOSTS", "")
    return {} if given else {"CAUSELINE_CLUSTER_HOSTS": "any"}

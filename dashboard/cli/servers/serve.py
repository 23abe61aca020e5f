"""The subcommands that start Causeline's servers, or join those that run.

Django is never set up here: commands that need it run in processes of their own, so that their failures do not end the
supervisor.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from collectors.addresses import is_loopback
from dashboard import environment
from dashboard.cli import arguments
from dashboard.cli.output import NotWritable, written_by_root
from dashboard.cli.servers import address, demo
from dashboard.cli.terminal import say
from dashboard.services import ServiceError, Supervisor, leave_root
from dashboard.services.launcher import (
    CAUSE,
    PORTS,
    SAMPLE,
    await_page,
    django_command,
    finish,
    free_port,
    import_sample,
    migrate,
    programs,
    served,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

ADDS_USER = "`causeline createuser --admin NAME` adds one."


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser], shared: argparse.ArgumentParser) -> None:
    """Add the subcommands with their arguments."""
    served = argparse.ArgumentParser(add_help=False, parents=[shared])
    served.add_argument("--host", default="127.0.0.1", help="address to listen on (%(default)s)")
    served.add_argument(
        "--port", type=arguments.whole(0, 65_535), help=f"port to listen on (the first free one from {PORTS.start})"
    )
    served.add_argument(
        "--workers", type=arguments.whole(1, 256), default=2, help="processes that import recordings (%(default)s)"
    )
    served.add_argument(
        "--no-token",
        action="store_true",
        help="while there are no accounts, let in anybody on this machine without the start-up token",
    )
    command = commands.add_parser("up", parents=[served], help="start everything; Ctrl-C stops it")
    command.set_defaults(run=up)
    command = commands.add_parser(
        "demo", parents=[served], help="start everything with two example recordings and an example live cluster"
    )
    command.set_defaults(run=demonstrate)
    command = commands.add_parser(
        "token",
        parents=[shared],
        help="print the address of the running Causeline, with its token",
        epilog="Exit status: 0 printed, 1 nothing runs.",
    )
    command.set_defaults(run=print_address)
    command = commands.add_parser(
        "import",
        parents=[shared],
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
    command.set_defaults(run=import_files)
    command = commands.add_parser("createuser", parents=[shared], help="add an account")
    command.add_argument("name")
    role = command.add_mutually_exclusive_group()
    role.add_argument(
        "--admin", action="store_const", dest="role", const="admin", default="", help="the same as --role admin"
    )
    role.add_argument(
        "--role",
        choices=arguments.ROLES,
        default="",
        help="the role on all clusters and recordings (none)",
    )
    command.set_defaults(run=create_user)
    for name, change, does in (
        (
            "deactivate",
            "deactivate",
            "let somebody not sign in any more, end the sessions, and refuse the access tokens",
        ),
        ("activate", "activate", "let somebody sign in again who was deactivated"),
        ("reset-totp", "reset_totp", "remove the second factor of somebody who has lost it"),
    ):
        command = commands.add_parser(name, parents=[shared], help=does)
        command.add_argument("name", metavar="NAME", help="the account")
        command.set_defaults(run=change_account, change=change)
    command = commands.add_parser("unlock", parents=[shared], help="let a person sign in again who failed too often")
    command.add_argument("name", nargs="?", metavar="NAME", help="the account (all accounts)")
    command.add_argument("--address", metavar="A", help="only attempts from this address, for all accounts")
    command.set_defaults(run=unlock)
    command = commands.add_parser(
        "backup", parents=[shared], help="write the database to one file, whether it is in use or not"
    )
    command.add_argument("file", metavar="FILE", help="the file to write, or -")
    command.set_defaults(run=back_up)
    command = commands.add_parser("restore", parents=[shared], help="fill an empty database from a backup")
    command.add_argument("file", metavar="FILE", help="the file to read, or -")
    command.set_defaults(run=restore)
    command = commands.add_parser("manage", parents=[shared], help="run a management command of Django")
    command.add_argument("command", nargs=argparse.REMAINDER, metavar="COMMAND …")
    command.set_defaults(run=manage)


def up(options: argparse.Namespace, *, sample: bool = False) -> int:
    """Start all of Causeline, and run until a signal ends it. Return the exit status 0, or raise ServiceError."""
    host: str = options.host
    public = not is_loopback(host)
    if public:
        _refuse_unprotected(host)
    login = _login(options, public)
    port = free_port(host, options.port)
    data_dir = _data_dir(options)
    account = leave_root(data_dir, say)
    with Supervisor(say) as supervisor, served(data_dir, supervisor) as variables:
        token = environment.token(data_dir) if login == "token" else ""
        variables |= {"CAUSELINE_LOGIN": login, "CAUSELINE_PORT": str(port), **_cluster_hosts(login)}
        migrate(supervisor, variables, data_dir)
        nobody = login == "on" and _nobody_can_sign_in(variables["DATABASE_URL"])
        if nobody and public:
            raise ServiceError(f"Nobody could log in: there is no user yet. {ADDS_USER}")
        if sample:
            demo.forget(supervisor, variables, data_dir)
            supervisor.start(demo.program(variables, data_dir))
        supervisor.start(*programs(host, port, options.workers, variables, data_dir, token))
        url = await_page(supervisor, host, port)
        say(f"running{f' as {account}' if account else ''}, with logs in {data_dir / 'logs'}; Ctrl-C stops")
        if nobody:
            say(f"CAUSELINE_LOGIN is on, so an account is needed to sign in, and there is none yet. {ADDS_USER}")
        path = import_sample(SAMPLE, supervisor, variables) if sample else "/"
        if sample:
            caused = import_sample(CAUSE, supervisor, variables)
            say(f"{url}{caused} shows a Job that got a Pod too many, and why")
            demo.connect(supervisor, variables, data_dir)
            say(f"the other recording is replayed as a live cluster, {demo.CLUSTER}; {url}/ shows it")
        if login == "open":
            say(f"--no-token: whoever can open {url} on this machine can read and change everything here.")
        with address.announced(data_dir, address.with_token(f"{url}/", token)):
            print(address.with_token(url + path, token), flush=True)
            supervisor.run()
    return 0


def demonstrate(options: argparse.Namespace) -> int:
    """Run `causeline demo`: start all of Causeline with two example recordings and an example cluster."""
    return up(options, sample=True)


def print_address(options: argparse.Namespace) -> int:
    """Run `causeline token`. Return 0 if the address was printed; raise ServiceError if nothing runs."""
    data_dir = _data_dir(options)
    if running_address := address.announced_by_another(data_dir):
        print(running_address)
        return 0
    raise ServiceError(
        f"`causeline up` does not run with the data directory {data_dir}. If yours has another one, give --data-dir."
    )


def create_user(options: argparse.Namespace) -> int:
    """Add an account.

    Return the exit status: 0 added, 1 the name is taken, or the name or the password is not valid.
    """
    if password := environment.text("CAUSELINE_PASSWORD", ""):
        os.environ["CAUSELINE_PASSWORD"] = password  # which may have come from a file
    return run_beside(options, "createuser", *([f"--role={options.role}"] if options.role else []), "--", options.name)


def unlock(options: argparse.Namespace) -> int:
    """Let people sign in again who failed too often. Return the exit status."""
    return run_beside(options, "unlock", f"--name={options.name or ''}", f"--address={options.address or ''}")


def change_account(options: argparse.Namespace) -> int:
    """Deactivate or activate an account, or remove its second factor.

    Return the exit status: 0 done, 1 nobody has the name.
    """
    return run_beside(options, options.change, "--", options.name)


def import_files(options: argparse.Namespace) -> int:
    """Return the exit status: 0 imported, 1 it could not be stored, 2 the input is not understood."""
    name = ["--name", options.name] if options.name else []
    cluster = ["--cluster", options.cluster] if options.cluster else []
    command = ["import_recording", *name, *cluster, "--", *options.files]
    return _beside(_data_dir(options), ["up_to_date", *command], reads=options.files)


def export(options: argparse.Namespace) -> int:
    """Return the exit status: 0 written, 2 there is no such recording, or the file cannot be written."""
    packed = ["--packed"] if options.output.endswith(".zst") else []

    def export_to(output: str) -> int:
        command = ["export_recording", "--format", options.format, *packed, "--output", output, "--", options.source]
        return _beside(_data_dir(options), ["up_to_date", *command])

    return _to_file(options.output, export_to, 2)


def back_up(options: argparse.Namespace) -> int:
    """Write the database without migrating it first, because an upgrade begins with a backup."""
    if os.geteuid() == 0:
        os.umask(0o077)
    return _to_file(options.file, lambda file: _beside(_data_dir(options), ["back_up", "--", file]), 1)


def _to_file(path: str, command: Callable[[str], int], otherwise: int) -> int:
    """Run a command that writes to the path, and return its exit status, or `otherwise` if the path is not writable.
    Started as root, the command changes to another account, so root writes what it prints to the file."""
    if os.geteuid() != 0 or path == "-":
        return command(path)
    try:
        return written_by_root(Path(path), lambda: command("-"))
    except NotWritable as error:
        say(str(error))
        return otherwise


def restore(options: argparse.Namespace) -> int:
    """Restore a backup, and migrate it if it is of an older version."""
    command = ["restore", "--", options.file]
    return _beside(_data_dir(options), command, ["migrate", "--verbosity", "0", "--skip-checks"], reads=[options.file])


def manage(options: argparse.Namespace) -> int:
    return _beside(_data_dir(options), options.command)


def run_beside(options: argparse.Namespace, *command: str, reads: Sequence[str] = ()) -> int:
    """Migrate the database, run a Django command that reads these files, and return its exit status."""
    return _beside(_data_dir(options), ["up_to_date", *command], reads=reads)


def _beside(data_dir: Path, *commands: Sequence[str], reads: Sequence[str] = ()) -> int:
    """Run Django's commands with the servers of a running `up`, or with servers started for them.

    `reads` are the files that the commands read, even if the account that runs them may not.
    Ctrl-C is left to the command (a shell, for example, only discards its line), so the supervisor ignores it.
    """
    leave_root(data_dir, say, [Path(each).absolute() for each in reads if each != "-"])
    with Supervisor(say, (signal.SIGTERM, signal.SIGHUP)) as supervisor:
        before = signal.signal(signal.SIGINT, lambda number, frame: None)
        try:
            with served(data_dir, supervisor, join=True) as variables:
                if not environment.text("DATABASE_URL", ""):
                    variables |= _cluster_hosts("on" if _with_accounts() else "token")
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


def _login(options: argparse.Namespace, public: bool) -> str:
    """Return how people sign in. Only `--no-token`, and no variable, lets in people without a token and an account."""
    with_accounts = _with_accounts()
    if options.no_token and (public or with_accounts):
        raise ServiceError(
            f"--no-token would let in everybody, but {options.host} can be reached by others. Leave --no-token out."
            if public
            else "CAUSELINE_LOGIN is on, so accounts are asked for. Leave --no-token out, or the variable."
        )
    if public or with_accounts:
        return "on"
    return "open" if options.no_token else "token"


def _with_accounts() -> bool:
    """Return whether the environment asks for accounts."""
    return bool(environment.text("CAUSELINE_LOGIN", "")) and environment.login() == "on"


def _cluster_hosts(login: str) -> dict[str, str]:
    """Return the variable that lets clusters be anywhere, such as kind on this machine, where all who are let in are
    administrators."""
    given = login == "on" or environment.text("CAUSELINE_CLUSTER_HOSTS", "")
    return {} if given else {"CAUSELINE_CLUSTER_HOSTS": "any"}


def _refuse_unprotected(host: str) -> None:
    """Raise ServiceError if others can reach the address and a setting that protects it is missing."""
    problems = []
    if (login := environment.login()) != "on":
        problems.append(f"CAUSELINE_LOGIN is {login}, and others need accounts: set it to on.")
    if not environment.text("CAUSELINE_SECRET_KEY", ""):
        problems.append("CAUSELINE_SECRET_KEY is not set: set it to a long random text that only you know.")
    if not environment.text("CAUSELINE_HOSTS", ""):
        problems.append("CAUSELINE_HOSTS is not set: set it to the names that browsers use for this machine.")
    if problems:
        raise ServiceError("\n  ".join([f"{host} can be reached by others, but", *problems]))


def _nobody_can_sign_in(database_url: str) -> bool:
    """Return whether no active user exists, and none is made by signing in elsewhere."""
    if environment.text("CAUSELINE_OIDC_ISSUER", "") or environment.text("CAUSELINE_SIGN_IN_PROXIES", ""):
        return False
    import psycopg  # imported here, because only this check needs it

    with psycopg.connect(database_url) as connection:
        return connection.execute("SELECT 1 FROM auth_user WHERE is_active LIMIT 1").fetchone() is None

"""Start all of Causeline, say where it runs, and run the management commands of Django.

Django is never set up here: commands that need it run in processes of their own, so that their failures do not end the
supervisor.
"""

from __future__ import annotations

import argparse

from collectors.addresses import is_loopback
from dashboard import environment
from dashboard.cli import arguments
from dashboard.cli.servers import address, demo
from dashboard.cli.servers.beside import Commands, beside, cluster_hosts, data_dir_of, with_accounts
from dashboard.cli.terminal import say
from dashboard.services import ServiceError, Supervisor, leave_root
from dashboard.services.launcher import (
    PORTS,
    await_page,
    django_command,
    free_port,
    migrate,
    programs,
    served,
)

ADDS_USER = "`causeline createuser --admin NAME` adds one."


def add(commands: Commands) -> None:
    """Declare the commands and their options."""
    served = argparse.ArgumentParser(add_help=False)
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
    command = commands.add("up", parents=[served], help="start everything; Ctrl-C stops it")
    command.set_defaults(run=up)
    command = commands.add(
        "demo", parents=[served], help="start everything with two example recordings and an example live cluster"
    )
    command.set_defaults(run=demonstrate)
    command = commands.add(
        "token",
        help="print the address of the running Causeline, with its token",
        epilog="Exit status: 0 printed, 1 nothing runs.",
    )
    command.set_defaults(run=print_address)
    command = commands.add("manage", help="run a management command of Django")
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
    data_dir = data_dir_of(options)
    account = leave_root(data_dir, say)
    with Supervisor(say) as supervisor, served(data_dir, supervisor) as variables:
        token = environment.token(data_dir) if login == "token" else ""
        variables |= {"CAUSELINE_LOGIN": login, "CAUSELINE_PORT": str(port), **cluster_hosts(login)}
        migrate(supervisor, variables, data_dir)
        nobody = login == "on" and _nobody_can_sign_in(variables["DATABASE_URL"])
        if nobody and public:
            raise ServiceError(f"Nobody could log in: there is no user yet. {ADDS_USER}")
        if sample:
            demo.forget(supervisor, variables, data_dir)
        web, *others = programs(host, port, options.workers, variables, data_dir, token)
        supervisor.start(web)
        url = await_page(supervisor, host, port)
        with address.announced(data_dir, address.with_token(f"{url}/", token)):
            print(address.with_token(f"{url}/", token), flush=True)
            supervisor.start(*others, *([demo.program(variables, data_dir)] if sample else []))
            say(f"running{f' as {account}' if account else ''}, with logs in {data_dir / 'logs'}; Ctrl-C stops")
            if nobody:
                say(f"CAUSELINE_LOGIN is on, so an account is needed to sign in, and there is none yet. {ADDS_USER}")
            if login == "open":
                say(f"--no-token: whoever can open {url} on this machine can read and change everything here.")
            if sample:
                say("two recordings are being imported, which the page shows")
                demo.fill(supervisor, variables, data_dir, url)
            supervisor.run()
    return 0


def demonstrate(options: argparse.Namespace) -> int:
    """Run `causeline demo`: start all of Causeline with two example recordings and an example cluster."""
    return up(options, sample=True)


def print_address(options: argparse.Namespace) -> int:
    """Run `causeline token`. Return 0 if the address was printed; raise ServiceError if nothing runs."""
    data_dir = data_dir_of(options)
    if running_address := address.announced_by_another(data_dir):
        print(running_address)
        return 0
    raise ServiceError(
        f"`causeline up` does not run with the data directory {data_dir}. If yours has another one, give --data-dir."
    )


def manage(options: argparse.Namespace) -> int:
    """Run a management command of Django, and return its exit status."""
    return beside(data_dir_of(options), django_command(*options.command))


def _login(options: argparse.Namespace, public: bool) -> str:
    """Return how people sign in. Only `--no-token`, and no variable, lets in people without a token and an account."""
    accounts = with_accounts()
    if options.no_token and (public or accounts):
        raise ServiceError(
            f"--no-token would let in everybody, but {options.host} can be reached by others. Leave --no-token out."
            if public
            else "CAUSELINE_LOGIN is on, so accounts are asked for. Leave --no-token out, or the variable."
        )
    if public or accounts:
        return "on"
    return "open" if options.no_token else "token"


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

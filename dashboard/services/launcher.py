"""Start all of Causeline on one machine: the servers, the web process, the workers and beat.

Django is never imported here: whatever needs it runs in a process of its own, so that its failure does not end the
supervisor.
"""

from __future__ import annotations

import json
import math
import os
import socket
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dashboard import environment, keys
from dashboard.services import AlreadyServed, Program, ServiceError, Supervisor, serving
from dashboard.services.errors import tail
from dashboard.services.servers import addresses_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PACKAGES = Path(__file__).resolve().parent.parent.parent
SAMPLES = Path(__file__).resolve().parent.parent / "samples"
SAMPLE = SAMPLES / "volcano-restart.jsonl.zst"
CAUSE = SAMPLES / "one-pod-too-many.jsonl.zst"  # a Job that got a Pod too many, and twice the same without that
PORTS = range(8000, 8100)
START_SECONDS = 60
STOP_SECONDS = 3
_KEYS = ("CAUSELINE_SECRET_KEY", "CAUSELINE_CREDENTIALS_KEY")
PERIODIC = ("--queues", "periodic", "--pool", "threads", "--concurrency", "5")  # about one thread for each task
PYTHON = (sys.executable, "-P")  # nothing is imported from the working folder, which holds data


@contextmanager
def served(data_dir: Path, supervisor: Supervisor, *, join: bool = False) -> Iterator[dict[str, str]]:
    """Yield the environment of Causeline's processes, and run the servers that it names during the context.

    Servers are started unless DATABASE_URL and REDIS_URL name some. With `join`, those of another process are used.
    """
    variables = dict(os.environ)
    if (PACKAGES / "manage.py").exists():  # a checkout, which need not be installed
        variables["PYTHONPATH"] = os.pathsep.join(filter(None, [str(PACKAGES), variables.get("PYTHONPATH")]))
    variables |= {
        "CAUSELINE_DATA_DIR": str(data_dir),
        "DJANGO_SETTINGS_MODULE": "dashboard.settings",
        "PYTHONUNBUFFERED": "1",
    }
    named = [name for name in ("DATABASE_URL", "REDIS_URL") if environment.text(name, "")]
    if len(named) == 1:
        raise ServiceError(
            f"Only {named[0]} is set. Set both DATABASE_URL and REDIS_URL to use servers of your own, "
            "or none of them to have Causeline start its own."
        )
    if named:
        _prepare(data_dir, variables, "CAUSELINE_SECRET_KEY")
        yield variables
        return
    for name in [name for name in variables if name.startswith("PG")]:
        del variables[name]  # libpq would mix them into the address of our own server
    try:
        with serving(data_dir, supervisor) as addresses:
            _prepare(data_dir, variables, *_KEYS)
            yield variables | {"DATABASE_URL": addresses.database_url, "REDIS_URL": addresses.redis_url}
    except AlreadyServed:
        if not join:
            raise
        supervisor.wait(
            lambda: addresses_of(data_dir) is not None, START_SECONDS, f"The servers of {data_dir} do not start."
        )
        if running := addresses_of(data_dir):
            _prepare(data_dir, variables, *_KEYS)
            yield variables | {"DATABASE_URL": running.database_url, "REDIS_URL": running.redis_url}


def _prepare(data_dir: Path, variables: dict[str, str], *names: str) -> None:
    """Make the folders, and set these keys in `variables` unless they are given.
    For a database that Causeline did not start, no key for credentials is made, because all its users share one."""
    (data_dir / "logs").mkdir(mode=0o700, parents=True, exist_ok=True)
    for variable in names:
        if not environment.text(variable, ""):
            variables[variable] = keys.kept(data_dir, variable.removeprefix("CAUSELINE_").lower())


def django_command(*command: str) -> list[str]:
    """Return the command line of a management command."""
    return [*PYTHON, "-m", "django", *command]


def function_command(function: str, options: Mapping[str, Any], *, migrates: bool = False) -> list[str]:
    """Return the command line that calls a function of `dashboard.management` with options. With `migrates`, the
    database is migrated first, in the same process, because a second one takes seconds."""
    return [*PYTHON, "-m", "dashboard.management", *(["--migrate"] if migrates else []), function, json.dumps(options)]


def finish(supervisor: Supervisor, process: subprocess.Popen[bytes]) -> int:
    """Keep the servers running until the process has ended, and return its exit status."""
    try:
        supervisor.wait(lambda: process.poll() is not None, math.inf, "")
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
    return process.returncode


def migrate(supervisor: Supervisor, variables: dict[str, str], data_dir: Path) -> None:
    """Migrate the database. Django's output goes to a log, and is shown only if it fails."""
    log = data_dir / "logs" / "migrate.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            django_command("migrate", "--noinput", "--skip-checks"),
            env=variables,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    if finish(supervisor, process):
        raise ServiceError(f"The database could not be brought up to date; the log is {log}:{tail(log)}")


def programs(
    host: str, port: int, workers: int, variables: dict[str, str], data_dir: Path, token: str = ""
) -> list[Program]:
    """Return the processes that docker-compose.yml and the Helm chart run too.

    Only web gets the start-up token, because workers pass their environment to the programs that kubeconfigs name.
    """
    celery = ("-m", "celery", "-A", "dashboard.celery", "--quiet")  # its banner is not a line of JSON
    worker = (*celery, "worker", "--without-gossip", "--without-mingle")  # workers need not hear of each other
    commands = {
        "web": ("-m", "dashboard.web", "--host", host, "--port", str(port)),
        "worker": (*worker, "--queues", "imports", "--concurrency", str(workers), "--loglevel", "INFO"),
        "periodic": (*worker, *PERIODIC, "--hostname", "periodic@%h", "--loglevel", "INFO"),
        "beat": (*celery, "beat", "--pidfile", "", "--loglevel", "INFO"),
    }
    others = {
        name: value for name, value in variables.items() if name not in {"CAUSELINE_TOKEN", "CAUSELINE_TOKEN_FILE"}
    }
    others["CAUSELINE_LOG_FORMAT"] = environment.text("CAUSELINE_LOG_FORMAT", "text")
    environments = {"web": others | {"CAUSELINE_TOKEN": token}}
    return [
        Program(
            name=name,
            command=[*PYTHON, *command],
            environment=environments.get(name, others),
            folder=data_dir,
            log=data_dir / "logs" / f"{name}.log",
        )
        for name, command in commands.items()
    ]


def await_page(supervisor: Supervisor, host: str, port: int) -> str:
    """Wait until the page answers, with any status (a public host name may lead elsewhere), and return its address."""
    import http.client  # late: few commands serve pages

    reach = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)

    def answers() -> bool:
        supervisor.refuse_deaths()
        connection = http.client.HTTPConnection(reach, port, timeout=5)
        try:
            connection.request("GET", "/healthz")
            connection.getresponse().read()
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()
        return True

    supervisor.wait(answers, START_SECONDS, f"The page does not answer within {START_SECONDS} s; see the logs.")
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def free_port(host: str, wanted: int | None) -> int:
    """Return the wanted port, or raise an error if it is in use. Without one, return the first free port of PORTS."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for port in [wanted] if wanted is not None else PORTS:
        with socket.socket(family) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host, port))
            except OSError as error:
                problem = error
                continue
            return int(probe.getsockname()[1])
    raise ServiceError(
        f"Cannot listen on {host} port {wanted if wanted is not None else f'{PORTS.start}-{PORTS.stop - 1}'}: "
        f"{problem.strerror}. Choose another with --port."
    )

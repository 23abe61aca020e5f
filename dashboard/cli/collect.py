"""`causeline collect`: watch the cluster in which this runs, and send what is observed to a Causeline elsewhere. No
database is needed."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from dashboard import __version__, environment
from dashboard.cli.record import api_by_kubeconfig
from dashboard.cli.terminal import give_up
from dashboard.services.locks import try_lock

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from collectors.watch.server.api import Api

_USUAL_BYTES = str(1024**3)


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command and its options."""
    command = commands.add_parser(
        "collect",
        help="watch a cluster from inside, and send what is observed to a Causeline elsewhere",
        epilog="Where to and what is in the variables CAUSELINE_COLLECT_URL, _CLUSTER, _TOKEN_FILE, _NAMESPACES, "
        "_INCLUDE, _EXCLUDE, _BUFFER_DIR, _BUFFER_BYTES and _CA_FILE. Exit status: 0 stopped, 1 the cluster cannot be "
        "used, 2 a variable is wrong, or the buffer cannot be written.",
    )
    command.add_argument("--kubeconfig", metavar="F", help="the kubeconfig of the cluster (the Pod's ServiceAccount)")
    command.add_argument(
        "--context", default="", metavar="C", help="the context of the kubeconfig (its current context)"
    )
    command.set_defaults(run=collect)


def collect(options: argparse.Namespace) -> int:
    """Collect until a signal comes. Return the exit status."""
    import logging.config

    from collectors.collecting.buffer import Buffer  # late: the command's help does not need it
    from collectors.collecting.collector import Collector
    from collectors.collecting.server import Server, Unusable
    from collectors.watch.server.failures import ApiError
    from dashboard import logs

    try:
        logging.config.dictConfig(
            logs.configuration(
                environment.text("CAUSELINE_LOG_FORMAT", "auto"), environment.text("CAUSELINE_LOG_LEVEL", "INFO")
            )
        )
        environment.redaction()
        server = Server(
            environment.text("CAUSELINE_COLLECT_URL"),
            environment.text("CAUSELINE_COLLECT_CLUSTER"),
            lambda: environment.text("CAUSELINE_COLLECT_TOKEN"),
            _path(os.environ.get("CAUSELINE_COLLECT_CA_FILE", "")),
        )
        environment.text("CAUSELINE_COLLECT_TOKEN")
        folder = Path(environment.text("CAUSELINE_COLLECT_BUFFER_DIR", "/var/lib/causeline-collector"))
        buffer = Buffer(folder, _bytes(environment.text("CAUSELINE_COLLECT_BUFFER_BYTES", _USUAL_BYTES)))
        used = (folder / "lock").open("w")
        if not try_lock(used):
            give_up(f"Another collector uses {folder}. Give each a folder of its own.")
    except (environment.SettingError, Unusable) as error:
        give_up(str(error))
    except OSError as error:
        give_up(f"The buffer cannot be used: {error.filename}: {error.strerror}.")
    connect = _connector(options)
    try:
        connect().close()
    except ApiError as error:
        give_up(str(error), 1)
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    Collector(
        connect,
        server,
        buffer,
        include=_words(environment.text("CAUSELINE_COLLECT_INCLUDE", "")),
        exclude=_words(environment.text("CAUSELINE_COLLECT_EXCLUDE", "")),
        namespaces=_words(environment.text("CAUSELINE_COLLECT_NAMESPACES", "")),
        version=__version__,
        alive=_alive(_path(os.environ.get("CAUSELINE_HEARTBEAT_FILE", ""))),
    ).run(stop)
    return 0


def _connector(options: argparse.Namespace) -> Callable[[], Api]:
    """Return a function that returns the API of the cluster that the options name, and raises ApiError."""
    from collectors.watch.server.api import Api

    if not options.kubeconfig:
        return Api.in_cluster
    path = Path(options.kubeconfig).expanduser().absolute()
    return lambda: api_by_kubeconfig([path], options.context)


def _alive(file: Path | None) -> Callable[[], None]:
    return file.touch if file else lambda: None


def _path(given: str) -> Path | None:
    return Path(given) if given else None


def _bytes(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or not 2**20 <= int(text) <= 10**15:
        raise environment.SettingError(
            f"CAUSELINE_COLLECT_BUFFER_BYTES is {text[:40]!r}; write a number of bytes from 1048576 to "
            "1000000000000000."
        )
    return int(text)


def _words(text: str) -> list[str]:
    return text.replace(",", " ").split()

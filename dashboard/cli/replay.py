"""`causeline replay`: serve a recording as a Kubernetes API, without servers and a database."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from dashboard import environment
from dashboard.cli import arguments
from dashboard.cli.terminal import say

if TYPE_CHECKING:
    import argparse

    from collectors.replay.commits import Tape

SPEEDS = "a number, or max: as fast as it is read"


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command and its options."""
    command = commands.add_parser(
        "replay",
        help="serve recordings as a Kubernetes API that kubectl and client libraries can read",
        epilog="Exit status: 0 stopped, 1 the port is taken, 2 input or command not understood.",
    )
    arguments.files(command)
    command.add_argument("--host", default="127.0.0.1", help="address to listen on (%(default)s)")
    command.add_argument(
        "--port", type=arguments.whole(0, 65_535), default=0, help="port to listen on (any that is free)"
    )
    command.add_argument("--speed", type=pace, default="1", help=f"{SPEEDS} (%(default)s)")
    command.add_argument("--at", type=instant, metavar="TIME", help="the time to begin at (the start of the recording)")
    command.add_argument("--loop", action="store_true", help="repeat the recording, each time as if it happened now")
    command.add_argument("--paused", action="store_true", help="wait until POST /replay/control says play")
    command.add_argument("--write-kubeconfig", metavar="FILE", help="write a kubeconfig for this API")
    command.add_argument(
        "--token-file",
        metavar="FILE",
        help="require the token in this file; the file is created if it does not exist",
    )
    command.set_defaults(run=replay)


def pace(text: str) -> float:
    """Return the speed of `--speed`, such as 2.5, or MAX for `max`. Raises ValueError."""
    from collectors.replay.clock import MAX

    if text == "max":
        return MAX
    speed = float(text)
    if not 0 < speed < float("inf"):
        raise ValueError(text)
    return speed


def instant(text: str) -> int:
    """Return microseconds since 1970 of a time such as 2026-11-21T07:52:00Z, by default in UTC. Raises ValueError."""
    from timeline.core import times

    return times.in_utc(text)


def replay(options: argparse.Namespace) -> int:
    """Serve recordings as a Kubernetes API until a signal ends it.

    Return the exit status: 0 ended by a signal, 1 it cannot listen, 2 the input or the command is not understood.
    """
    import asyncio

    from collectors.addresses import is_loopback
    from collectors.formats import NotARecording
    from collectors.replay.commits import tape
    from collectors.replay.token import token_in

    if options.loop and options.at is not None:
        say("--loop plays the whole recording as if it began now. Leave --at out.")
        return 2
    if not options.token_file and not is_loopback(options.host):
        say(
            f"Others can reach {options.host or 'every address of this machine'}: give --token-file FILE as well. "
            "If the file does not exist, it is created with a new token."
        )
        return 2
    try:
        token = token_in(Path(options.token_file)) if options.token_file else ""
        environment.redaction(keeps=False)  # nothing is stored, so the strict mode does not matter
        played = tape([(Path(name), name) for name in options.files], environment.limits())
    except (NotARecording, ValueError, OSError, environment.SettingError) as error:
        say(str(error))
        return 2
    try:
        asyncio.run(_serve(options, played, token))
    except OSError as error:
        say(f"{error.strerror or error}: choose another port with --port, or another file.")
        return 1
    return 0


async def _serve(options: argparse.Namespace, played: Tape, token: str) -> None:
    import asyncio

    import yaml

    from collectors.replay.serving import kubeconfig, replaying
    from collectors.replay.token import write_private

    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    file = Path(options.token_file) if options.token_file else None
    serving = replaying(
        played,
        host=options.host,
        port=options.port,
        speed=options.speed,
        paused=options.paused,
        at=options.at,
        loop=options.loop,
        token=token,
        token_file=file,
    )
    async with serving as url:
        if options.write_kubeconfig:
            text = yaml.safe_dump(kubeconfig(url, token_file=file and file.absolute()), sort_keys=False)
            write_private(Path(options.write_kubeconfig), text)
            say(f"kubectl --kubeconfig {options.write_kubeconfig} get pods -A")
        say(f"{len(played.commits)} changes of {len(played.resources)} resources; Ctrl-C stops")
        print(url)
        sys.stdout.flush()
        await stop.wait()

"""`python -m dashboard.services` runs the servers until its standard input ends or a signal comes.

Tests and benches start their servers with it. The first line on standard output is JSON: database_url, redis_url,
data_dir. When the process that started this one is killed, standard input ends, so the servers stop too.
Without --data-dir, all data is deleted at the end. With --copy-of, it begins as a copy of that data directory, which no
process may use meanwhile.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import select
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

from dashboard.services import ServiceError, Stopped, Supervisor, leave_root, serving


def _input_ended() -> bool:
    readable, _, _ = select.select([sys.stdin], [], [], 0)
    return bool(readable) and not os.read(sys.stdin.fileno(), 1024)


def main() -> None:
    """Print the addresses, then keep the servers running."""
    parser = argparse.ArgumentParser(prog="python -m dashboard.services")
    data = parser.add_mutually_exclusive_group()
    data.add_argument("--data-dir", type=Path)
    data.add_argument("--copy-of", type=Path)
    arguments = parser.parse_args()
    given: Path | None = arguments.data_dir

    def say(text: str) -> None:
        print(f"services: {text}", file=sys.stderr, flush=True)

    with contextlib.ExitStack() as stack:
        data_dir = given or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="causeline-data-")))
        if arguments.copy_of:
            subprocess.run(["cp", "-a", f"{arguments.copy_of}/.", data_dir], check=True)  # owners and modes, too
        try:
            leave_root(data_dir, say)
        except ServiceError as error:
            sys.exit(f"services: {error}")
        stack.enter_context(contextlib.suppress(Stopped))
        supervisor = stack.enter_context(Supervisor(say))
        try:
            addresses = stack.enter_context(serving(data_dir, supervisor, durable=given is not None, for_tests=True))
        except ServiceError as error:
            sys.exit(f"services: {error}")
        print(json.dumps(asdict(addresses) | {"data_dir": str(data_dir)}), flush=True)
        supervisor.wait(_input_ended, float("inf"), "")


if __name__ == "__main__":
    main()

"""`python -m dashboard.services [--data-dir D]` runs the servers until its standard input ends or a signal comes.

Tests and benches start their servers with it. The first line on standard output is JSON: database_url, redis_url,
data_dir. When the process that started this one is killed, standard input ends, so the servers stop too.
Without --data-dir, all data is deleted at the end.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import select
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
    parser.add_argument("--data-dir", type=Path)
    given: Path | None = parser.parse_args().data_dir

    def say(text: str) -> None:
        print(f"services: {text}", file=sys.stderr, flush=True)

    with contextlib.ExitStack() as stack:
        data_dir = given or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="causeline-data-")))
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

"""This module runs the command `causeline` in processes of its own, which start servers of their own."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from typing import TYPE_CHECKING

from tests import ROOT
from tests.patience import patient

if TYPE_CHECKING:
    from collections.abc import Iterator

OWN_SERVERS = {"DATABASE_URL": "", "REDIS_URL": "", "CAUSELINE_SECRET_KEY": "", "CAUSELINE_LOGIN": ""}


@contextlib.contextmanager
def causeline(*arguments: str, **variables: str) -> Iterator[subprocess.Popen[str]]:
    """Yield the running command. When a test fails, the command is ended and its output is shown."""
    with subprocess.Popen(
        [sys.executable, "-m", "dashboard.cli", *arguments],
        cwd=ROOT,
        env=os.environ | variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            yield process
        except BaseException:
            process.terminate()
            print(*process.communicate(timeout=patient(60)), sep="\n")  # pytest shows this output
            raise
        process.terminate()


def finished(*arguments: str, **variables: str) -> tuple[int, str, str]:
    """Return exit status, output and errors of a command that ends by itself."""
    with causeline(*arguments, **variables) as process:
        output, errors = process.communicate(timeout=patient(60))
    return process.returncode, output, errors

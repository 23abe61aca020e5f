"""This module runs the command `causeline`, in this process or in another one, without a server."""

import io
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from unittest.mock import patch

from dashboard.cli.__main__ import main
from tests.patience import patient

ENVIRONMENT = {"PATH": "/usr/bin:/bin"}


def causeline(*arguments: str | Path, columns: int = 100) -> tuple[int, str, str]:
    """Run the command in this process with a terminal of this width, and return exit status, output and errors."""
    output, errors = io.BytesIO(), io.BytesIO()
    with (
        patch.dict(os.environ, ENVIRONMENT | {"COLUMNS": str(columns)}, clear=True),
        redirect_stdout(io.TextIOWrapper(output, encoding="utf-8", write_through=True)),
        redirect_stderr(io.TextIOWrapper(errors, encoding="utf-8", write_through=True)),
    ):
        status = main([*map(str, arguments)])
        return status, output.getvalue().decode(), errors.getvalue().decode()


def process(*arguments: str | Path, stdin: bytes = b"", **variables: str) -> tuple[int, str, str]:
    """Run the command in another process with these variables, and return exit status, output and errors."""
    command = [sys.executable, "-m", "dashboard.cli", *map(str, arguments)]
    environment = ENVIRONMENT | variables
    done = subprocess.run(command, input=stdin, capture_output=True, env=environment, timeout=patient(60), check=False)
    return done.returncode, done.stdout.decode(), done.stderr.decode()

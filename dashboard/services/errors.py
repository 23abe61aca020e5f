"""The errors of starting programs and of keeping them running."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


class ServiceError(Exception):
    """A program could not be started; the message says what happened, where, and what to do."""


class Stopped(Exception):
    """Somebody asked this process to end (Ctrl-C, SIGTERM) while it was busy or waiting."""


class AlreadyServed(ServiceError):
    """Another process serves this data directory."""

    def __init__(self, data_dir: Path, pid: int | None) -> None:
        super().__init__(
            f"{data_dir} is already served by process {pid or '(just starting)'}. "
            "Stop that one first, or choose another folder with --data-dir."
        )
        self.pid = pid


def tail(log: Path, lines: int = 12) -> str:
    """Return the end of a log, to show it below an error: most people never open the file."""
    try:
        text = log.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return "".join(f"\n  | {line}" for line in text.splitlines()[-lines:])

"""What a supervisor is told about a program."""

from __future__ import annotations

import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dashboard.services.accounts import Account

GUARD = Path(__file__).with_name("guard.py")


@dataclass(frozen=True)
class Program:
    """What to run, and how it wants to be ended."""

    name: str
    command: Sequence[str]
    environment: Mapping[str, str]
    folder: Path  # becomes its working folder, even if the account could not walk there
    log: Path
    account: Account | None = None
    stop_signal: signal.Signals = signal.SIGTERM
    stop_seconds: float = 4
    death_signal: signal.Signals = signal.SIGKILL  # when the supervisor dies: its servers are gone then, too
    lock: Path | None = None
    leftovers: Sequence[Path] = ()  # what a killed run leaves behind and the next one would believe
    standard_input: Path | None = None


def guarded(
    command: Sequence[str],
    folder: Path,
    account: Account | None,
    death_signal: signal.Signals = signal.SIGKILL,
    pipe: int = -1,
) -> list[str]:
    """The command line that runs `command` behind the guard."""
    uid, gid = (account.uid, account.gid) if account else (-1, -1)
    numbers = (uid, gid, os.getpid(), int(death_signal), pipe)
    return [sys.executable, "-I", "-S", str(GUARD), *map(str, numbers), str(folder), *command]

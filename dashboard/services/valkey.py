"""Run Valkey 9 on a free loopback port, with a long random password and an append-only file.

It uses a port and not a socket because all clients read `redis://` alike, but write a socket's address differently.
"""

from __future__ import annotations

import os
import secrets
import signal
import socket
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from dashboard.services.program import Program

if TYPE_CHECKING:
    from pathlib import Path

    from dashboard.services.accounts import Account
    from dashboard.services.binaries import Binaries

LOOPBACK = "127.0.0.1"
PORTS = range(20_000, 32_000)  # below the ports of outgoing connections, so it is still free at a restart


def new_url() -> str:
    """Return an address with a port that is free now and a new password."""
    while True:
        port = secrets.choice(PORTS)
        with socket.socket() as probe:
            if probe.connect_ex((LOOPBACK, port)) == 0:
                continue
            try:
                probe.bind((LOOPBACK, port))
            except OSError:
                continue
        return f"redis://:{secrets.token_urlsafe(32)}@{LOOPBACK}:{port}/0"


def program(folder: Path, address: str, binaries: Binaries, account: Account | None, log: Path) -> Program:
    """Return the server's program. It reads its settings, with the password, from a file only its owner can open."""
    parts = urlsplit(address)
    settings = folder.with_suffix(".conf")
    descriptor = os.open(settings, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(
            f"bind {LOOPBACK}\nport {parts.port}\nrequirepass {parts.password}\n"
            'appendonly yes\nappendfsync everysec\nsave ""\n'
        )
    return Program(
        name="valkey",
        command=[str(binaries.valkey), "-"],
        environment={"LC_ALL": "C", "TZ": "UTC"},
        folder=folder,
        log=log,
        account=account,
        stop_signal=signal.SIGTERM,
        stop_seconds=5,
        death_signal=signal.SIGTERM,
        lock=folder.with_suffix(".lock"),
        standard_input=settings,
    )


def answers(address: str) -> bool:
    """Return whether the server has loaded its file and accepts commands."""
    parts = urlsplit(address)
    try:
        with socket.create_connection((LOOPBACK, parts.port or 0), timeout=2) as connection:
            connection.sendall(f"AUTH {parts.password}\r\nPING\r\n".encode())
            reply = b""
            while chunk := connection.recv(1024):
                reply += chunk
                if reply.count(b"\r\n") == 2:
                    break
    except OSError:
        return False
    return reply.endswith(b"+PONG\r\n")

"""This module has servers that send whatever a test wants, and the kubeconfigs that lead to them."""

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable
from typing import Any

Send = Callable[[bytes], None]
TOKEN = "pl4nted-t0ken"


class Server:
    """This server gives each request (its first line) to a function that may send anything, and keeps the heads."""

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        self.answer: Callable[[bytes, Send], None] = lambda line, send: None
        self.heads: list[bytes] = []
        self.certified = False  # whether the last client has shown a certificate
        self._context = context
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._socket.getsockname()[1])
        self.url = f"{'https' if context else 'http'}://127.0.0.1:{self.port}"
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                self._open.append(self._socket.accept()[0])
                threading.Thread(target=self._serve, args=(self._open[-1],), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with contextlib.suppress(OSError), client:
            if not self._context:
                self._answer(client)
                return
            with self._context.wrap_socket(client, server_side=True) as wire:
                self.certified = bool(wire.getpeercert())
                while self._answer(wire):
                    pass

    def _answer(self, wire: socket.socket) -> bool:
        with wire.makefile("rb") as lines:
            if line := lines.readline():
                self.heads.append(line + b"".join(iter(lines.readline, b"\r\n")))
                self.answer(line, wire.sendall)
            return bool(line)

    def close(self) -> None:
        for each in (self._socket, *self._open):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()


def kubeconfig(server: str, user: dict[str, Any] | None = None, **cluster: str) -> dict[str, Any]:
    """Return a kubeconfig of one cluster, with other fields of the cluster (`proxy_url` is proxy-url)."""
    fields = {"server": server} | {name.replace("_", "-"): value for name, value in cluster.items() if value}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": fields}],
        "users": [{"name": "u", "user": {"token": TOKEN} if user is None else user}],
    }

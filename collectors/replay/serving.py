"""Start a replay: in this process until it is stopped, or in a thread beside a test."""

import asyncio
import json
import threading
import time
import urllib.request
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any

from collectors.addresses import is_loopback
from collectors.replay.api import Api
from collectors.replay.clock import MAX
from collectors.replay.commits import Tape, tape
from collectors.replay.control import Control
from collectors.replay.faults import Faults
from collectors.replay.http import Server
from collectors.replay.player import Player

NAME = "causeline-replay"  # name of the cluster, the user and the context in a kubeconfig
_REQUEST_SECONDS = 30


class Replay:
    """A client of a running replay."""

    def __init__(self, url: str, token: str = "") -> None:
        self.url = url
        self.token = token

    @property
    def kubeconfig(self) -> dict[str, Any]:
        """Return a kubeconfig for the replay."""
        return kubeconfig(self.url, self.token)

    def control(self, **order: Any) -> dict[str, Any]:
        """Send a ControlRequest (`collectors.replay.control`), and return the status. Raise urllib's HTTPError."""
        status = self._request("/replay/control", json.dumps(order).encode())
        self.token = order.get("token") or self.token
        return status

    def status(self) -> dict[str, Any]:
        """Return its status. Raise urllib's HTTPError."""
        return self._request("/replay/status")

    def _request(self, path: str, body: bytes | None = None) -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        request = urllib.request.Request(self.url + path, body, headers)
        with urllib.request.urlopen(request, timeout=_REQUEST_SECONDS) as answer:
            status: dict[str, Any] = json.load(answer)
            return status


def kubeconfig(url: str, token: str = "", token_file: Path | None = None) -> dict[str, Any]:
    """Return a kubeconfig for kubectl and client libraries."""
    user = {"tokenFile": str(token_file)} if token_file else {"token": token} if token else {}
    context = {"cluster": NAME, "user": NAME}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": NAME, "cluster": {"server": url}}],
        "users": [{"name": NAME, "user": user}],
        "contexts": [{"name": NAME, "context": context}],
        "current-context": NAME,
    }


@asynccontextmanager
async def replaying(
    played: Tape,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    speed: float = 1,
    paused: bool = False,
    at: int | None = None,
    loop: bool = False,
    token: str = "",
    token_file: Path | None = None,
    bookmark_seconds: float = 60,
) -> AsyncIterator[str]:
    """Run a replay in the running event loop, and yield its address. `at` is the time at which it begins, in µs.

    Raise OSError if the port is taken, and ValueError if other machines can reach the address and there is no token.
    """
    if not token and not is_loopback(host):
        raise ValueError(f"{host} can be reached from other machines, so it needs a token.")
    now = time.time_ns() // 1000 if loop else None
    player = Player(played, speed=speed, playing=not paused, at=at, now=now)
    api = Api(player, Faults(), bookmark_seconds=bookmark_seconds)
    control = Control(player, api, token, token_file)
    server = control.server = Server(control.answer, control.date, control.admit)
    await server.listen(host, port)
    shown = f"[{host}]" if ":" in host else host
    api.address = f"{shown}:{server.port}"
    playing = asyncio.create_task(player.run())
    try:
        yield f"http://{api.address}"
    finally:
        playing.cancel()
        await server.close()
        with suppress(asyncio.CancelledError):
            await playing


@contextmanager
def serve(
    inputs: Sequence[Path] | Tape, *, speed: float | str = 1, token: str = "", **options: Any
) -> Iterator[Replay]:
    """Run a replay in a thread of its own, on a free port of this machine; `options` are those of `replaying`.

    Raise NotARecording for recordings that cannot be replayed.
    """
    played = inputs if isinstance(inputs, Tape) else tape([(path, path.name) for path in inputs])
    pace = MAX if speed == "max" else float(speed)
    ready = threading.Event()
    urls: list[str] = []
    failed: list[BaseException] = []
    loop = asyncio.new_event_loop()
    stop = asyncio.Event()

    async def run() -> None:
        async with replaying(played, speed=pace, token=token, **options) as url:
            urls.append(url)
            ready.set()
            await stop.wait()

    def thread() -> None:
        try:
            loop.run_until_complete(run())
        except BaseException as error:
            failed.append(error)
        finally:
            ready.set()
            loop.close()

    running = threading.Thread(target=thread, name="replay", daemon=True)
    running.start()
    ready.wait()
    if failed:
        raise failed[0]
    try:
        yield Replay(urls[0], token)
    finally:
        loop.call_soon_threadsafe(stop.set)
        running.join()
    if failed:
        raise failed[0]

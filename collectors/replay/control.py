"""Control a running replay (POST /replay/control) and show its state (GET /replay/status)."""

import asyncio
import hmac
import re
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from collectors.addresses import is_loopback
from collectors.replay.answers import StatusError, json
from collectors.replay.api import HEALTH, Api
from collectors.replay.clock import MAX
from collectors.replay.faults import Fault
from collectors.replay.http import Request, Response, Server, StreamingBody
from collectors.replay.player import Player
from collectors.replay.token import PATTERN, write_private
from timeline.core.entries import moment

_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+)(?::[0-9]*)?")  # the header Host, with its port
_Count = Annotated[int, msgspec.Meta(ge=0)]
_More = Annotated[float, msgspec.Meta(gt=0)]
_Token = Annotated[str, msgspec.Meta(pattern=PATTERN, max_length=4096)]
_Shift = Annotated[float, msgspec.Meta(ge=-1e9, le=1e9)]


class ControlRequest(msgspec.Struct, forbid_unknown_fields=True):
    """The body of a control request. A field that is left out changes nothing."""

    play: bool | None = None
    speed: _More | Literal["max"] | None = None
    step: _Count = 0  # play so many commits immediately
    bookmark: bool = False  # send a bookmark to every watch now
    bookmark_seconds: _More | None = None  # seconds between two bookmarks of a watch
    faults: list[Fault] = []
    clear: bool = False  # remove the faults that are still armed, before `faults` are added
    deny: list[str] | None = None  # the resources that are forbidden from now on
    namespaces: list[str] | None = None  # the only ones that may be read from now on; [] allows everything
    token: _Token | None = None  # the only token that is accepted from now on
    date: _Shift | None = None  # seconds by which the Date header is wrong
    compact: bool = False  # forget older resourceVersions, as etcd compaction does
    # Return to the state after so many commits, as an etcd restore does; connections are reset.
    restore: _Count | None = None
    disconnect: bool = False  # reset all connections
    away: _More | None = None  # refuse connections for so many seconds


class Control:
    """Answer the control requests, and pass all others on."""

    def __init__(self, player: Player, api: Api, token: str = "", token_file: Path | None = None) -> None:
        """Accept only requests with `token`; "" accepts every program of this machine."""
        self._player = player
        self._api = api
        self._token, self._token_file = token, token_file
        self.server: Server
        self.date_offset = 0.0  # seconds that are added to the Date header
        self._later: set[asyncio.Task[None]] = set()  # tasks that run after their answer was sent

    def date(self) -> float:
        """Return the time of the Date header, in seconds since 1970."""
        return self._player.clock.now() / 1e6 + self.date_offset

    def admit(self, request: Request) -> Response | None:
        """Return the answer to a request that is not admitted, by its head alone; None if it is admitted."""
        if "origin" in request.headers or (is_loopback(self.server.host) and not _is_local(request)):
            return StatusError(403, "this replay does not answer web pages in a browser").answer()
        if self._token and request.path not in HEALTH:
            header = request.headers.get("authorization", "").encode(errors="replace")
            if not hmac.compare_digest(header, f"Bearer {self._token}".encode()):
                return StatusError(401, "Unauthorized").answer()
        return None

    async def answer(self, request: Request) -> Response | StreamingBody | None:
        """Answer a request; None: close the connection without an answer."""
        if request.path == "/replay/status":
            return json(self.status())
        if request.path != "/replay/control":
            return await self._api.answer(request)
        if request.method != "POST":
            return StatusError(405, "use POST to control the replay").answer()
        try:
            self.apply(msgspec.json.decode(request.body, type=ControlRequest))
        except (msgspec.ValidationError, msgspec.DecodeError, ValueError) as error:
            return StatusError(400, str(error)).answer()
        return json(self.status())

    def apply(self, order: ControlRequest) -> None:
        """Apply a control request. Raise ValueError for what cannot be done."""
        player, api = self._player, self._api
        if order.restore is not None:
            player.revisions_at(order.restore)
        if order.step:
            player.step(order.step)
        if order.clear:
            api.faults.armed.clear()
        api.faults.arm(order.faults)
        if order.deny is not None:
            api.denied = set(order.deny)
        if order.namespaces is not None:
            api.namespaces = set(order.namespaces)
        if order.token is not None:
            self._token = order.token
            if self._token_file:
                write_private(self._token_file, order.token)
        if order.bookmark_seconds is not None:
            api.set_bookmark_interval(order.bookmark_seconds)
        if order.date is not None:
            self.date_offset = order.date
        if order.compact:
            player.history.compact()
        if order.restore is not None:
            player.go_back(order.restore)
        if order.faults:
            for reader in player.readers:
                reader.wake.set()
        player.configure(playing=order.play, speed=MAX if order.speed == "max" else order.speed)
        if order.bookmark or order.bookmark_seconds is not None:
            player.send_bookmarks()
        if order.away is not None:
            self._after_answer(self.server.away(order.away))
        elif order.disconnect or order.restore is not None:
            self._after_answer(self.server.disconnect())

    def status(self) -> dict[str, Any]:
        """Return the document of GET /replay/status."""
        player = self._player
        history = player.history
        open_watches: dict[str, int] = {}
        for reader in player.readers:
            open_watches[reader.resource.name] = open_watches.get(reader.resource.name, 0) + 1
        return {
            "playing": player.playing,
            "speed": player.clock.speed or "max",
            "time": moment(player.clock.now()).isoformat(),
            "begins": moment(player.tape.begins).isoformat(),
            "ends": moment(player.tape.ends).isoformat(),
            "lap": player.lap,
            "place": player.position,
            "commits": len(player.times),
            "ended": player.ended,
            "revisions": {log.resource.name: str(history.revision(log.resource)) for log in history.logs.values()},
            "objects": {log.resource.name: len(log.state) for log in history.logs.values()},
            "watches": open_watches,
            "requests": dict(self._api.requests),
            "faults": {"armed": msgspec.to_builtins(self._api.faults.armed), "struck": self._api.faults.applied},
        }

    def _after_answer(self, task: Any) -> None:
        """Run a task after the answer to the current request was sent."""

        async def later() -> None:
            await asyncio.sleep(0.05)
            await task

        running = asyncio.ensure_future(later())
        self._later.add(running)
        running.add_done_callback(self._later.discard)


def _is_local(request: Request) -> bool:
    """Return whether the Host header names this machine itself, and not another name that resolves to it."""
    found = _HOST.fullmatch(request.headers.get("host", ""))
    return bool(found and is_loopback(found[1]))

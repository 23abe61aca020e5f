"""What a test or a person tells a replay while it runs, by POST /replay/control; how it is, GET /replay/status."""

import asyncio
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from collectors.replay.answers import Refused, json
from collectors.replay.api import Api
from collectors.replay.clock import MAX
from collectors.replay.faults import Fault
from collectors.replay.http import Answer, Request, Server, Streaming
from collectors.replay.player import Player
from timeline.entries import moment

_Count = Annotated[int, msgspec.Meta(ge=0)]
_More = Annotated[float, msgspec.Meta(gt=0)]


class Order(msgspec.Struct, forbid_unknown_fields=True):
    """What is left out stays as it is."""

    play: bool | None = None
    speed: _More | Literal["max"] | None = None
    step: _Count = 0  # play so many commits at once
    bookmark: bool = False  # to every watch, now
    bookmark_seconds: _More | None = None
    faults: list[Fault] = []
    clear: bool = False  # forget the faults that are still to come, before new ones
    deny: list[str] | None = None  # resources that are forbidden from now on
    token: str | None = None  # the only one that is taken from now on; "" lets everybody in
    date: float | None = None  # seconds by which the Date of answers is wrong
    compact: bool = False  # forget what was before now: older revisions are gone
    restore: _Count | None = None  # go back to what was after so many commits; connections are reset
    disconnect: bool = False  # reset all connections
    away: _More | None = None  # refuse connections for so many seconds, from now on


class Control:
    """Answers what is meant for the replay itself, and hands on everything else."""

    def __init__(self, player: Player, api: Api, token_file: Path | None = None) -> None:
        self._player = player
        self._api = api
        self._token_file = token_file
        self.server: Server
        self.ahead = 0.0  # of the Date header, seconds
        self._later: set[asyncio.Task[None]] = set()

    def date(self) -> float:
        return self._player.clock.now() / 1e6 + self.ahead

    async def answer(self, request: Request) -> Answer | Streaming | None:
        if _is_loopback(self.server.host) and not _is_local(request):
            return Refused(403, "this replay answers programs of its own machine, and no pages of others").answer()
        if request.path == "/replay/status":
            return json(self.status())
        if request.path != "/replay/control":
            return await self._api.answer(request)
        if request.method != "POST":
            return Refused(405, "POST what is to be done").answer()
        try:
            self.obey(msgspec.json.decode(request.body, type=Order))
        except (msgspec.ValidationError, msgspec.DecodeError, ValueError) as error:
            return Refused(400, str(error)).answer()
        return json(self.status())

    def obey(self, order: Order) -> None:
        """Raises ValueError for what cannot be done."""
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
        if order.token is not None:
            api.token = order.token
            if self._token_file:
                self._token_file.write_text(order.token, encoding="utf-8")
        if order.bookmark_seconds is not None:
            api.every(order.bookmark_seconds)
        if order.date is not None:
            self.ahead = order.date
        if order.compact:
            player.history.compact()
        if order.restore is not None:
            player.go_back(order.restore)
        if order.faults:
            for reader in player.readers:
                reader.wake.set()
        player.steer(playing=order.play, speed=MAX if order.speed == "max" else order.speed)
        if order.bookmark or order.bookmark_seconds is not None:
            player.told()
        if order.away is not None:
            self._soon(self.server.away(order.away))
        elif order.disconnect or order.restore is not None:
            self._soon(self.server.disconnect())

    def status(self) -> dict[str, Any]:
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
            "place": player.place,
            "commits": len(player.times),
            "ended": player.ended,
            "revisions": {log.resource.name: str(history.revision(log.resource)) for log in history.logs.values()},
            "objects": {log.resource.name: len(log.state) for log in history.logs.values()},
            "watches": open_watches,
            "requests": dict(self._api.requests),
            "faults": {"armed": msgspec.to_builtins(self._api.faults.armed), "struck": self._api.faults.struck},
        }

    def _soon(self, task: Any) -> None:
        """After the answer to whoever ordered it is on its way."""

        async def later() -> None:
            await asyncio.sleep(0.05)
            await task

        running = asyncio.ensure_future(later())
        self._later.add(running)
        running.add_done_callback(self._later.discard)


def _is_local(request: Request) -> bool:
    """Whether a program of this machine asks, not a page in its browser: that bears its origin, or another host."""
    host = request.headers.get("host", "").rpartition(":")[0] or request.headers.get("host", "")
    return "origin" not in request.headers and _is_loopback(host.strip("[]"))


def _is_loopback(host: str) -> bool:
    return host in ("localhost", "::1") or host.startswith("127.")

"""WebSockets: check permission, subscribe, forward. Nothing else happens here."""

import asyncio
from typing import Any

from channels.generic.websocket import AsyncWebsocketConsumer
from django.conf import settings

from dashboard.hub import hub

UNAUTHORISED = 4401


class UploadsConsumer(AsyncWebsocketConsumer):
    """Forwards every change of every upload as a text frame of JSON."""

    _forwarding: asyncio.Task[None] | None = None

    async def connect(self) -> None:
        user = self.scope.get("user")
        if settings.LOGIN_REQUIRED and not (user and user.is_authenticated):
            await self.accept()  # a browser is told the code of an open connection only
            await self.close(code=UNAUTHORISED)
            return
        self._forwarding = asyncio.create_task(self._forward())

    async def disconnect(self, code: int) -> None:
        if self._forwarding:
            self._forwarding.cancel()

    async def receive(self, text_data: Any = None, bytes_data: Any = None) -> None:
        """Browsers only listen here."""

    async def _forward(self) -> None:
        async with hub.subscribe("uploads") as queue:
            await self.accept()  # only now: what the page fetches when it is open, and what it is told, leave no gap
            while True:
                await self.send(text_data=(await queue.get()).decode())

"""This module asks the parts of the web process that answer before Django, in this process."""

import asyncio
from collections.abc import Callable
from typing import Any

import httpx


async def never(*_: Any) -> None:
    raise AssertionError("the request was not answered")


def answer_of(layer: Callable[[Any], Any], method: str, path: str, **options: Any) -> httpx.Response:
    async def send() -> httpx.Response:
        transport = httpx.ASGITransport(layer(never))
        async with httpx.AsyncClient(transport=transport, base_url="http://causeline") as client:
            return await client.request(method, path, **options)

    return asyncio.run(send())

"""Read the HTTP API, of a Causeline elsewhere or of the one in this process."""

from collections.abc import Callable
from typing import Any, NamedTuple

import httpx
import orjson

from dashboard.agents.reader import Parameters, Payload, QuestionRefused

SECONDS = 60.0  # how long an answer may take
BYTES = 64 * 1024**2  # of an answer, at most; the API's own answers are far smaller


class Caller(NamedTuple):
    """Where to ask, and on whose behalf."""

    address: str  # "https://causeline.example.com"
    authorization: str  # the header; "" where nobody has to sign in


class Api:
    """Read the HTTP API with the token of the caller, and so see what the token may see."""

    def __init__(self, caller: Callable[[], Caller], transport: httpx.AsyncBaseTransport | None = None) -> None:
        """`caller` is asked for each request. With `transport`, requests go there instead of to the network."""
        self._caller = caller
        self._client = httpx.AsyncClient(transport=transport, timeout=SECONDS)

    @property
    def address(self) -> str:
        return self._caller().address

    async def sources(self) -> Payload:
        return await self._get("/sources", {})

    async def incidents(self, source: int | None, asked: Parameters) -> Payload:
        return await self._get("/incidents" if source is None else f"/sources/{source}/incidents", asked)

    async def incident(self, source: int, identity: str) -> Payload:
        return await self._get(f"/sources/{source}/incidents/{identity}", {})

    async def findings(self, source: int, asked: Parameters) -> Payload:
        return await self._get(f"/sources/{source}/findings", asked)

    async def finding(self, source: int, identity: str) -> Payload:
        return await self._get(f"/sources/{source}/findings/{identity}", {})

    async def events(self, source: int, asked: Parameters) -> Payload:
        return await self._get(f"/sources/{source}/events", asked)

    async def track(self, source: int, track: int) -> Payload:
        return await self._get(f"/sources/{source}/tracks/{track}", {})

    async def revisions(self, source: int, track: int, asked: Parameters) -> Payload:
        return await self._get(f"/sources/{source}/tracks/{track}/revisions", {**asked, "differences": True})

    async def changes(self, source: int, asked: Parameters) -> Payload:
        return await self._get(f"/sources/{source}/changes", asked)

    async def coverage(self, source: int) -> Payload:
        return await self._get(f"/sources/{source}/coverage", {})

    async def search(self, source: int, words: str) -> Payload:
        return await self._get(f"/sources/{source}/search", {"q": words})

    async def resolve(self, asked: Parameters) -> Payload:
        return await self._get("/resolve", asked)

    async def rules(self) -> list[Payload]:
        rules: list[Payload] = await self._any("/rules", {})
        return rules

    async def _get(self, path: str, asked: Parameters) -> Payload:
        payload: Payload = await self._any(path, asked)
        return payload

    async def _any(self, path: str, asked: Parameters) -> Any:
        caller = self._caller()
        headers = {"Authorization": caller.authorization} if caller.authorization else {}
        given = {name: value for name, value in asked.items() if value is not None}
        try:
            async with self._client.stream(
                "GET", f"{caller.address}/api{path}", params=given, headers=headers
            ) as answer:
                return _payload(answer, await _body(answer))
        except httpx.HTTPError as error:
            raise QuestionRefused(
                f"Causeline at {caller.address} does not answer: {error or type(error).__name__}."
            ) from None


async def _body(answer: httpx.Response) -> bytes:
    body = bytearray()
    async for piece in answer.aiter_bytes():
        body += piece
        if len(body) > BYTES:
            raise QuestionRefused(f"The answer is larger than {BYTES} bytes. Ask for less.")
    return bytes(body)


def _payload(answer: httpx.Response, body: bytes) -> Any:
    try:
        payload = orjson.loads(body)
    except ValueError:
        payload = None
    if answer.is_success and payload is not None:
        return payload
    if isinstance(payload, dict) and "title" in payload:  # a problem document
        raise QuestionRefused(f"{payload['title']}. {payload.get('detail', '')}".strip())
    raise QuestionRefused(f"This is not the API of Causeline: the answer has status {answer.status_code}.")

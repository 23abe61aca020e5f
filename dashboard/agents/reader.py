"""Define what tools can ask: the same questions, with the same payloads, as the HTTP API answers."""

from collections.abc import Mapping
from typing import Any, Protocol

Parameters = Mapping[str, str | int | bool | None]  # those that are None are not given
Payload = dict[str, Any]  # of `timeline.payloads`


class QuestionRefused(Exception):
    """A question cannot be answered. The message is a sentence that says why and what to do."""


class Reader(Protocol):
    """Answer the questions of tools. Payloads are those of the HTTP API; errors are `QuestionRefused`."""

    @property
    def address(self) -> str:
        """Return the address of Causeline, to which the addresses of payloads are relative; "" without a server."""

    async def sources(self) -> Payload: ...

    async def incidents(self, source: int | None, asked: Parameters) -> Payload: ...

    async def incident(self, source: int, identity: str) -> Payload: ...

    async def findings(self, source: int, asked: Parameters) -> Payload: ...

    async def finding(self, source: int, identity: str) -> Payload: ...

    async def events(self, source: int, asked: Parameters) -> Payload: ...

    async def track(self, source: int, track: int) -> Payload: ...

    async def revisions(self, source: int, track: int, asked: Parameters) -> Payload: ...

    async def changes(self, source: int, asked: Parameters) -> Payload: ...

    async def coverage(self, source: int) -> Payload: ...

    async def search(self, source: int, words: str) -> Payload: ...

    async def resolve(self, asked: Parameters) -> Payload: ...

    async def rules(self) -> list[Payload]: ...

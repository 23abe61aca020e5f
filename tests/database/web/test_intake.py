"""These tests send bodies slowly, together and too long: whoever holds the token of one cluster takes nothing from the
others."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from collectors import readers
from dashboard.web import intake
from dashboard.web.intake import Answered, Intake

SCOPE: dict[str, Any] = {"headers": []}


async def whole() -> Any:
    return {"type": "http.request", "body": b"body", "more_body": False}


async def stalled() -> Any:
    await asyncio.sleep(3600)


class Requests:
    """These are requests to one intake."""

    def __init__(self, of_cluster: int) -> None:
        self._intake = Intake(of_cluster)
        self.release = asyncio.Event()
        self.reading: list[int] = []  # the clusters of which a body is read

    async def send(self, cluster: int, receive: Callable[[], Awaitable[Any]] = whole) -> int:
        """Send a body and let it be read until `release` is set; return the status of the answer."""
        try:
            async with self._intake.turn(cluster, dict(SCOPE), receive, 100) as body:
                assert body.read() == b"body"
                self.reading.append(cluster)
                await self.release.wait()
                self.reading.remove(cluster)
            return 200
        except Answered as answer:
            assert answer.retry
            return answer.status

    def begin(self, cluster: int, receive: Callable[[], Awaitable[Any]] = whole) -> asyncio.Task[int]:
        return asyncio.create_task(self.send(cluster, receive))


async def a_moment() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


def test_bodies_that_arrive_slowly_keep_nobody_out() -> None:
    async def run() -> None:
        requests = Requests(3)
        slow = [requests.begin(1, stalled) for _ in range(3)]
        await a_moment()
        quick, other = requests.begin(1), requests.begin(2)
        await a_moment()
        assert sorted(requests.reading) == [1, 2]
        assert [each.done() for each in slow] == [True, False, False]
        assert await slow[0] == 408  # it had been arriving for the longest time
        requests.release.set()
        assert (await quick, await other) == (200, 200)
        for each in slow[1:]:
            each.cancel()

    asyncio.run(run())


def test_each_cluster_has_one_turn_at_a_time() -> None:
    async def run() -> None:
        requests = Requests(3)
        many = [requests.begin(1) for _ in range(4)]
        await a_moment()
        other = requests.begin(2)
        await a_moment()
        assert requests.reading == [1, 2]
        assert await many[3] == 429
        requests.release.set()
        assert [await each for each in [*many[:3], other]] == [200] * 4
        assert await requests.send(1) == 200

    asyncio.run(run())


def test_no_more_bodies_are_read_than_there_are_processes() -> None:
    async def run() -> None:
        requests = Requests(3)
        sent = [requests.begin(cluster) for cluster in range(readers.AT_ONCE + 2)]
        await a_moment()
        assert len(requests.reading) == readers.AT_ONCE
        requests.release.set()
        assert [await each for each in sent] == [200] * len(sent)

    asyncio.run(run())


def test_a_body_has_to_arrive_within_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intake, "BODY_SECONDS", 0.01)
    assert asyncio.run(Requests(3).send(1, stalled)) == 408


def test_a_body_that_is_too_long_or_cut_off_is_refused() -> None:
    async def long() -> Any:
        return {"type": "http.request", "body": b"x" * 101, "more_body": True}

    async def cut() -> Any:
        return {"type": "http.disconnect"}

    async def run() -> None:
        for receive, status in ((long, 413), (cut, 400)):
            with pytest.raises(Answered) as refused:
                async with Intake(1).turn(1, dict(SCOPE), receive, 100):
                    pass
            assert refused.value.status == status

    asyncio.run(run())

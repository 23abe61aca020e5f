"""This module watches a replay in tests: it runs reflectors in threads, keeps what they observe, and waits for it."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from collectors.replay import Replay, serve
from collectors.replay.commits import Tape, tape
from collectors.watch.server.api import Api
from collectors.watch.server.files import Allowed
from collectors.watch.server.kubeconfig import Kubeconfig, own
from collectors.watch.streams.reflector import Reflector
from collectors.watch.streams.resources import Resource, resources
from tests import DATA
from tests.patience import eventually, patient
from timeline.core.entries import Entry, Mark, MarkType, Observation

WATCH = DATA / "objects" / "watch"
LONG = 15.0  # seconds after which all watches have to run again after any fault
SHORT: dict[str, Any] = {"connect": 1.0, "read": 1.0, "silence": (0.5, 1.0)}  # seconds


def until(holds: Callable[[], Any], seconds: float = LONG) -> None:
    """Wait until the condition holds. Raises AssertionError if it does not hold in time."""
    eventually(holds, seconds, every=0.01)


class Watching:
    """This class runs the reflector of one resource in a thread, and keeps what it observes."""

    def __init__(self, api: Api, resource: Resource, *, resume: int | None = None, **options: Any) -> None:
        self.batches: list[list[Observation]] = []
        self.states: list[tuple[str, str]] = []
        self.stop = threading.Event()
        standing: Mapping[str, Any] = options.pop("standing", {})
        self.reflector = Reflector(
            api,
            resource,
            options.pop("deliver", self.batches.append),
            known_objects=standing,
            resume_from=resume,
            report_state=lambda resource, state, why: self.states.append((state, why)),
            **{"retry_seconds": 0.3, **options},
        )
        self.thread = threading.Thread(target=self.reflector.run, args=(self.stop,), daemon=True)
        self.thread.start()

    def __enter__(self) -> "Watching":
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """Stop the reflector. Fail the test if it does not end soon."""
        self.stop.set()
        self.thread.join(patient(3))
        assert not self.thread.is_alive()

    @property
    def observed(self) -> list[Observation]:
        return [each for batch in list(self.batches) for each in batch]

    @property
    def entries(self) -> list[Entry]:
        return [each for each in self.observed if isinstance(each, Entry)]

    def marks(self, what: MarkType) -> list[Mark]:
        return [each for each in self.observed if isinstance(each, Mark) and each.what is what]

    @property
    def state(self) -> str:
        return self.states[-1][0] if self.states else ""

    @property
    def changes(self) -> list[tuple[str, str, int | None]]:
        """Return the observed changes in order."""
        return [(each.change.value, each.ref.name, each.resource_version) for each in self.entries]


@cache
def _taped() -> Tape:
    return tape([(WATCH, WATCH.name)])


@contextmanager
def replayed(**options: Any) -> Iterator[Replay]:
    """Run a replay that is paused until the test plays it."""
    with serve(_taped(), **{"paused": True, "speed": "max", **options}) as replay:
        yield replay


def cut(replay: Replay, **order: Any) -> None:
    """Reset all connections, and return once that is done, so that no later request of the test is affected."""
    replay.control(disconnect=True, **order)
    time.sleep(0.5)


def api_of(replay: Replay, **waits: Any) -> Api:
    answers = {name: patient(SHORT[name]) for name in ("connect", "read")}
    return api_to(replay.kubeconfig, **{**SHORT, **answers, **waits})


def api_to(kubeconfig: dict[str, Any] | Path, context: str = "", **waits: Any) -> Api:
    """Return the API of a kubeconfig with the rights of the user who runs the tests: it may name files and programs."""
    everywhere = Allowed(None)

    def read() -> dict[str, Any]:
        given = Kubeconfig(kubeconfig) if isinstance(kubeconfig, dict) else own([kubeconfig], everywhere)
        return given.reduced(context, everywhere.read, programs=True)

    return Api.from_kubeconfig(read, **waits)


def resource(api: Api, name: str) -> Resource:
    """Return the watched resource that kubectl calls by this name."""
    return next(each for each in resources(api, [], [])[0] if each.name == name)

"""Watching a replay in tests: reflectors in threads of their own, what they told, and waiting until they have."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from collectors.replay import Replay, serve
from collectors.watch.api import Api
from collectors.watch.files import Allowed
from collectors.watch.kubeconfig import Kubeconfig, own
from collectors.watch.reflector import Reflector
from collectors.watch.resources import Resource, resources
from tests.patience import eventually, patient
from timeline.core.entries import Entry, Mark, MarkType, Observation

WATCH = Path(__file__).parent / "data" / "objects" / "watch"
LONG = 15.0  # seconds in which everything has to run again, whatever happened
SHORT: dict[str, Any] = {"connect": 1.0, "read": 1.0, "silence": (0.5, 1.0)}  # seconds


def until(holds: Callable[[], Any], seconds: float = LONG) -> None:
    """Wait until it holds. Raises AssertionError where it does not in time."""
    eventually(holds, seconds, every=0.01)


class Watching:
    """What one resource told."""

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
        """Stop it, which has to be soon."""
        self.stop.set()
        self.thread.join(patient(3))
        assert not self.thread.is_alive()

    @property
    def told(self) -> list[Observation]:
        return [each for batch in list(self.batches) for each in batch]

    @property
    def entries(self) -> list[Entry]:
        return [each for each in self.told if isinstance(each, Entry)]

    def marks(self, what: MarkType) -> list[Mark]:
        return [each for each in self.told if isinstance(each, Mark) and each.what is what]

    @property
    def state(self) -> str:
        return self.states[-1][0] if self.states else ""

    @property
    def changes(self) -> list[tuple[str, str, int | None]]:
        """What was told, in order."""
        return [(each.change.value, each.ref.name, each.resource_version) for each in self.entries]


@contextmanager
def replayed(paths: list[Path] | None = None, **options: Any) -> Iterator[Replay]:
    """A replay that waits to be told to play."""
    with serve(paths or [WATCH], **{"paused": True, "speed": "max", **options}) as replay:
        yield replay


def cut(replay: Replay, **order: Any) -> None:
    """Reset all connections; returns once that is done, so that it meets nobody who steers the replay."""
    replay.control(disconnect=True, **order)
    time.sleep(0.5)


def api_of(replay: Replay, **waits: Any) -> Api:
    answers = {name: patient(SHORT[name]) for name in ("connect", "read")}
    return api_to(replay.kubeconfig, **{**SHORT, **answers, **waits})


def api_to(kubeconfig: dict[str, Any] | Path, context: str = "", **waits: Any) -> Api:
    """With the rights of whoever runs the tests: files and programs that it names are used."""
    everywhere = Allowed(None)

    def read() -> dict[str, Any]:
        told = Kubeconfig(kubeconfig) if isinstance(kubeconfig, dict) else own([kubeconfig], everywhere)
        return told.reduced(context, everywhere.read, programs=True)

    return Api.from_kubeconfig(read, **waits)


def resource(api: Api, name: str) -> Resource:
    """Of what is watched, the one that kubectl names so."""
    return next(each for each in resources(api, [], [])[0] if each.name == name)

"""This module connects the official Python client to a replay, as a user would. Its type hints are not reliable."""

import http.client
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kubernetes import client, config, dynamic, watch

from collectors.replay import Replay
from tests.patience import patient

kubernetes: Any = client
discovered: Any = dynamic.DynamicClient
Watch: Any = watch.Watch
_new_client: Any = config.new_client_from_config_dict


@contextmanager
def api_of(replay: Replay) -> Iterator[Any]:
    """Yield an API client for the replay; the classes of the package `kubernetes` take it."""
    with _new_client(replay.kubeconfig) as api:
        yield api


def core(api: Any) -> Any:
    return kubernetes.CoreV1Api(api)


class Stream:
    """This class opens one watch and reads its lines as they arrive."""

    def __init__(self, replay: Replay, path: str = "/api/v1/pods", wait: float = 30, **query: Any) -> None:
        asked = {"watch": 1, "timeoutSeconds": 60, "allowWatchBookmarks": "true", "resourceVersion": 40, **query}
        self._connection = http.client.HTTPConnection(replay.url.removeprefix("http://"), timeout=patient(wait))
        self._connection.request("GET", f"{path}?{'&'.join(f'{name}={value}' for name, value in asked.items())}")
        self.answer = self._connection.getresponse()

    def line(self) -> bytes:
        return self.answer.readline()

    def event(self) -> dict[str, Any]:
        event: dict[str, Any] = json.loads(self.line())
        return event

    def close(self) -> None:
        self.answer.close()
        self._connection.close()

"""The official Python client against a replay, as a user would set it up. Its types are not those it gives."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kubernetes import client, config, dynamic, watch

from collectors.replay import Replay

kubernetes: Any = client
discovered: Any = dynamic.DynamicClient
Watch: Any = watch.Watch
_new_client: Any = config.new_client_from_config_dict


@contextmanager
def api_of(replay: Replay) -> Iterator[Any]:
    """The client's connections; the classes of `kubernetes` take them."""
    with _new_client(replay.kubeconfig) as api:
        yield api


def core(api: Any) -> Any:
    return kubernetes.CoreV1Api(api)

"""This module writes audit logs in which one object changes often, for the tests of this folder."""

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.database.storage import sources
from tests.inputs import events
from timeline.models import Source, Track
from timeline.storage import store


def widgets(folder: Path, specs: Iterable[Any]) -> Path:
    """Write an audit log in which an object has these specs, one after the other."""
    file = folder / "widgets.jsonl"
    with file.open("w") as out:
        for number, spec in enumerate(specs):
            time = f"2026-11-21T07:{number // 60:02}:{number % 60:02}.000000Z"
            about = {"name": "w", "namespace": "a", "uid": "u", "resourceVersion": str(100 + number)}
            event = events.event(
                auditID=str(number),
                verb="update" if number else "create",
                objectRef={
                    "resource": "widgets", "namespace": "a", "name": "w", "apiGroup": "example.com", "apiVersion": "v1",
                },
                responseStatus={"code": 200 if number else 201},
                responseObject={"kind": "Widget", "apiVersion": "example.com/v1", "metadata": about, "spec": spec},
                requestReceivedTimestamp=time,
                stageTimestamp=time,
            )  # fmt: skip
            out.write(json.dumps(event) + "\n")
    return file


@contextmanager
def imported(file: Path) -> Iterator[tuple[Source, Track]]:
    source = sources.imported(file, name="widgets")
    yield source, Track.objects.get(source=source, name="w")
    store.discard_source(source)

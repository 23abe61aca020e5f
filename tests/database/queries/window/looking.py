"""This module makes Pods that people create and change, and looks at windows, for the tests of this folder."""

from datetime import datetime, timedelta
from typing import Any

from tests.inputs import events
from timeline.layout.lanes import lane_key
from timeline.models import Source, Track
from timeline.payloads.windows import WindowPayload
from timeline.queries.window import windows
from timeline.queries.window.view import View

START = datetime.fromisoformat("2026-11-21T00:00:00")


def timed(second: float, **fields: Any) -> dict[str, Any]:
    """Return an audit event so many seconds after midnight."""
    time = f"{START + timedelta(seconds=second):%Y-%m-%dT%H:%M:%S.%fZ}"
    return events.event(**fields, requestReceivedTimestamp=time, stageTimestamp=time)


def change(
    name: str, second: float, *, by: str = "ann", agent: str = "", verb: str = "create", phase: str = "Pending",
    **metadata: Any,
) -> dict[str, Any]:  # fmt: skip
    """Return the creation of a Pod, or another write of it, so many seconds after midnight."""
    body = events.pod(
        name=name, **{"uid": f"uid-of-{name}", "resourceVersion": str(100 + round(10 * second)), **metadata}
    )
    body["status"]["phase"] = phase
    return timed(
        second,
        verb=verb,
        user={"username": by},
        userAgent=agent,
        responseStatus={"code": 201 if verb == "create" else 200},
        auditID=f"{verb} {name} {second}",
        objectRef={**events.event()["objectRef"], "name": name},
        responseObject=body,
    )


def window(
    source: Source, start: int | None = None, end: int | None = None, *, offset: int = 0, limit: int = 200, **view: Any
) -> WindowPayload:
    return windows.window(source.pk, start, end, offset=offset, limit=limit, view=View(**view))


def names(shown: WindowPayload) -> list[str]:
    return [lane["name"] for lane in shown["lanes"]]


def keys(shown: WindowPayload) -> list[str]:
    return [lane["key"] for lane in shown["lanes"]]


def key_of(row: Track) -> str:
    """Return the key of the lane of a life."""
    return lane_key(row.group, row.kind, row.namespace, row.name)


def paged(whole: WindowPayload, source: Source, size: int, **view: Any) -> list[WindowPayload]:
    """Return the pages of a window, and assert that they follow each other without gap or repetition."""
    pages = [window(source, offset=at, limit=size, **view) for at in range(0, whole["lanes_total"], size)]
    assert [key for page in pages for key in keys(page)] == keys(whole)
    return pages

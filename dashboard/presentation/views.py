"""Describe on which copies of an object an actor acted, and how old these were. No HTML."""

from typing import Any

from dashboard.drawing.views import ViewPicture
from dashboard.presentation import wording
from dashboard.presentation.changes import copy_beside, difference_rows
from timeline.payloads.views import UsePayload, ViewPayload
from timeline.queries.objects import copies
from timeline.queries.sources import coverage

_ACTS = 12  # the most acts that are listed


def shown(source_id: int, identity: str, first: int, last: int) -> dict[str, Any] | None:
    """Return what parts/view_lane.html shows of the act on an old copy behind a finding; None if there is none."""
    found = copies.view_of_finding(source_id, identity, first, last)
    if found is None:
        return None
    view, main = found.view, found.use
    inside = [each for each in view["uses"] if each["unseen"] and found.start <= each["time"] <= found.end]
    near = sorted(inside, key=lambda each: (each != main, -each["least"]))[:_ACTS]
    return {
        "picture": ViewPicture(view, found.start, found.end, main),
        "actor": view["actor"],
        "agent": view["user_agent"] or view["actor"],
        "about": f"{view['kind']} {view['name']}",
        "url": f"/sources/{source_id}/objects/{view['track']}/",
        "ask": f"/api/sources/{source_id}/tracks/{view['track']}",
        "worst": view["worst"],
        "bound": view["bound"],
        "watched": bool(view["seen"]),
        "acts": [_act(each, source_id, each == main) for each in sorted(near, key=lambda each: each["time"])],
        "more": len(inside) - len(near),
        "copy": _copy(source_id, view, main),
    }


def _act(use: UsePayload, source_id: int, main: bool) -> dict[str, Any]:
    return {
        "time": wording.clock_of(use["time"]),
        "what": use["what"],
        "url": f"/sources/{source_id}/objects/{use['track']}/" if use["track"] else "",
        "copied": use["resource_version"],
        "stood": use["stood"] or "",
        "lag": use["lag"],
        "matters": use["matters"],
        "main": main,
    }


def _copy(source_id: int, view: ViewPayload, use: UsePayload) -> dict[str, Any] | None:
    """Return the difference between the copy of an act and what stood, as the page shows it before any script asks."""
    if use["stood"] is None:
        return None
    found = copies.copy_and_stood(source_id, view["track"], int(use["resource_version"]), int(use["stood"]))
    if found is None:
        return None
    compared = copy_beside(*found, coverage.withheld(source_id))
    return {**compared, "rows": difference_rows(compared["lines"])}

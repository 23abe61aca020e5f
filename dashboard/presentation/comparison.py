"""Write the texts about comparisons that pages and the terminal share."""

from typing import Any
from urllib.parse import urlencode

from timeline.core.durations import Length
from timeline.payloads.comparison import (
    ComparisonPayload,
    DifferencePayload,
    DifferenceType,
    OwnerComparisonPayload,
    StepPayload,
)
from timeline.payloads.findings import ObjectPayload

HEADINGS: dict[DifferenceType, str] = {
    "outcome": "How it ended",
    "missing": "Missing objects",
    "extra": "Extra objects",
    "order": "Order",
    "finding": "Findings",
    "delay": "Delays",
    "actor": "Who wrote it",
    "spec": "What was asked for",
}
_WIDE = 1_000  # the width of the picture of a step, in units of its own
_LEAST = 4  # the least width of a bar in it
_FOLDED = 8  # differences of one type after which the others are folded


def title(document: ComparisonPayload) -> str:
    """Return the number of differences in words: "5 differences", "no difference"."""
    count = document["differences"]
    return f"{count or 'no'} difference{'' if count <= 1 else 's'}"


def heading(document: ComparisonPayload) -> str:
    """Return the title of the page: "Job report in shop: 5 differences" if one owner was compared."""
    text = title(document)
    owners = document["owners"]
    return f"{owners[0]['role']}: {text}" if len(owners) == 1 else f"{text[0].upper()}{text[1:]}"


def apart(
    document: ComparisonPayload,
) -> tuple[dict[str, list[OwnerComparisonPayload]], list[OwnerComparisonPayload]]:
    """Return the owners that only the good runs or only the bad run has, by heading, and those that both have."""
    alone: dict[str, list[OwnerComparisonPayload]] = {}
    both = []
    for each in document["owners"]:
        if each["bad"] is None:
            alone.setdefault("Only in the good runs", []).append(each)
        elif not each["good"]:
            alone.setdefault("Only in this run", []).append(each)
        else:
            both.append(each)
    return alone, both


def after(step: StepPayload) -> tuple[str, str]:
    """Return when a step came in the good runs and in the bad one, as text: "5–23 ms", "seen", or "not seen"."""
    seen = f"seen in {step['good_runs']} of {step['of_runs']}" if step["good_runs"] else "not seen"
    good = _length(step["good"]) or seen
    if step["good"] and step["good_runs"] < step["of_runs"]:
        good = f"{good}, {seen}"
    return good, _length(step["bad"]) or ("time not known" if step["seen"] else "not seen")


def _length(bounds: list[float] | None) -> str:
    if bounds is None:
        return ""
    least, most = (round(each * 1e6) for each in bounds)
    if least < 0 < most:
        return f"{Length(0, -least)} before to {Length(0, most)} after"
    if least < 0:
        return f"{Length(-most, -least)} before"
    return str(Length(least, most)) if most else "0"


def owner(compared: OwnerComparisonPayload, source: int) -> dict[str, Any]:
    """Return what the page shows of an owner in a source: its differences by type, and its steps with their
    pictures."""
    groups = []
    for type, words in HEADINGS.items():
        found = [_row(each, source) for each in compared["differences"] if each["type"] == type]
        if found:
            groups.append({"type": type, "heading": words, "rows": found[:_FOLDED], "more": found[_FOLDED:]})
    latest = max((each[1] for step in compared["steps"] for each in (step["good"], step["bad"]) if each), default=0)
    return {
        "role": compared["role"],
        "groups": groups,
        "more": compared["more_differences"],
        "steps": [_step(step, latest) for step in compared["steps"]],
    }


def _row(each: DifferencePayload, source: int) -> dict[str, Any]:
    """Return a difference with links to the objects that are too many or ended otherwise."""
    shown = each["objects"] if each["type"] in ("outcome", "extra") else []
    objects = [{"name": one["name"], "url": _address(source, one)} for one in shown]
    return {"text": each["text"], "others": each["others"], "objects": objects}


def _address(source: int, one: ObjectPayload) -> str:
    return f"/go?{urlencode({'source': source, 'uid': one['uid']})}" if one["uid"] else ""


def _step(step: StepPayload, latest: float) -> dict[str, Any]:
    good, bad = after(step)
    bars = (_bar("good", 1, step["good"], latest), _bar("bad", 8, step["bad"], latest))
    return {
        "name": step["step"],
        "good": good,
        "bad": bad,
        "differs": step["differs"],
        "bars": [bar for bar in bars if bar],
    }


def _bar(run: str, y: int, bounds: list[float] | None, latest: float) -> dict[str, Any] | None:
    """Return a bar that ends when a step came; its last part is the time in which it may have come."""
    if bounds is None or latest <= 0 or bounds[0] < 0:
        return None
    least, most = (round(each / latest * _WIDE) for each in bounds)
    return {"run": run, "y": y, "least": least, "unsure": max(most - least, 0 if least else _LEAST)}

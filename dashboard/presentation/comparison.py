"""This module words what pages and the terminal share about comparisons."""

from timeline.core.durations import Length
from timeline.payloads.comparison import StepPayload


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
    return str(Length(least, most)) if most else "0"

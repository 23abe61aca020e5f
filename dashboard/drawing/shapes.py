"""Read the shapes and lengths that pictures have in common with the browser's timeline: `js/state/shapes.js`."""

import json
import re
from pathlib import Path

_FILE = Path(__file__).parent.parent / "static/dashboard/js/state/shapes.js"
_CONSTANT = re.compile(r"^export const (\w+) = ([^;]+);", re.MULTILINE)
_CONSTANTS = {name: json.loads(value) for name, value in _CONSTANT.findall(_FILE.read_text(encoding="utf-8"))}

ROW: int = _CONSTANTS["ROW"]  # px
BAR: int = _CONSTANTS["BAR"]  # px
MARKS: dict[str, str] = _CONSTANTS["MARKS"]  # the path of each mark; those that come later cover the others
STEPS: list[int] = [count * unit for unit, counts in _CONSTANTS["STEPS"] for count in counts]  # µs, of an axis
DOTS: dict[str, str] = _CONSTANTS["DOTS"]  # the path of each severity, as a small sign around its place
SEVERITIES: dict[str, str] = _CONSTANTS["SEVERITIES"]  # the path of each severity, in a square of 14 px

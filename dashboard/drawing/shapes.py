"""Name the parts of a picture as the template draws them: bars, marks, arrows, boxes.

Positions in time are per cent of the width, as CSS writes them; heights and offsets are pixels.
"""

from typing import NamedTuple

from dashboard.drawing.ticks import Tick
from timeline.payloads.windows import LanePayload

# SVG paths around (0, 0) for the symbols of `figures.SYMBOLS`.
SHAPES = {
    "square": "M-3-3H3V3H-3z",
    "triangle-up": "M0-4.6 4.6 3.6H-4.6z",
    "triangle-down": "M0 4.6 4.6-3.6H-4.6z",
    "triangle-right": "M4.6 0-3.6-4.6V4.6z",
    "triangle-left": "M-4.6 0 3.6-4.6V4.6z",
    "circle": "M0-4a4 4 0 1 0 .01 0z",
    "diamond": "M0-5 5 0 0 5-5 0z",
    "bowtie": "M-4.6-4 0 0-4.6 4zM4.6-4 0 0 4.6 4z",
    "star-square": "M-4.4-4.4 0-2 4.4-4.4 2 0 4.4 4.4 0 2-4.4 4.4-2 0z",
    "x": "M-4-2.6-2.6-4 0-1.4 2.6-4 4-2.6 1.4 0 4 2.6 2.6 4 0 1.4-2.6 4-4 2.6-1.4 0z",
    "pentagon": "M0-4.4 4.2-1.3 2.6 3.6H-2.6L-4.2-1.3z",
}


class Bar(NamedTuple):
    """One phase of an object, drawn as a bar."""

    at: str
    width: str
    y: int
    family: str
    tone: str
    text: str
    pad: int  # pixels before the text
    ink: str
    unseen: bool  # whether it began before anything was observed
    lives: bool  # whether it continues beyond what is drawn or known
    track: int


class Dot(NamedTuple):
    """A mark, or the number of a creation."""

    at: str
    y: int
    shape: str
    text: str
    track: int


class Line(NamedTuple):
    """An arrow. `path` is in thousandths of the width and in pixels of the height; its head is at its end."""

    path: str
    at: str
    y: int
    head: str
    text: str
    text_at: str
    text_y: int
    anchor: str
    width: int  # of the background behind the text, in pixels
    shift: int  # of the background's left edge from `text_at`, in pixels
    pad: int  # of the text from `text_at`, in pixels


class Box(NamedTuple):
    """A rectangle over a lane: a hole, a shade, or an interval in which a change was committed."""

    at: str
    width: str
    y: int
    height: int
    text: str


class Picture(NamedTuple):
    """What the template `parts/picture.html` draws."""

    lanes: list[LanePayload]
    height: int
    head: int  # room above the first lane if an arrow needs it, in pixels
    ticks: list[Tick]
    bars: list[Bar]
    births: list[Dot]
    marks: list[Dot]
    holes: list[Box]
    unsure: list[Box]  # where a hole or an arrow may begin or end
    shades: list[Box]
    arrows: list[Line]
    summary: str  # what the picture shows, for screen readers
    key: str  # distinguishes the pictures of one page

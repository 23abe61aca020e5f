"""Write the elements of an SVG file: shapes, and text with the letters that the fonts have."""

from typing import Any
from xml.etree import ElementTree

from dashboard.drawing import figures
from dashboard.drawing.lettering import FAMILY, Letters

Element = ElementTree.Element


class Canvas:
    """An SVG file in the colours of a theme."""

    def __init__(self, theme: figures.Theme, letters: Letters) -> None:
        self.colours = figures.palette(theme)
        self.letters = letters
        self.root = Element("svg", {"xmlns": "http://www.w3.org/2000/svg"})

    def written(self) -> str:
        return ElementTree.tostring(self.root, encoding="unicode")

    def text(
        self,
        parent: Element,
        x: float,
        y: float,
        text: str,
        *,
        size: float,
        weight: int = 500,
        fill: str = "ink",
        colour: str = "",
        anchor: str = "start",
        room: float | None = None,
    ) -> Element | None:
        """Write a text, or as much of it as has room; nothing if that is less than two letters.

        `fill` names a colour of the theme, and `colour` is one of its own (#rrggbb).
        """
        text = self.letters.written(text)
        text = text if room is None else self.letters.fitted(text, room, size, weight)
        if not text:
            return None
        font = {"font_family": FAMILY, "font_size": size, "font_weight": weight}
        drawn = add(parent, "text", x=x, y=y, fill=colour or self.colours[fill], text_anchor=anchor, **font)
        drawn.text = text
        return drawn

    @staticmethod
    def halo(text: Element | None, colour: str, width: float) -> None:
        """Outline a text behind its letters, so that it is readable over lines."""
        if text is not None:
            text.attrib |= {"stroke": colour, "stroke-width": str(width), "stroke-linejoin": "round"}
            text.attrib |= {"paint-order": "stroke"}


def add(parent: Element, tag: str, **attributes: Any) -> Element:
    """Add an element. An attribute such as `clip_path` is written as "clip-path"."""
    written = {
        name.replace("_", "-"): f"{value:.1f}" if isinstance(value, float) else str(value)
        for name, value in attributes.items()
    }
    return ElementTree.SubElement(parent, tag, written)

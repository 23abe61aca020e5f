"""Write the elements of SVG pictures: shapes, texts and the axis, in the colours of a theme or for both."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from xml.etree import ElementTree

from dashboard.drawing import figures
from dashboard.drawing.lettering import FAMILY, Letters
from dashboard.drawing.ticks import Tick

Element = ElementTree.Element
SMALL, MEDIUM = 11, 500  # the size and the weight of texts without their own


class Canvas:
    """The colours, the letters and the width of a picture.

    Without a theme it is for a page, whose reader has chosen the theme. Without a width the page stretches the picture,
    and the browser has the letters.
    """

    def __init__(self, theme: figures.Theme | None = None, letters: Letters | None = None, width: int = 0) -> None:
        self._palettes = [figures.palette(each) for each in ((theme,) if theme else figures.THEMES)]
        self.letters = letters or Letters()
        self.width = width  # px; 0 if it is not known

    def colour(self, choose: str | Callable[[Mapping[str, str]], str]) -> str:
        """Return a colour of the palette, or one that is made of a palette, for the theme or for both."""
        made = [each[choose] if isinstance(choose, str) else choose(each) for each in self._palettes]
        return made[0] if len(set(made)) == 1 else f"light-dark({','.join(made)})"

    def text(
        self,
        parent: Element,
        x: float | str,
        y: float,
        text: str,
        *,
        size: float = SMALL,
        weight: int = MEDIUM,
        colour: str = "ink",
        anchor: str = "start",
        room: float | None = None,
        halo: tuple[str, float] | None = None,
    ) -> None:
        """Write a text, or as much of it as has room if the width is known; nothing if that is less than two letters.

        `colour` names one of the palette, or is as `colour()` returns it. `halo` is a colour and a width (px) behind
        the letters, so that they are readable over lines.
        """
        if self.width:
            text = self.letters.written(text)
            text = text if room is None else self.letters.fitted(text, room, size, weight)
        if not text:
            return
        fill = colour if "#" in colour else self.colour(colour)
        drawn = add(parent, "text", x=x, y=y, fill=fill)
        drawn.text = text
        own = {"font-size": (size, SMALL), "font-weight": (weight, MEDIUM), "text-anchor": (anchor, "start")}
        drawn.attrib |= {name: str(value) for name, (value, usual) in own.items() if value != usual}
        if halo:
            drawn.attrib |= {"stroke": halo[0], "stroke-width": str(halo[1])}

    def title(self, parent: Element, text: str) -> None:
        """Give an element a tooltip, which only pages show."""
        if not self.width:
            add(parent, "title").text = text

    def grid(self, root: Element, ticks: Sequence[Tick]) -> None:
        lines = add(root, "g", stroke=self.colour("grid"))
        for tick in ticks:
            add(lines, "line", x1=tick.at, x2=tick.at, y1=0, y2="100%", **_between(tick))

    def axis(self, ticks: Sequence[Tick], **place: Any) -> Element:
        """Return the axis below a picture. Of texts that would overlap, those between others are left out."""
        root = picture(height=20, overflow="visible", **place)
        taken = 0.0
        for tick in ticks:
            if self.width:
                middle, half = float(tick.at[:-1]) * self.width / 100, self.letters.width(tick.text, SMALL) / 2
                if middle - half < taken or middle + half > self.width:
                    continue
                taken = middle + half + 8
            self.text(root, tick.at, 14, tick.text, colour="ink-soft", anchor="middle")
            root[-1].attrib |= {"data-datetime": tick.iso, "data-utc": "", **_between(tick)}
        return root

    def page(self, drawn: Element, ticks: Sequence[Tick]) -> str:
        """Return a picture for a page, with its axis below."""
        axis = self.axis(ticks, width="100%", class_="picture-axis", aria_hidden="true")
        return written(drawn) + written(axis)


def _between(tick: Tick) -> dict[str, str]:
    """Return the class of what a narrow picture leaves out."""
    return {"class": "between"} if tick.between else {}


def picture(**attributes: Any) -> Element:
    """Return an <svg> whose texts have the usual letters."""
    letters = {"font_family": f"{FAMILY}, system-ui, sans-serif", "font_size": SMALL, "font_weight": MEDIUM}
    return element("svg", **letters, **attributes)


def element(tag: str, **attributes: Any) -> Element:
    """Return an element. An attribute such as `clip_path` is written as "clip-path", and `class_` as "class"."""
    return Element(
        tag,
        {
            name.strip("_").replace("_", "-"): f"{round(value, 2):g}" if isinstance(value, float) else str(value)
            for name, value in attributes.items()
        },
    )


def add(parent: Element, tag: str, **attributes: Any) -> Element:
    parent.append(added := element(tag, **attributes))
    return added


def written(drawing: Element) -> str:
    return ElementTree.tostring(drawing, encoding="unicode")

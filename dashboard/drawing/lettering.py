"""Measure the letters of pictures that are drawn without a browser, and find out which letters the fonts have.

The fonts are vendored beside those of the pages. Further ones, for scripts that these lack, are in a folder that an
operator names. A letter that no font has is written as JSON escapes it, such as `\\u540d`, and never drawn as a box.
"""

import itertools
import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from fontTools.ttLib import TTCollection, TTFont

_VENDOR = Path(__file__).parent.parent / "static/dashboard/vendor"
FAMILY = "Inter"
WEIGHTS = {500: _VENDOR / "inter-medium/Inter_500Medium.ttf", 600: _VENDOR / "inter-semibold/Inter_600SemiBold.ttf"}
_FURTHER = 40  # the most fonts that are taken from the operator's folder
_WIDER = 1.25
_ENDINGS = {".ttf", ".otf", ".ttc"}
_GAPS = re.compile(r"(?<![≈\d]) ")  # where a line may break: not between a number and its unit
_UNKNOWN = "\ufffd"
_HIDDEN = {"Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp"}  # categories of characters that show nothing, or reorder others


@cache
def advances(weight: int) -> dict[int, float]:
    """Return the width of each letter of a vendored font, as a share of the size of the text."""
    with TTFont(WEIGHTS[weight], lazy=True) as font:
        units, widths = font["head"].unitsPerEm, font["hmtx"].metrics
        return {code: widths[glyph][0] / units for code, glyph in font.getBestCmap().items()}


@cache
def further(folder: str) -> tuple[tuple[str, ...], frozenset[int]]:
    """Return the font files of a folder, and the characters that they have. Files that are not fonts are left out."""
    files, letters = [], set[int]()
    found = sorted(each for each in Path(folder).rglob("*") if each.suffix.lower() in _ENDINGS) if folder else []
    for path in found[:_FURTHER]:
        try:
            for font in _fonts(path):
                letters.update(font.getBestCmap() or {})
        except Exception:  # fontTools raises whatever a damaged table leads to
            continue
        files.append(str(path))
    return tuple(files), frozenset(letters)


def _fonts(path: Path) -> Iterator[TTFont]:
    with path.open("rb") as file:
        if path.suffix.lower() == ".ttc":
            yield from TTCollection(file, lazy=True).fonts
        else:
            yield TTFont(file, lazy=True)


class Letters:
    """Write text with the vendored fonts, and with those of a folder ("" for none)."""

    def __init__(self, folder: str = "") -> None:
        more, self._more = further(folder)
        self.files = [*map(str, WEIGHTS.values()), *more]

    def written(self, text: str) -> str:
        """Return a text as it can be drawn: one line, with characters escaped that show nothing or that no font has."""
        return "".join(map(self._written, " ".join(text.split())))

    def _written(self, letter: str) -> str:
        if unicodedata.category(letter) in _HIDDEN:
            return _UNKNOWN
        code = ord(letter)
        if code in advances(500) or code in self._more:
            return letter
        return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"

    def width(self, text: str, size: float, weight: int = 500) -> float:
        """Return how wide a text is at most, in pixels, that `written` returned.

        A text with a letter that only a further font has may be drawn in that font as a whole, which may be wider.
        """
        widths = advances(weight)
        wider = 1.0 if all(ord(letter) in widths for letter in text) else _WIDER
        return wider * size * sum(widths.get(ord(letter), 1.0) for letter in text)

    def fitted(self, text: str, room: float, size: float, weight: int = 500) -> str:
        """Return as much of a text as fits, with an ellipsis where it is cut; "" if fewer than two letters fit."""
        if self.width(text, size, weight) <= room:
            return text
        widths = itertools.accumulate(self.width(letter, size, weight) for letter in text)
        rest = room - self.width("…", size, weight)
        fits = sum(1 for width in itertools.takewhile(lambda width: width <= rest, widths))
        return f"{text[:fits].rstrip()}…" if fits > 1 else ""

    def lines(self, text: str, room: float, size: float, weight: int = 500, most: int = 2) -> list[str]:
        """Break a text between words into lines that fit, at most `most`. A line that is cut ends with an ellipsis."""
        lines: list[str] = []
        words = _GAPS.split(text)
        while words and len(lines) < most - 1:
            taken = 1
            while taken < len(words) and self.width(" ".join(words[: taken + 1]), size, weight) <= room:
                taken += 1
            lines.append(self.fitted(" ".join(words[:taken]), room, size, weight))
            words = words[taken:]
        return [*lines, self.fitted(" ".join(words), room, size, weight)] if words else lines

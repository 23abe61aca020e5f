"""Read what the server has drawn."""

import struct
from xml.etree import ElementTree

from dashboard.drawing.pictures import Picture


def layer(drawn: Picture, name: str) -> ElementTree.Element:
    """Return a layer of a picture."""
    found = ElementTree.fromstring(f"<div>{drawn.svg()}</div>").find(f".//g[@data-layer='{name}']")
    assert found is not None
    return found


def boxes(drawn: Picture, name: str) -> list[tuple[str, str]]:
    """Return where the boxes of a layer begin, and how wide they are, in per cent."""
    return places(layer(drawn, name))


def places(layer: ElementTree.Element) -> list[tuple[str, str]]:
    """Return where the boxes of a layer begin, and how wide they are, in per cent. A bar holds what belongs to it."""
    return [(each.attrib["x"], each.attrib["width"]) for each in layer if "width" in each.attrib]


def size(file: bytes) -> tuple[int, int]:
    """Return the width and the height of a PNG file, in pixels."""
    assert file.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", file[16:24])
    return width, height


def texts(drawing: str) -> list[str]:
    """Return all texts of an SVG file, in their order."""
    return [each.text or "" for each in ElementTree.fromstring(drawing).iter("{http://www.w3.org/2000/svg}text")]

"""Render a picture as PNG, without a browser: for e-mails and chats, which show no SVG."""

import resvg_py

from dashboard.drawing.lettering import Letters

SCALE = 2  # pixels of the file for each pixel of the drawing, for screens with a high resolution


def png(svg: str, letters: Letters) -> bytes:
    """Render an SVG file that `standalone.svg` wrote with these letters. It reads no other files than their fonts."""
    return bytes(resvg_py.svg_to_bytes(svg_string=svg, zoom=SCALE, skip_system_fonts=True, font_files=letters.files))

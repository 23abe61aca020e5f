"""Build the Plotly figure of the timeline without data: traces, colours, layout. No queries, no HTTP.

The page gets this skeleton as JSON, and `chart.js` fills the columns of the traces by their names. x is pixels from
the left of what is drawn, y is pixels from the top of the first lane shown.
Colours come from `palette.css`, which the pages use too.
"""

import json
import re
from functools import cache
from pathlib import Path
from typing import Any, Literal

Theme = Literal["light", "dark"]
THEMES: tuple[Theme, ...] = ("light", "dark")

# The opacity of the family's colour over the paper. `ended` bars are hatched in all families.
TONES = {"strong": 0.85, "pale": 0.5, "muted": 0.3}
QUIET = 0.35  # the opacity of the grey of lanes that do not change in view, in all families
AXIS = {"type": "linear", "visible": False, "fixedrange": True}  # the page draws the ticks, and their lines
CONFIG = {"staticPlot": True, "displayModeBar": False, "displaylogo": False, "showSendToCloud": False}
_COLOUR = re.compile(r"^ *+--([a-z-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\);$", re.MULTILINE)
PALETTE_FILE = Path(__file__).parent.parent / "static/dashboard/css/palette.css"


@cache
def palette(theme: Theme) -> dict[str, str]:
    """Return the colours (#rrggbb) of a theme by name."""
    found = _COLOUR.findall(PALETTE_FILE.read_text(encoding="utf-8"))
    return {name: light if theme == "light" else dark for name, light, dark in found}


FAMILIES = tuple(name.removeprefix("family-").capitalize() for name in palette("light") if name.startswith("family-"))


def channels(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def mix(colour: str, paper: str, share: float) -> str:
    """Return `colour` laid over `paper` with an opacity of `share`."""
    return "#" + "".join(
        f"{round(share * over + (1 - share) * under):02x}"
        for over, under in zip(channels(colour), channels(paper), strict=True)
    )


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours, 1 to 21 (WCAG 2.2)."""

    def luminance(colour: str) -> float:
        linear = [
            c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (v / 255 for v in channels(colour))
        ]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def readable(background: str) -> str:
    """Return black or white, whichever is easier to read on `background`."""
    return max("#0b0f14", "#ffffff", key=lambda ink: contrast(ink, background))


def scatter(**properties: Any) -> dict[str, Any]:
    """Return a trace. Plotly checks its properties when the figure is made from it."""
    return {"type": "scatter", **properties}


def area(name: str, colour: str, **more: Any) -> dict[str, Any]:
    """Return a trace of closed rectangles, with null between them."""
    return scatter(name=name, mode="none", fill="toself", fillcolor=colour, **more)


def bars(theme: Theme) -> list[dict[str, Any]]:
    colours = palette(theme)
    traces = []
    for family in FAMILIES:
        for tone, share in TONES.items():
            colour = mix(colours[f"family-{family.lower()}"], colours["paper"], share)
            traces.append(area(f"bars {family} {tone}", colour, meta={"ink": readable(colour)}))
    quiet = mix(colours["hatch"], colours["paper"], QUIET)
    traces.append(area("bars quiet", quiet, meta={"ink": readable(quiet)}))
    ink = {"ink": readable(colours["hatch-paper"])}
    hatch = {"shape": "/", "size": 6, "solidity": 0.22, "fgcolor": colours["hatch"], "bgcolor": colours["hatch-paper"]}
    traces.append(area("bars ended", colours["hatch-paper"], fillpattern=hatch, meta=ink))
    return traces


def violations(theme: Theme) -> list[dict[str, Any]]:
    colours = palette(theme)
    dashed = {"color": colours["violation"], "width": 1.3, "dash": "4px,3px", "simplify": False}
    return [
        area("hole area", colours["paper"]),
        scatter(name="hole outlines", mode="lines", line=dashed),
        scatter(name="shade outlines", mode="lines", line=dashed),
        *(
            scatter(name=name, mode="lines", line={"color": colours["violation"], "width": width, "simplify": False})
            for name, width in (("arrows beside", 1), ("arrows", 2))
        ),
        area("arrow heads", colours["violation"]),
        area("ends out of sight", colours["violation"]),
    ]


def skeleton(theme: Theme) -> dict[str, Any]:
    """Return `data`, `layout` and `config` for `Plotly.react`, as plain JSON values."""
    from plotly import graph_objects as go  # imported late: it takes a quarter of a second

    shade = mix(palette(theme)["violation"], palette(theme)["paper"], 0.13)
    figure = go.Figure(
        data=[area("shade area", shade), *bars(theme), *violations(theme)],
        layout={
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "xaxis": AXIS,
            "yaxis": AXIS,
            "margin": {"l": 0, "r": 0, "t": 0, "b": 0, "pad": 0},
            "autosize": False,
            "showlegend": False,
            "hovermode": False,
            "dragmode": False,
            "uirevision": "timeline",
        },
    )
    drawn: dict[str, Any] = json.loads(figure.to_json())
    del drawn["layout"]["template"]  # that of the package, which is not used
    return {"data": drawn["data"], "layout": drawn["layout"], "config": CONFIG}


@cache
def skeletons() -> dict[Theme, dict[str, Any]]:
    """Return the figure in both themes, so that switching needs no request."""
    return {theme: skeleton(theme) for theme in THEMES}

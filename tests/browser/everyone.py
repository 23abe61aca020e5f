"""axe finds nothing on a page, in either theme, wide or on a phone."""

from pathlib import Path
from typing import Literal

from playwright.sync_api import Page, ViewportSize

from tests.browser.looking import fits
from tests.browser.overlap import DRAWN

AXE = Path(__file__).parent / "axe"
WIDE: ViewportSize = {"width": 1440, "height": 900}
PHONE: ViewportSize = {"width": 360, "height": 720}
Themes = tuple[Literal["light", "dark"], ...]
EITHER: Themes = ("dark", "light")
COLOURS_REST = "() => document.getAnimations().every((each) => each.effect?.getComputedTiming().endTime === Infinity)"
ABOUT_COLOURS = ["color-contrast", "link-in-text-block"]  # all rules of axe about colours that are on by default


def complaints_of_axe(page: Page, themes: Themes = ("light",)) -> list[str]:
    """What axe finds on a page in each of these themes. The page keeps the last one.

    axe is evaluated, not loaded: the pages' content security policy allows no script but their own. Themes differ in
    nothing but colours, so after the first one only the rules about colours are asked.
    """
    if not page.evaluate("'axe' in window"):
        page.evaluate((AXE / "axe.min.js").read_text(encoding="utf-8"))
    found = []
    for theme in themes:
        options = {"resultTypes": ["violations"]} | ({"runOnly": ABOUT_COLOURS} if theme != themes[0] else {})
        page.emulate_media(color_scheme=theme)
        page.evaluate(DRAWN)
        page.wait_for_function(COLOURS_REST)
        violations = page.evaluate("(options) => axe.run(options).then((result) => result.violations)", options)
        found += [
            f"{theme}: {each['id']}: {each['help']}: {node['html']}" for each in violations for node in each["nodes"]
        ]
    return found


def usable_everywhere(*pages: Page) -> None:
    """Check that axe finds nothing on pages as they stand, in either theme, wide and on a phone, and that they fit.

    At the end, they are wide again.
    """
    for page in pages:
        for size, themes in ((PHONE, ("light",)), (WIDE, EITHER)):
            page.set_viewport_size(size)
            fits(page)
            assert complaints_of_axe(page, themes) == [], size

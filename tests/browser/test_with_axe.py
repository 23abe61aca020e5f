"""axe finds nothing on any page, in either theme, wide or on a phone."""

import hashlib
import json
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Page, ViewportSize, expect

from tests.browser.conftest import Complaints, fits

AXE = Path(__file__).parent / "axe"
WIDE: ViewportSize = {"width": 1440, "height": 900}
PHONE: ViewportSize = {"width": 360, "height": 720}
Themes = tuple[Literal["light", "dark"], ...]
EITHER: Themes = ("dark", "light")
SIZES: list[tuple[ViewportSize, Themes]] = [(WIDE, EITHER), (PHONE, ("light",))]
EVERYWHERE = pytest.mark.parametrize(("size", "themes"), SIZES, ids=["wide", "phone"])


COLOURS_REST = "() => document.getAnimations().every((each) => each.effect?.getComputedTiming().endTime === Infinity)"
ABOUT_COLOURS = ["color-contrast", "link-in-text-block"]  # all rules of axe about colours that are on by default
DRAWN = "new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))"


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


def usable_everywhere(page: Page) -> None:
    """Check that axe finds nothing on a page as it stands, in either theme, wide and on a phone, and that it fits.

    At the end, the page is wide again.
    """
    for size, themes in reversed(SIZES):
        page.set_viewport_size(size)
        fits(page)
        assert complaints_of_axe(page, themes) == [], size


@EVERYWHERE
def test_the_timeline_can_be_used_by_everyone(page: Page, recording: str, size: ViewportSize, themes: Themes) -> None:
    page.emulate_media(color_scheme=themes[0])
    page.set_viewport_size(size)
    page.goto(recording)
    expect(page.locator(".finding.selected")).to_be_visible()
    assert complaints_of_axe(page, themes) == []
    if size == PHONE:
        page.get_by_role("button", name="Timeline").click()
        expect(page.locator("#plot .scatterlayer")).to_be_visible()
    else:
        page.keyboard.press("?")
        expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    assert complaints_of_axe(page, themes) == []


@EVERYWHERE
def test_everything_that_opens_on_the_timeline_can_be_used_by_everyone(
    page: Page, recording: str, size: ViewportSize, themes: Themes
) -> None:
    page.emulate_media(color_scheme=themes[0])
    page.set_viewport_size(size)
    pins = "Service/vol-restart/ring"
    actors = "colour=actor&actor=admin"
    page.goto(
        f"{recording}?start=1795247520740000&end=1795247521200000&name=ring&rule=service-gap&{actors}"
        f"&pins={pins}&lane={pins}"
    )
    expect(page.locator(".incident").first).to_be_visible()
    if size == PHONE:
        page.get_by_role("button", name="Objects").click()
        expect(page.locator("#objects a").first).to_be_visible()
        page.get_by_role("button", name="More", exact=True).click()
    else:
        expect(page.locator("#pins .lane")).to_be_visible()
    page.locator("#search").fill("ring")
    expect(page.get_by_role("option").first).to_be_visible()
    assert complaints_of_axe(page, themes) == []
    page.locator("#search").press("Escape")
    page.get_by_role("button", name="Filter", exact=True).click()
    expect(page.get_by_role("textbox", name="Name contains")).to_be_visible()
    assert complaints_of_axe(page, themes) == []
    page.keyboard.press("Escape")
    if size != PHONE:
        page.get_by_role("button", name="Table").click()
        expect(page.get_by_role("table")).to_be_visible()
        assert complaints_of_axe(page, themes) == []


def test_the_list_of_recordings_can_be_used_by_everyone(page: Page, recording: str) -> None:
    page.goto("/")
    expect(page.locator(".recordings tbody tr").first).to_be_visible()
    usable_everywhere(page)
    page.locator("[data-delete]").first.click()
    expect(page.get_by_role("dialog")).to_be_visible()
    usable_everywhere(page)


def test_uploads_in_all_their_states_can_be_used_by_everyone(
    page: Page, complaints: Complaints, recording: str, tmp_path: Path
) -> None:
    complaints.expect("status of 400", "ERR_FAILED")
    page.route("**/files/0", lambda route: route.abort())
    page.goto("/")
    prose, waits = "prose.txt", "waits.jsonl"
    files = {prose: b"only words\n", waits: b'{"auditID":"x"}\n', "kubeconfig": b"kind: Config\n"}
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
        page.locator("#file").set_input_files(tmp_path / name)
    expect(page.get_by_role("alert")).to_contain_text("it is a kubeconfig")
    expect(page.locator(".upload", has_text=waits)).to_contain_text("waiting for the connection")
    page.unroute("**/files/0")
    expect(page.locator(".upload", has_text=prose)).to_contain_text("Not a recording.")
    page.locator("[data-rename]").first.click()
    expect(page.locator(".rename-input")).to_be_visible()
    usable_everywhere(page)


def test_axe_is_what_its_project_published() -> None:
    about = json.loads((AXE / "VENDOR.json").read_text(encoding="utf-8"))
    assert hashlib.sha256((AXE / about["file"]).read_bytes()).hexdigest() == about["sha256"]

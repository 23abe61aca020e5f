"""This module finds texts of a page that lie over each other, and texts that are cut off without a sign."""

import time

from playwright.sync_api import Page

from tests.patience import patient
from tests.properties import tries_all

WIDTHS = (360, 1280, 1920)
ALL_WIDTHS = (320, 360, 480, 720, 721, 800, 1000, 1160, 1161, 1280, 1340, 1440, 1920, 2560)  # with `make examples`
DRAWN = "new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))"
OPENED = "() => document.querySelectorAll('details:not(.menu)').forEach((each) => { each.open = true; })"
_SECONDS = 5  # until a page has drawn itself for another width
# Of a line of text, the ink of most letters stands between an upper and a lower edge, which lines may share: that much
# of its height counts for neither. What lies over others on purpose has a ground of its own: what sticks to an edge,
# what was opened, and labels of a drawing. Signs without a letter are drawn, too.
OVERLAPS = """() => {
  const EDGE = 0.22;
  const EVERYWHERE = { left: -1e9, top: -1e9, right: 1e9, bottom: 1e9 };
  const NOWHERE = { left: 0, top: 0, right: 0, bottom: 0 };
  const shared = (a, b) => ({
    left: Math.max(a.left, b.left),
    top: Math.max(a.top, b.top),
    right: Math.min(a.right, b.right),
    bottom: Math.min(a.bottom, b.bottom),
  });
  const seen = ({ left, top, right, bottom }) => right - left > 1 && bottom - top > 1;
  const covers = (a, b) => a.left <= b.left && a.top <= b.top && a.right >= b.right && a.bottom >= b.bottom;

  const known = new Map(); // element → what can be seen of its content
  const visible = (element) => {
    if (!element || element === document.body) return EVERYWHERE;
    if (!known.has(element)) {
      const { overflowX, overflowY, clipPath, position } = getComputedStyle(element);
      const box = element.getBoundingClientRect();
      const own = {
        ...EVERYWHERE,
        ...(overflowX === "visible" ? {} : { left: box.left, right: box.right }),
        ...(overflowY === "visible" ? {} : { top: box.top, bottom: box.bottom }),
      };
      const hidden = clipPath.startsWith("inset(50%");
      known.set(element, hidden ? NOWHERE : position === "fixed" ? own : shared(own, visible(element.parentElement)));
    }
    return known.get(element);
  };

  const texts = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!/[\\p{L}\\p{N}]/u.test(node.data) || element.closest("script, style, option, title")) continue;
    if (!element.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const { left, top, right, bottom, height } of range.getClientRects()) {
      const ink = { left: left + 1, right: right - 1, top: top + EDGE * height, bottom: bottom - EDGE * height };
      const box = shared(ink, visible(element));
      if (seen(box)) texts.push({ node, element, box });
    }
  }

  const grounded = ({ element }, other, box) => {
    let ground = false, above = false;
    for (let each = element; each && !each.contains(other.element); each = each.parentElement) {
      const { position, backgroundColor } = getComputedStyle(each);
      if (each.querySelector?.(":scope > rect") && covers(each.getBoundingClientRect(), box)) return true;
      ground ||= backgroundColor.startsWith("rgb(") && covers(each.getBoundingClientRect(), box);
      above ||= ["sticky", "fixed"].includes(position) || each.matches("dialog, [popover], [role=listbox], .menu");
      if (ground && above) return true;
    }
    return false;
  };
  const named = ({ node, element }) =>
    `"${node.data.trim().slice(0, 60)}" (${element.tagName.toLowerCase()} ${element.getAttribute("class") ?? ""})`;

  const found = new Set();
  let open = [];
  for (const text of texts.sort((a, b) => a.box.top - b.box.top)) {
    open = open.filter((each) => each.box.bottom > text.box.top);
    for (const each of open) {
      const box = shared(each.box, text.box);
      if (each.node === text.node || !seen(box) || grounded(each, text, box) || grounded(text, each, box)) continue;
      found.add(`${named(each)} and ${named(text)} at ${Math.round(box.left)}, ${Math.round(box.top)}`);
    }
    open.push(text);
  }
  return [...found].slice(0, 20);
}"""

# A text that an element cuts off has an ellipsis, or can be scrolled to. Drawings, and what is only read out, do not
# count.
CUT = """() => {
  const found = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!/[\\p{L}\\p{N}]/u.test(node.data) || element.closest("script, style, option, title, svg")) continue;
    if (!element.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const text = range.getBoundingClientRect();
    for (let each = element; each && each !== document.body; each = each.parentElement) {
      const { overflowX, clipPath, textOverflow, borderRightWidth } = getComputedStyle(each);
      if (overflowX === "auto" || overflowX === "scroll" || clipPath !== "none") break;
      const over = text.right - each.getBoundingClientRect().right + parseFloat(borderRightWidth);
      if (overflowX === "visible" || over <= 1) continue;
      if (textOverflow !== "ellipsis") found.add(`"${node.data.trim().slice(0, 60)}" by ${Math.round(over)} px`);
      break;
    }
  }
  return [...found].slice(0, 20);
}"""


def readable(page: Page) -> None:
    """Wait until no two texts lie over each other: what is drawn is drawn anew for another width."""
    _finds_nothing(page, OVERLAPS)


def _finds_nothing(page: Page, script: str) -> None:
    deadline = time.monotonic() + patient(_SECONDS)
    while found := page.evaluate(script):
        assert time.monotonic() < deadline, f"{page.url}, {page.viewport_size}:\n" + "\n".join(found)
        page.wait_for_timeout(50)


def readable_at_any_width(page: Page) -> None:
    """Resize the page that is open, and check that no two texts lie over each other and none is cut off without a sign.

    Afterwards it has the size from before. Themes differ in nothing but colours.
    """
    size = page.viewport_size
    assert size
    for width in ALL_WIDTHS if tries_all() else WIDTHS:
        page.set_viewport_size({**size, "width": width})
        page.evaluate(DRAWN)
        readable(page)
        _finds_nothing(page, CUT)
    page.set_viewport_size(size)

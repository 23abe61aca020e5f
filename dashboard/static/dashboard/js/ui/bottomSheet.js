// This module moves the controls of the header and the toolbar into one menu, the bottom sheet, on a phone.

import { byId } from "../draw/dom.js";

const PHONE = matchMedia("(max-width: 720px)");

/** Moves the controls whenever the screen becomes narrow or wide, and then calls `onMove()`. Returns a function that closes the sheet. */
export function foldIntoSheet(onMove) {
  const sheet = byId("sheet"), open = byId("sheet-open");
  const homes = new Map([...document.querySelectorAll("[data-fold]")].map((part) => [part, [part.parentNode, part.nextSibling]]));
  const show = (shown) => {
    sheet.hidden = !shown;
    open.setAttribute("aria-expanded", String(shown));
  };
  const place = () => {
    show(false);
    for (const part of homes.keys()) part.remove();
    if (PHONE.matches) sheet.append(...homes.keys());
    else for (const [part, [parent, next]] of [...homes].reverse()) parent.insertBefore(part, next?.parentNode === parent ? next : null);
    onMove();
  };
  open.addEventListener("click", () => show(sheet.hidden));
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || event.defaultPrevented || sheet.hidden) return;
    show(false);
    open.focus();
  });
  document.addEventListener("pointerdown", ({ target }) => {
    if (!sheet.hidden && !sheet.contains(target) && !open.contains(target) && !target.closest("[popover]")) show(false);
  });
  sheet.addEventListener("click", ({ target }) => target.closest("[data-panel]") && show(false)); // what opens a panel is in its way
  PHONE.addEventListener("change", place);
  place();
  return () => show(false);
}

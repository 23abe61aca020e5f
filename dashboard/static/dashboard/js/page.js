// This module runs on every page. It copies the text that a button names, closes the menu, says texts that are cut off as
// tooltips, and shows times in a zone.

import "./ui/zones.js";

const COPIED = 1600; // ms for which the button says that it has copied

async function copy(button) {
  const named = button.dataset.copy;
  const text = named ? document.getElementById(named).textContent : location.href;
  const before = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Copying is not allowed"; // the browser forbids it without https
  }
  setTimeout(() => { button.textContent = before; }, COPIED);
}

document.addEventListener("click", ({ target }) => {
  const button = target.closest("[data-copy]");
  if (button) copy(button);
  for (const menu of document.querySelectorAll(".menu[open]")) if (!menu.contains(target)) menu.open = false;
});

/** What a button of a menu opens, a dialog, gives the focus back to the menu's own button. */
document.addEventListener("click", ({ target }) => {
  const menu = target.closest(".menu button[type=button]")?.closest(".menu");
  if (!menu) return;
  menu.open = false;
  menu.querySelector("summary").focus();
}, { capture: true });

/** Returns whether an element ends its text with an ellipsis, because it has no room for all of it. */
const isCut = (element) => element.scrollWidth > element.clientWidth && getComputedStyle(element).textOverflow === "ellipsis";

document.addEventListener("pointerover", ({ target }) => {
  const cut = [target, target.parentElement].find((each) => each instanceof HTMLElement && isCut(each));
  if (cut && ("cut" in cut.dataset || !cut.closest("[title]"))) {
    cut.dataset.cut = ""; // its tooltip is this one, which follows its text
    cut.title = cut.textContent.trim();
  }
});

document.addEventListener("keydown", (event) => {
  const menu = event.key === "Escape" && document.querySelector(".menu[open]");
  if (!menu) return;
  menu.open = false;
  menu.querySelector("summary").focus();
});

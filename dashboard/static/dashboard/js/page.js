// This module runs on every page. It copies the text that a button names, closes the menu, and shows times in a zone.

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

document.addEventListener("keydown", (event) => {
  const menu = event.key === "Escape" && document.querySelector(".menu[open]");
  if (!menu) return;
  menu.open = false;
  menu.querySelector("summary").focus();
});

// Single keys. They can be switched off (WCAG 2.1.4), and never act while someone types.

import { byId } from "./dom.js";

const STORED = "causeline-keys";
const on = () => {
  try { return localStorage.getItem(STORED) !== "off"; } catch { return true; }
};

/** `acts`: key → function. Opens the help on `?`. */
export function listen(acts) {
  const help = byId("help");
  const box = byId("keys-on");
  box.checked = on();
  box.addEventListener("change", () => {
    try { localStorage.setItem(STORED, box.checked ? "on" : "off"); } catch { /* it then lasts for this page */ }
  });
  byId("help-open").addEventListener("click", () => help.showModal());

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if ((event.target instanceof Element) && event.target.closest("input, select, textarea, [popover]")) return;
    if (event.key.length === 1 && !box.checked) return;
    if (event.key.startsWith("Page") && event.target.closest("#findings")) return; // the list scrolls by itself
    const act = { ...acts, "?": () => help.showModal() }[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
}

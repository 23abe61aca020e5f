// This module handles shortcuts of a single key. They can be switched off (WCAG 2.1.4), and do nothing in text fields.

import { byId } from "../draw/dom.js";
import { explainMarks } from "./marks.js";
import { switchZone } from "./zones.js";

const STORED = "causeline-keys";
const on = () => {
  try { return localStorage.getItem(STORED) !== "off"; } catch { return true; }
};

/** Calls the function of `acts` for the key that is pressed, opens the help for `?`, and changes the time zone for `z`. `takesEnter(target)` says whether Enter acts on the timeline although a link has the focus. */
export function listen(acts, takesEnter) {
  const help = byId("help");
  const box = byId("keys-on");
  box.checked = on();
  box.addEventListener("change", () => {
    try { localStorage.setItem(STORED, box.checked ? "on" : "off"); } catch { /* then the choice is valid for this page only */ }
  });
  const openHelp = () => {
    explainMarks();
    help.showModal();
  };
  for (const button of document.querySelectorAll("[data-help]")) button.addEventListener("click", openHelp);

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || document.querySelector("dialog[open]")) return;
    const { target } = event;
    if (!(target instanceof Element)) return;
    if (target.closest("input:not([type=checkbox], [type=radio]), select, textarea, [popover]")) return;
    if (event.key.length === 1 && !box.checked) return;
    if (event.key === "Enter" && target.closest("a, button, input, summary, [role=slider]") && !takesEnter(target)) return; // Enter has its own meaning there
    if (/^(Page|Arrow(Up|Down))/.test(event.key) && target.closest("#findings, #change, #table, #objects")) return; // these scroll by themselves
    const act = { ...acts, z: switchZone, "?": openHelp }[event.key === "=" ? "+" : event.key]; // on most keyboards, Shift makes the equals sign a plus
    if (!act) return;
    if (event.key !== "Escape") event.preventDefault(); // Escape also closes dialogs and menus
    act();
  });
}

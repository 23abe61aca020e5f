// This module shows the times of a page in UTC or in the reader's zone, as the reader chooses. The server writes all times in
// UTC, as elements with `data-utc`; this module changes their texts. It also adds the time in the other zone to copied text.

import { OWN, UTC, choose, zone, zones } from "../state/zone.js";
import { fromIso, translated } from "../state/time.js";

const STORED = "causeline-zone";
const kept = !document.body.classList.contains("report"); // a report always opens in UTC, so that all its readers see the same

function stored() {
  try { return kept && localStorage.getItem(STORED); } catch { return null; } // storage can be forbidden
}

/** Shows the time of an element of the server in the chosen zone, and both times in its tooltip. */
function translate(element) {
  const iso = element.getAttribute("datetime") ?? element.dataset.datetime, time = fromIso(iso);
  if (Number.isNaN(time)) return;
  element.dataset.utc ||= element.textContent;
  const text = translated(element.dataset.utc, time, zone());
  if (element.textContent !== text) element.textContent = text;
  const lines = zones().map((each) => translated(`${iso.replace("T", " ").replace("Z", "")} UTC`, time, each));
  if (!(element instanceof HTMLElement)) return;
  element.title = [...lines, element.parentElement?.title].filter(Boolean).join("\n"); // the bounds of the time may be beside it
  element.dataset.other = lines[1] ?? "";
}

/** Names the chosen zone where the name stands alone, as in the heading of a column. */
function name(element) {
  element.textContent = zone().name;
}

function translateAll(root) {
  const each = (selector, act) => {
    if (root.matches?.(selector)) act(root);
    root.querySelectorAll(selector).forEach(act);
  };
  each("[data-utc]", translate);
  each("[data-zone-name]", name);
}

function drawSwitches() {
  for (const words of document.querySelectorAll("[data-zone-fixed]")) words.hidden = OWN.name !== UTC.name;
  const own = zone() === OWN;
  for (const button of document.querySelectorAll("[data-zone-switch]")) {
    button.hidden = OWN.name === UTC.name;
    const place = zone().name.split("/").at(-1).replaceAll("_", " ");
    const words = button.dataset.zoneSwitch === "other" ? `Use ${own ? "UTC" : OWN.name}` : null;
    button.textContent = words ?? (button.dataset.fold === undefined ? place : `Times are in ${zone().name}`);
    button.title = `Times are in ${zone().name}. Show them in ${own ? "UTC" : `your time zone, ${OWN.name}`}`;
    button.setAttribute("aria-label", words ?? button.title);
  }
}

/** Shows all times of the page in the other zone, and remembers that for all pages. */
export function switchZone() {
  if (OWN.name === UTC.name) return;
  choose(zone() === OWN ? UTC : OWN);
  try { if (kept) localStorage.setItem(STORED, zone() === OWN ? "own" : "utc"); } catch { /* then the choice is valid for this page only */ }
  drawSwitches();
  translateAll(document.body);
  document.dispatchEvent(new Event("zonechange"));
}

if (stored() === "own") choose(OWN);
drawSwitches();
translateAll(document.body);
document.addEventListener("click", ({ target }) => target.closest("[data-zone-switch]") && switchZone());
new MutationObserver((changes) => {
  for (const { addedNodes } of changes) for (const node of addedNodes) if (node instanceof Element && !node.ownerSVGElement) translateAll(node); // a timeline is drawn anew whenever it moves
}).observe(document.body, { childList: true, subtree: true });

/** While text is copied, each time that is selected is followed by the same time in the other zone. */
document.addEventListener("copy", () => {
  const selection = getSelection();
  if (selection.isCollapsed || !selection.rangeCount) return;
  const range = selection.getRangeAt(0), before = range.cloneRange();
  const added = [...document.querySelectorAll("[data-other]:not([data-other=''])")].filter((element) => range.intersectsNode(element)).map((element) => {
    const words = document.createElement("span");
    words.textContent = ` (${element.dataset.other})`;
    element.append(words);
    return words;
  });
  if (!added.length) return;
  if (added.at(-1).parentNode.contains(before.endContainer)) range.setEndAfter(added.at(-1)); // the selection ends in the time
  setTimeout(() => {
    for (const each of added) each.remove();
    range.setStart(before.startContainer, before.startOffset);
    range.setEnd(before.endContainer, before.endOffset);
  });
});

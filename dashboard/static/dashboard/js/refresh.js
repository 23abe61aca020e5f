// This module replaces the elements with data-renew, by their ids, with the server's current version every few seconds.

import { unattended } from "./state/attended.js";

const OFTEN = 3_000; // ms between two updates

const leaving = new AbortController();
let pressed = false; // whether a button of the pointer is down: a click counts only on the element on which it began
addEventListener("pointerdown", () => { pressed = true; });
for (const end of ["pointerup", "pointercancel"]) addEventListener(end, () => { pressed = false; });

async function renew() {
  const inside = document.activeElement?.closest("[data-renew]");
  if (document.hidden || inside || !getSelection().isCollapsed) return; // the user is working in one of them
  let page;
  try {
    page = new DOMParser().parseFromString(await (await fetch(location.pathname + location.search, { headers: { Accept: "text/html", "Causeline-Renewal": "yes", ...unattended() }, signal: leaving.signal })).text(), "text/html");
  } catch {
    return; // the server may be restarting; the next update tries again
  }
  for (const old of document.querySelectorAll("[data-renew]")) {
    const fresh = page.getElementById(old.id);
    if (!fresh || pressed) continue;
    for (const each of old.querySelectorAll("details[open]")) {
      const same = fresh.querySelectorAll("details")[[...old.querySelectorAll("details")].indexOf(each)];
      if (same) same.open = true;
    }
    old.replaceWith(document.adoptNode(fresh));
  }
}

const timer = setInterval(renew, OFTEN);
document.addEventListener("submit", () => { // what is shown may be deleted by it
  clearInterval(timer);
  leaving.abort();
});

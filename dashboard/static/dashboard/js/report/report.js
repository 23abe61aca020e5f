// This module runs the timeline in a report, and connects it with the text around it.

import { byId } from "../draw/dom.js";
import { showFinding } from "../timeline.js";

/** Selects the finding with this key on the timeline, as a click on its row in the list does. */
function show(key) {
  document.querySelector('.tabs [data-tab="timeline"]').click();
  showFinding({ key });
  byId("workbench").scrollIntoView();
  byId("bench").focus({ preventScroll: true });
}

document.addEventListener("click", ({ target }) => {
  const key = target.closest("[data-show]")?.dataset.show;
  if (key) show(key);
});

/** Opens the collapsed element that contains the target of the address, if there is one. */
function reveal() {
  const id = location.hash.slice(1);
  const details = id && !id.includes("=") ? byId(id)?.closest("details") : null;
  if (!details || details.open) return;
  details.open = true;
  details.scrollIntoView();
}
addEventListener("hashchange", reveal);
reveal();

// -- printing, with everything open ------------------------------------------------------------------------------------

let opened = [];
addEventListener("beforeprint", () => {
  opened = [...document.querySelectorAll("details:not([open])")];
  for (const details of opened) details.open = true;
});
addEventListener("afterprint", () => {
  for (const details of opened) details.open = false;
});

// This module runs on pages with the view of an actor (templates/parts/view_lane.html). It shows the copy of the act
// that has the pointer or the focus, or that was tapped, as a difference to what stood when it acted.

import { copy } from "./state/api.js";
import { comparison } from "./ui/copies.js";

for (const lane of document.querySelectorAll(".view-lane")) {
  const place = lane.querySelector(".view-copy");
  const known = new Map(); // the answers so far, by the two revisions
  let asked = "";

  async function show({ dataset: { copied, stood } }) {
    const key = `${copied} ${stood}`;
    if (!copied || key === asked) return;
    asked = key;
    for (const each of lane.querySelectorAll("button[data-copied]")) each.setAttribute("aria-pressed", String(`${each.dataset.copied} ${each.dataset.stood}` === key));
    for (const each of lane.querySelectorAll("circle[data-copied]")) each.classList.toggle("shown", `${each.dataset.copied} ${each.dataset.stood}` === key);
    if (!known.has(key)) known.set(key, copy(lane.dataset.ask, { copied, stood }));
    try {
      const found = await known.get(key);
      if (asked === key) place.replaceChildren(...comparison(found));
    } catch {
      known.delete(key); // what is shown stays; the next hand asks again
      if (asked === key) asked = "";
    }
  }

  for (const type of ["pointerover", "focusin", "click"]) {
    lane.addEventListener(type, ({ target }) => {
      const act = target.closest("[data-copied]");
      if (act) show(act);
    });
  }
}

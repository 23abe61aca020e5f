// This module limits the list of marks in the help to what the lanes show now. A button shows the others, too.

import { byId } from "../draw/dom.js";

/** Hides the marks that are not in view; with `all`, none. */
export function explainMarks(all = false) {
  const rows = [...document.querySelectorAll("#marks > [data-seen]")];
  for (const row of rows) row.hidden = !all && !document.querySelector(row.dataset.seen);
  byId("marks-all").hidden = rows.every((row) => !row.hidden);
}

byId("marks-all").addEventListener("click", () => {
  explainMarks(true);
  byId("marks").focus(); // the button is gone
});

// This module shows one panel at a time on a phone: findings, lanes or objects. On a wide screen, findings and lanes are side
// by side.

import { byId } from "../draw/dom.js";

export class Tabs {
  /** `onTurn()` is called when another panel is shown. */
  constructor({ store, onTurn }) {
    this.store = store;
    const bar = byId("tabs");
    bar.addEventListener("click", ({ target }) => {
      if (!target.dataset.tab) return;
      document.body.dataset.tab = target.dataset.tab;
      for (const button of bar.children) button.setAttribute("aria-pressed", String(button === target));
      onTurn();
    });
  }

  /** Returns what is shown instead of the lanes: "table", "objects", or "" for the lanes themselves. */
  listed() {
    const { tab } = document.body.dataset;
    const phone = innerWidth <= 720;
    return phone && tab === "objects" ? "objects" : this.store.table && !(phone && tab === "findings") ? "table" : "";
  }
}

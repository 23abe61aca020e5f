// This module scrolls to the lanes of the selected finding, to the selected lane, or to the top, when these are loaded.

import { lanesOf } from "../state/window.js";

export class Reveal {
  wanted = null; // what to scroll to: "finding", "lane", "top", or null for nothing

  /** `onHidden(key)` is called if the selected lane is not loaded, for example because it is inside a strip. */
  constructor({ store, loader, lanes, selection, onHidden }) {
    Object.assign(this, { store, loader, lanes, selection, onHidden });
  }

  /** Scrolls to what is wanted. If a newer window is loading, it waits for that. */
  show() {
    const { store, loader: { payload }, wanted } = this;
    if (!wanted || !payload || this.loader.stale()) return;
    if (wanted === "top") {
      this.wanted = null;
      this.lanes.bench.scrollTop = 0;
      return;
    }
    const group = this.selection.selected;
    const lane = payload.lanes.findIndex(({ key }) => key === store.lane);
    const indices = wanted === "lane" ? [lane] : group ? lanesOf(payload, group) : [];
    if (wanted === "finding" && group && !indices.length && payload.offset > 0) {
      this.lanes.bench.scrollTop = 0; // the group of the finding comes first; it is revealed when it is loaded
      return;
    }
    this.wanted = null;
    this.lanes.reveal(indices.filter((index) => index >= 0));
    if (wanted === "lane" && lane < 0 && store.lane && !store.pins.includes(store.lane)) this.onHidden(store.lane);
  }
}

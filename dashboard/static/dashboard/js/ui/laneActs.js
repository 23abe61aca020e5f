// This module does what readers ask of lanes: it keeps one on top, selects one, closes groups, and shows objects.

import { NOISE } from "../state/window.js";

export class LaneActs {
  /** `onSelected(key)` is called when another lane was selected, and `onShow()` before the view moves to an object. */
  constructor({ store, announce, onSelected, onShow }) {
    Object.assign(this, { store, announce, onSelected, onShow });
  }

  /** Closes exactly these groups, by their keys. */
  fold(closed) {
    this.store.set({ closed: [...new Set(closed)] }, { push: true });
  }

  pin(key) {
    this.store.toggle("pins", key);
    this.announce(this.store.pins.includes(key) ? "Kept on top." : "No longer kept on top.");
  }

  select(key) {
    if (key === this.store.lane) return;
    this.store.set({ lane: key });
    this.onSelected(key);
  }

  /** Limits lanes, incidents, counts and the report to a root owner (its number as text) and what it owns. */
  scope(root) {
    const { store } = this;
    store.set({ focus: store.focus === root ? "" : root, finding: "", offset: 0 }, { push: true });
    this.announce(store.focus ? "Only this object, what it owns, and their incidents are shown." : "All objects are shown.");
  }

  /** Shows an object: moves the view to its time, its group to the top, and selects its lane. */
  show({ key, root, family, range: [start, end] }) {
    const { store } = this;
    this.onShow();
    store.set({ finding: "", focus: String(root), lane: key, offset: 0, noise: store.noise || NOISE.includes(family), closed: store.closed.filter((other) => other !== String(root)), start, end }, { push: true });
  }
}

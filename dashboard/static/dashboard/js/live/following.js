// This module lets the view follow the edge of a live source. It does not use the DOM.

import { latest } from "../state/ranges.js";

const LEAST = 0.02; // if less than this part of the view is left after the edge, the view moves on

export class Following {
  #moving = false;
  #view = null;

  /** `edge()` → the current end of the source (µs), or null. `onChange(on, by)` is called with `by` "hand" if the user moved the view. */
  constructor({ store, edge, onChange }) {
    Object.assign(this, { store, edge, onChange });
    store.anchor = () => this.#place();
    store.subscribe((names) => this.#moved(names));
    this.#shown();
  }

  get on() {
    return this.store.follow;
  }

  toggle() {
    if (this.on) this.#turn(false);
    else this.begin();
  }

  /** Starts to follow the edge, and moves the view to it. */
  begin() {
    const { store } = this;
    const { start, end } = store.view();
    this.#set({ follow: true, ...this.#around(end - start) }, true);
    this.onChange(true);
  }

  #turn(on, by) {
    this.#set({ follow: on }, !by);
    this.onChange(on, by);
  }

  /** Moves the view on if the edge is near its end. */
  advance() {
    const edge = this.edge();
    if (!this.on || edge === null) return;
    const { start, end } = this.store.view();
    const width = end - start;
    if (edge > end - LEAST * width || edge < start) this.#set(this.#around(width));
  }

  /** Returns the place of the edge in the view (0 to 1), because keys zoom around it. It goes on while nothing is drawn. */
  #place() {
    const { store } = this;
    const edge = this.on && store.bounds ? this.edge() : null;
    if (edge === null) return 0.5;
    const { start, end } = store.view();
    return Math.min(1, Math.max(0, (edge - start) / (end - start)));
  }

  #around(width) {
    const edge = this.edge();
    return edge === null ? {} : latest({ last: edge }, width);
  }

  #set(changes, push = false) {
    this.#moving = true;
    this.store.set(changes, { push });
    this.#moving = false;
    this.#shown();
  }

  #shown() {
    this.#view = this.store.start === null ? null : this.store.view();
  }

  /**
   * Stops following when the user moves away from the edge, but not when the user zooms with the edge visible, or when the
   * page has not followed an edge that left the view.
   */
  #moved(names) {
    if (this.#moving || !this.store.bounds) return;
    const before = this.#view;
    this.#shown();
    if (!this.on || !names.includes("start") || !before) return;
    const { start, end } = this.store.view();
    const zoomed = Math.abs(end - start - (before.end - before.start)) > 2;
    const away = names.some((name) => !["start", "end"].includes(name)) || (zoomed ? this.edge() > end && this.edge() <= before.end : start < before.start - 1);
    if (away) this.#turn(false, "hand");
  }
}

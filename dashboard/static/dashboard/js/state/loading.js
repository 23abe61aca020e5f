// This module loads a new window when the loaded one no longer fits the state of the store. It does not use the DOM.

import { filterOf, narrowing } from "./store.js";

const SOON = 100; // ms without a change of the view before a window is loaded
const LONGEST = 500; // ms after which one is loaded even if the view goes on changing
const SETTLED = 400; // ms without a change after which the lanes are updated, if the view has moved inside the loaded window
const MOVED = 0.25; // the part of its width by which the view has to move for that

/** Returns the filter of incidents: that of the store, the scope, and whether those are shown that somebody knows of or that do no harm. */
export function incidentFilterOf(store) {
  const { focus, state } = store, hidden = store.hidden ? 1 : 0;
  return { ...narrowing(store), state, root: focus, harmless: hidden, acknowledged: hidden, silenced: hidden, limit: 100 };
}

export class Loader {
  #soon = 0;
  #settled = 0;
  #since = null; // when the view began to change (ms)
  #coming = null; // the question of the request that is not answered yet
  #again = false; // whether another window may be needed after that answer
  #held = null; // lets an answer that waits for the view to rest go on

  /** `place()` → {offset, limit, inSight [first, last], loaded} of the lanes; `focus()` → the root whose group comes first; `keep()` → the keys of lanes that are not folded. */
  constructor({ windows, store, place, focus, keep = () => [], onLoading, onLoaded, onFailed }) {
    Object.assign(this, { windows, store, place, focus, keep, onLoading, onLoaded, onFailed });
    this.payload = null;
    this.asked = null;
    this.since = null; // µs from which on lanes are shown, even if the view begins later; null: from the beginning of the view on
  }

  question() {
    const { store } = this;
    const { offset, limit } = this.place();
    const { group, open, closed, pins, finding, unfold } = store;
    const { state, ...filter } = filterOf(store); // windows have no states
    return { ...store.view(), offset, limit, ...filter, group, open, closed, pins, finding, fold: true, unfold, keep: this.keep(), since: this.since, focus: this.focus(), scope: store.focus, incident: store.incident };
  }

  #view(asked) {
    const { start, end, offset, limit, ...rest } = asked;
    return JSON.stringify(rest);
  }

  /** Returns whether the loaded window does not fit the state of the store. */
  stale() {
    if (!this.payload) return true;
    const { payload, asked, store } = this;
    const view = store.view();
    const { first, last } = store.bounds;
    const outside = Math.max(view.start, first) < payload.start || Math.min(view.end, last) > payload.end;
    const zoomed = (asked.end - asked.start) / (view.end - view.start);
    if (outside || zoomed > 2 || zoomed < 0.5) return true;
    if (this.#view(asked) !== this.#view(this.question())) return true;
    const { inSight, loaded } = this.place();
    if (!inSight) return false;
    const [from, to] = inSight;
    const end = payload.offset + loaded;
    return (from < payload.offset + 3 && payload.offset > 0) || (to > end - 3 && end < payload.lanes_total);
  }

  /** Returns whether lanes may have entered or left the view since the window was requested. */
  #moved() {
    const { asked, store } = this;
    const { start, end } = store.view();
    const width = end - start;
    return Math.abs(start - asked.start) > MOVED * width || Math.abs(end - asked.end) > MOVED * width;
  }

  /** Loads a window soon, if one is needed when the view has not changed for a moment, or has changed for long. */
  soon() {
    clearTimeout(this.#soon);
    clearTimeout(this.#settled);
    const now = performance.now();
    this.#since ??= now;
    this.#soon = setTimeout(() => this.#look(() => this.stale()), Math.max(0, Math.min(SOON, this.#since + LONGEST - now)));
    this.#settled = setTimeout(() => this.#look(() => this.payload && this.#moved()), SETTLED);
  }

  /** Loads a window if it is needed. A request whose answer still has a part of the view is let finish: a slow server would else never answer. */
  #look(needed) {
    this.#since = null;
    if (this.#held) return this.#release();
    if (!needed()) return;
    if (this.#coming && this.#serves(this.#coming)) this.#again = true;
    else this.load();
  }

  #release() {
    this.#held?.();
    this.#held = null;
    this.#again = true;
  }

  /** Returns whether the answer to a question shows some of what the store wants to see now. */
  #serves(asked) {
    const { start, end } = this.store.view(), width = asked.end - asked.start; // the answer covers as much again on both sides
    return start < asked.end + width && end > asked.start - width && this.#view(asked) === this.#view(this.question());
  }

  /** Loads a window. Resolves with false if that failed; a request that a newer one replaced does not count as failed. */
  async load() {
    clearTimeout(this.#soon);
    clearTimeout(this.#settled);
    this.#since = null;
    this.#release();
    const asked = this.question();
    this.#coming = asked;
    this.#again = false;
    this.onLoading();
    let payload;
    try {
      payload = await this.windows.ask(asked);
    } catch (error) {
      if (error.name === "AbortError") return true;
      if (this.#coming === asked) this.#coming = null;
      this.onFailed(error);
      return false;
    }
    // While what is drawn still serves, a new window does not interrupt the movement.
    if (this.#since !== null && !this.stale()) await new Promise((rested) => (this.#held = rested));
    if (this.#coming !== asked) return true;
    this.#coming = null;
    this.payload = payload;
    this.asked = asked;
    this.onLoaded(payload);
    if (this.#again) this.soon();
    return true;
  }
}

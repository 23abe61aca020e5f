// Which finding is selected: out of the list, by stepping through it, or by a link. Free of the DOM.

import { filterOf } from "./loading.js";
import { rangeAround } from "./selection.js";

export class Choosing {
  /** `onCome()`: findings have come in; `onChosen()`: one was selected, before the view moves to it. */
  constructor({ store, found, announce, onCome, onChosen, onFailed }) {
    Object.assign(this, { store, found, announce, onCome, onChosen, onFailed });
  }

  get selected() {
    return this.found.get(this.store.finding);
  }

  /** Brings in what the filter lets through, and what the address names beside. Raises ApiError. */
  async load() {
    const { store, found } = this;
    found.about = store.about;
    const fresh = await found.load(filterOf(store));
    await found.bring([store.finding, ...store.arrows]);
    return fresh;
  }

  /** The same after a change of the filter. */
  async reload() {
    try {
      if (await this.load()) this.onCome();
    } catch (error) {
      this.onFailed(error);
    }
  }

  async more() {
    try {
      if (await this.found.loadMore()) this.onCome();
    } catch (error) {
      this.onFailed(error);
    }
  }

  select(key) {
    const { store } = this;
    const group = this.found.get(key);
    if (!group) return;
    this.onChosen();
    const closed = store.closed.filter((other) => other !== String(group.focus));
    store.set({ finding: key, focus: "", offset: 0, closed, ...rangeAround(group) }, { push: store.finding !== key });
    this.announce(group.summary);
  }

  /** One that may not be loaded yet. */
  async show({ key }) {
    await this.found.bring([key]);
    this.select(key);
  }

  /** The next one of the list (`by` 1) or the one before (-1), also across its pages. */
  async step(by) {
    const { found } = this;
    const at = found.groups.findIndex((group) => group.key === this.store.finding);
    let next = at < 0 ? (by > 0 ? 0 : found.groups.length - 1) : at + by;
    if (next >= found.groups.length && found.more) await this.more();
    if (next >= found.groups.length) next = 0;
    if (next < 0 && !found.more) next = found.groups.length - 1;
    if (found.groups[next]) this.select(found.groups[next].key);
    else this.announce(found.total ? "This is the first finding." : "There is no finding.");
  }
}

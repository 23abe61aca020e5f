// This module selects a finding: from the list, by stepping through it, or by a link. It does not use the DOM.

import { filterOf } from "./loading.js";
import { rangeAround } from "./ranges.js";

export class Selection {
  #turn = Promise.resolve(); // of the keys: a step waits for the page of findings that the one before needs

  /** `onCome()` is called after findings were loaded, `onChosen()` when one was selected, before the view moves to it, and `onFailed(error)` if a request failed. */
  constructor({ store, findingsList, announce, onCome, onChosen, onFailed }) {
    Object.assign(this, { store, findingsList, announce, onCome, onChosen, onFailed });
  }

  get selected() {
    return this.findingsList.get(this.store.finding);
  }

  /** Loads the findings that match the filter, and those that the address names. Resolves with whether the list was loaded anew; rejects with an ApiError. */
  async load() {
    const { store, findingsList } = this;
    findingsList.about = store.about;
    const fresh = await findingsList.load(filterOf(store));
    await findingsList.bring([store.finding, ...store.arrows]);
    return fresh;
  }

  /** Loads the findings again after a change of the filter, and reports failures. */
  async reload() {
    try {
      if (await this.load()) this.onCome();
    } catch (error) {
      this.onFailed(error);
    }
  }

  async more() {
    try {
      if (await this.findingsList.loadMore()) this.onCome();
    } catch (error) {
      this.onFailed(error);
    }
  }

  /** Selects a loaded finding, and moves the view to it. */
  select(key) {
    const { store } = this;
    const group = this.findingsList.get(key);
    if (!group) return;
    this.onChosen();
    const closed = store.closed.filter((other) => other !== String(group.focus));
    store.set({ finding: key, focus: "", offset: 0, closed, ...rangeAround(group) }, { push: store.finding !== key });
    this.announce(group.summary);
  }

  /** Selects a finding that may not be loaded yet. */
  async show({ key }) {
    await this.findingsList.bring([key]);
    this.select(key);
  }

  /** Selects the next finding of the list (`by` 1) or the previous one (-1), also across pages. */
  step(by) {
    return (this.#turn = this.#turn.catch(() => {}).then(() => this.#step(by)));
  }

  async #step(by) {
    const { findingsList } = this;
    const at = findingsList.groups.findIndex((group) => group.key === this.store.finding);
    let next = at < 0 ? (by > 0 ? 0 : findingsList.groups.length - 1) : at + by;
    if (next >= findingsList.groups.length && findingsList.more) await this.more();
    if (next >= findingsList.groups.length) next = 0;
    if (next < 0 && !findingsList.more) next = findingsList.groups.length - 1;
    if (findingsList.groups[next]) this.select(findingsList.groups[next].key);
    else this.announce(findingsList.total ? "This is the first finding." : "There is no finding.");
  }
}

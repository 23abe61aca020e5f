// This module selects a finding: from the list, by stepping through it, or by a link. It does not use the DOM.

import { incidentFilterOf } from "./loading.js";
import { rangeAround, rangeOf } from "./ranges.js";

const SOON = 150; // ms without a change of the view before the incidents in it are asked for

export class Selection {
  #soon = 0;
  #turn = Promise.resolve(); // of the keys: a step waits for the findings that the one before needs
  #incident = ""; // the incident that was opened last, because a finding may belong to several

  /** `onCome()` is called after incidents or findings were loaded, `onChosen(what)` when a finding was selected, before the view moves to "finding", or to the "top" of the lanes of an incident that is shown alone, and `onFailed(error)` if a request failed. */
  constructor({ store, list, announce, onCome, onChosen, onFailed }) {
    Object.assign(this, { store, list, announce, onCome, onChosen, onFailed });
  }

  get selected() {
    return this.list.rows.get(this.store.finding);
  }

  /** Returns the id of the open incident, which is that of the selected finding. */
  get open() {
    return this.list.incidentOf(this.store.finding, this.#incident || this.store.incident);
  }

  /** Loads the incidents that match the filter, and the findings that the address names, as far as the opening of the page has not brought them. Resolves with whether the list was loaded anew; rejects with an ApiError. */
  async load({ incidents = null, finding = null, findings = null } = {}) {
    const { store, list } = this;
    list.about = store.about;
    const fresh = await list.load(incidentFilterOf(store), incidents);
    if (finding) list.hold(finding, findings, store.incident);
    await list.rows.bring([store.finding, ...store.arrows]);
    await list.bringIncident(store.finding, store.incident);
    if (store.incident) await list.bring(store.incident);
    return fresh;
  }

  /** Loads the incidents again after a change of the filter, and reports failures. */
  async reload() {
    await this.#come(() => this.load());
  }

  async more() {
    await this.#come(() => this.list.loadMore());
  }

  async moreRows(id) {
    await this.#come(async () => (await this.list.rows.more(id), true));
  }

  /** Loads the incidents of the visible range if the loaded ones do not tell which these are. */
  async look() {
    await this.#come(() => this.list.look(this.store.view()));
  }

  /** Does so when the view has not moved for a moment, within the loaded window. */
  lookSoon() {
    clearTimeout(this.#soon);
    if (!this.list.more) this.#soon = setTimeout(() => this.look(), SOON);
  }

  async #come(load) {
    try {
      if (await load()) this.onCome();
    } catch (error) {
      this.onFailed(error);
    }
  }

  /** Selects a loaded finding, and moves the view to it. `changes` are made to the store at the same time. */
  select(key, changes = {}) {
    const { store, list } = this;
    const group = list.rows.get(key);
    if (!group) return;
    this.onChosen(changes.incident ? "top" : "finding");
    const closed = store.closed.filter((other) => other !== String(group.focus));
    const incident = group.incidents.includes(store.incident) ? store.incident : ""; // of another one, not all lanes may be shown
    store.set({ finding: key, offset: 0, closed, incident, ...rangeOf(group, "time", store.bounds?.last), ...changes }, { push: store.finding !== key || changes.axis !== undefined || changes.incident !== undefined });
    this.announce(group.summary);
    this.#come(async () => (await list.bringIncident(key), true));
  }

  /** Shows the events of a loaded finding in their order, each with the same room. */
  order(key) {
    const group = this.list.rows.get(key);
    if (group) this.select(key, { axis: "order", ...rangeOf(group, "order") });
  }

  /** Opens an incident and selects its most severe finding; closes it if it is open. */
  async toggle(id) {
    if (this.open === id) return this.store.set({ finding: "" }, { push: true });
    await this.#come(async () => {
      const group = await this.#gravest(id);
      this.#incident = id;
      if (group) this.select(group.key);
      return true;
    });
  }

  /** Returns the most severe finding of the gravest symptom of an incident, or null. */
  async #gravest(id) {
    const { rows } = this.list, [first] = this.list.get(id)?.symptoms ?? [];
    return (first && (await rows.gravestOf(id, first))) ?? rows.gravest(id);
  }

  /** Shows an incident alone, with its most severe finding; all lanes again if it is shown alone. */
  async alone(id) {
    if (this.store.incident === id) return this.store.set({ incident: "", offset: 0 }, { push: true });
    await this.#come(async () => {
      const group = await this.#gravest(id);
      this.#incident = id;
      if (group) this.select(group.key, { incident: id, ...rangeAround(group, this.list.get(id), this.store.axis) });
      return true;
    });
  }

  /** Selects the most severe finding of a symptom of an incident. */
  async symptom(id, symptom) {
    await this.#come(async () => {
      const group = await this.list.rows.gravestOf(id, symptom);
      this.#incident = id;
      if (group) this.select(group.key);
      return true;
    });
  }

  /** Selects a finding that may not be loaded yet, nor be in the scope. */
  async show({ key }) {
    await this.list.rows.bring([key]);
    this.select(key, this.list.has(this.list.incidentOf(key)) ? {} : { focus: "" });
  }

  /** Selects the next finding of the list (`by` 1) or the previous one (-1), also of another incident or page. */
  step(by) {
    return (this.#turn = this.#turn.catch(() => {}).then(() => this.#step(by)));
  }

  async #step(by) {
    const { list } = this;
    try {
      const found = (await this.#beside(by)) ?? (await this.#beyond(by));
      if (!found) return this.announce(list.all.incidents ? "This is the first finding." : "There is no finding.");
      this.#incident = found.id;
      this.select(found.group.key);
    } catch (error) {
      this.onFailed(error);
    }
  }

  /** Returns the next finding of the open incident: {id, group}, or null. */
  async #beside(by) {
    const id = this.open;
    if (!id) return null;
    const at = (groups) => groups.findIndex(({ key }) => key === this.store.finding);
    let { groups, more } = this.list.rows.shown(id, this.store.finding) ?? { groups: [], more: false };
    if (by > 0 && more && at(groups) >= groups.length - 1) {
      await this.list.rows.more(id);
      ({ groups, more } = this.list.rows.shown(id, this.store.finding));
    }
    const group = groups[at(groups) + by];
    return group ? { id, group } : null;
  }

  /** Returns the first finding of the next incident, or the last loaded one of the previous incident: {id, group}, or null. */
  async #beyond(by) {
    const { list } = this;
    const at = list.incidents.findIndex(({ id }) => id === this.open);
    let next = at < 0 ? (by > 0 ? 0 : list.incidents.length - 1) : at + by;
    if (next >= list.incidents.length && list.more) await list.loadMore();
    if (next >= list.incidents.length) next = 0;
    if (next < 0 && !list.more) next = list.incidents.length - 1;
    const incident = list.incidents[next];
    if (!incident) return null;
    const group = (await list.rows.of(incident.id)).at(by > 0 ? 0 : -1);
    return group ? { id: incident.id, group } : null;
  }
}

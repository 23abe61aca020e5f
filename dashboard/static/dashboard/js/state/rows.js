// This module keeps the loaded findings of incidents. It does not use the DOM.

import { earliest, gravest } from "./ordering.js";

const ROWS = 50; // findings of an incident that are loaded at once
const MOST = 500; // findings among which one of a symptom is looked for

export class Rows {
  #rows = new Map(); // id of an incident → {groups, next, coming, stale}: its loaded findings, the cursor of the next ones, a promise, and whether they are out of date
  #single = new Map(); // the findings that were loaded by their keys
  before = earliest; // their order

  /** `ask(question)` → a page of findings. */
  constructor(ask) {
    this.ask = ask;
  }

  /** Makes the findings of each incident be loaded again when they are asked for; until then they are shown. */
  forget() {
    for (const rows of this.#rows.values()) rows.stale = true;
  }

  /** Loads the first findings of an incident, and resolves with them. */
  async of(id) {
    if (!this.#rows.has(id)) this.#rows.set(id, { groups: [], next: "", coming: null, stale: false });
    const rows = this.#rows.get(id);
    if (rows.next === "" || rows.stale) await this.more(id);
    return rows.groups;
  }

  /** Loads further findings of an incident, once for simultaneous calls. */
  async more(id) {
    const rows = this.#rows.get(id);
    rows.coming ??= this.#further(rows, id).finally(() => (rows.coming = null));
    return rows.coming;
  }

  async #further(rows, id) {
    const { stale } = rows;
    const page = await this.ask({ incident: id, limit: ROWS, cursor: stale ? "" : rows.next });
    this.#put(rows, page, stale);
  }

  /** Keeps the first page of the findings of an incident. */
  take(id, page) {
    this.#rows.set(id, { groups: [], next: "", coming: null, stale: false });
    this.#put(this.#rows.get(id), page, true);
  }

  #put(rows, page, stale) {
    const known = new Set(page.findings.map(({ key }) => key));
    rows.stale = false;
    rows.groups = [...(stale ? [] : rows.groups).filter(({ key }) => !known.has(key)), ...page.findings].sort(this.before);
    rows.next = page.next;
  }

  /** Returns the loaded findings of an incident, with the selected one also if it is further down; null if none is loaded. */
  shown(id, selected) {
    const rows = this.#rows.get(id);
    if (!rows || rows.next === "") return null;
    const single = this.get(selected);
    const missing = single && single.incidents.includes(id) && !rows.groups.includes(single);
    return { groups: missing ? [...rows.groups, single].sort(this.before) : rows.groups, more: rows.next !== null };
  }

  /** Returns the finding with this key if it is loaded. */
  get(key) {
    if (!key) return undefined;
    for (const { groups } of this.#rows.values()) {
      const found = groups.find((group) => group.key === key);
      if (found) return found;
    }
    return this.#single.get(key);
  }

  /** Keeps a finding that need not be of a loaded incident. */
  hold(group) {
    this.#single.set(group.key, group);
  }

  /** Loads the findings with these keys, because a link may name one of any page, or of a hidden incident. */
  async bring(keys) {
    for (const key of keys.filter((each) => each && !this.get(each))) {
      const { findings: [group] } = await this.ask({ key });
      if (group) this.hold(group);
    }
  }

  /** Returns the most severe finding of an incident, or null. */
  async gravest(id) {
    const groups = await this.of(id);
    if (!this.shown(id).more) return [...groups].sort(gravest)[0] ?? null;
    const { findings: [group] } = await this.ask({ incident: id, order: "gravest", limit: 1 });
    if (group) await this.bring([group.key]);
    return group ?? null;
  }

  /** Returns the finding with which the server's pages show a symptom of an incident, or else its most severe one that is known, or null. If none of its findings is loaded, this one is. */
  async gravestOf(id, { id: symptom, rule, worst }) {
    const first = (groups) => {
      const own = groups.filter((group) => group.symptoms?.includes(symptom)).sort(gravest);
      return own.find(({ findings }) => findings.some((each) => each.id === worst)) ?? own[0] ?? null;
    };
    const known = first(await this.of(id));
    if (known) return known;
    const found = first((await this.ask({ incident: id, rule, limit: MOST })).findings);
    if (found) this.hold(found);
    return found;
  }

  /** Inserts or replaces a finding of incidents whose findings are loaded. */
  put(group) {
    if (this.#single.has(group.key)) this.#single.set(group.key, group);
    for (const id of group.incidents) {
      const rows = this.#rows.get(id);
      if (rows) rows.groups = [...rows.groups.filter(({ key }) => key !== group.key), group].sort(this.before);
    }
  }

  /** Removes a finding that was withdrawn. With `looking`, because it is selected, it is shown as withdrawn instead. */
  drop(key, looking) {
    const group = this.get(key);
    for (const rows of this.#rows.values()) rows.groups = rows.groups.filter((other) => other.key !== key);
    if (group && looking) this.#single.set(key, { ...group, status: "withdrawn" });
  }
}

// This module keeps the loaded findings of a source that match the filter. It does not use the DOM.

const worse = ["error", "warning", "info"];

/** Returns the most severe of these rows; of several, the one with the most findings. */
const worst = (groups) => [...groups].sort((one, other) =>
  worse.indexOf(one.severity) - worse.indexOf(other.severity) || other.findings.length - one.findings.length)[0] ?? null;

/** Orders by time, and findings of the same time by severity. */
const earliest = (one, other) => one.start - other.start || worse.indexOf(one.severity) - worse.indexOf(other.severity) || (one.key < other.key ? -1 : 1);

/** Orders a live source: the latest comes first. */
const newest = (one, other) => other.end - one.end || worse.indexOf(one.severity) - worse.indexOf(other.severity) || (one.key < other.key ? -1 : 1);

export class FindingsList {
  #groups = [];
  #own = new Set(); // the keys of the findings that name the object of a link
  #filter = null;
  #next = null;
  #before = earliest;
  #asked = 0; // the number of requests so far, by which answers to older ones are recognised and ignored
  #coming = null; // the promise of the next page
  #single = new Map(); // the findings that were loaded by their keys
  #since = null; // the changes that came while an answer was loading, which may not contain them

  /** `ask(question)` → a page of findings. */
  constructor(ask) {
    this.ask = ask;
    this.about = ""; // the track of the object that a link names: its findings come first
    this.groups = [];
    this.total = 0;
    this.known = false; // whether the first page has come
  }

  get groups() {
    return this.#own.size ? [...this.#groups.filter(({ key }) => this.#own.has(key)), ...this.#groups.filter(({ key }) => !this.#own.has(key))] : this.#groups;
  }

  set groups(groups) {
    this.#groups = groups;
  }

  get more() {
    return this.#next !== null;
  }

  /** Loads the findings that match if the filter has changed. Resolves with whether something was loaded. */
  async load(filter) {
    const written = JSON.stringify(filter);
    if (written === this.#filter) return false;
    this.#filter = written;
    const asked = ++this.#asked;
    this.#since = [];
    try {
      const [page, own] = await Promise.all([this.ask(filter), this.about ? this.ask({ ...filter, about: this.about }) : { findings: [] }]);
      if (asked !== this.#asked) return false;
      this.#own = new Set(own.findings.map(({ key }) => key));
      this.groups = [...own.findings, ...page.findings.filter(({ key }) => !this.#own.has(key))];
      this.#take(page);
      this.#again();
      return true;
    } catch (error) {
      if (asked === this.#asked) this.#filter = null;
      throw error;
    }
  }

  /** Loads the next page, once for simultaneous calls. Resolves with whether something was loaded. */
  async loadMore() {
    this.#coming ??= this.#page().finally(() => (this.#coming = null));
    return this.#coming;
  }

  async #page() {
    if (!this.more) return false;
    const asked = this.#asked;
    this.#since = [];
    const page = await this.ask({ ...JSON.parse(this.#filter), cursor: this.#next });
    if (asked !== this.#asked) return false;
    const known = new Set(this.groups.map(({ key }) => key));
    this.groups = [...this.groups, ...page.findings.filter(({ key }) => !known.has(key))];
    this.#take(page);
    this.#again();
    return true;
  }

  #again() {
    const since = this.#since ?? [];
    this.#since = null;
    for (const act of since) act();
  }

  #take({ next, total, order }) {
    this.#before = order === "newest" ? newest : earliest; // findings are inserted only for a live source
    this.#next = next;
    this.total = total;
    this.known = true;
  }

  /** Makes the next `load` send a request even if the filter is the same, because the loaded findings are out of date. */
  forget() {
    this.#filter = null;
  }

  /** Inserts or replaces a finding, if its place in the list is loaded. Returns whether it is new. */
  put(group) {
    this.#since?.push(() => this.put(group));
    const at = this.groups.findIndex(({ key }) => key === group.key);
    const others = at < 0 ? this.groups : this.groups.toSpliced(at, 1);
    if (this.#single.has(group.key)) this.#single.set(group.key, group);
    const place = others.findIndex((other) => this.#before(group, other) < 0);
    if (place < 0 && this.more) this.groups = others;
    else this.groups = others.toSpliced(place < 0 ? others.length : place, 0, group);
    if (at < 0) this.total++;
    return at < 0;
  }

  /** Removes a finding that was withdrawn. With `looking`, because it is selected, it is shown as withdrawn instead. */
  drop(key, looking) {
    this.#since?.push(() => this.drop(key, false));
    const group = this.get(key);
    const left = this.groups.filter((other) => other.key !== key);
    this.total -= this.groups.length - left.length;
    this.groups = left;
    if (group && looking) this.#single.set(key, { ...group, status: "withdrawn" });
  }

  /** Returns the most severe finding that matches the filter, also from a later page, or null. */
  async gravest(filter) {
    if (!this.more) return worst(this.groups);
    const { findings: [first] } = await this.ask({ ...filter, order: "gravest", limit: 1 });
    await this.bring([first.key]);
    return first;
  }

  /** Returns the finding with this key if it is loaded. */
  get(key) {
    return key ? (this.groups.find((group) => group.key === key) ?? this.#single.get(key)) : undefined;
  }

  /** Loads the findings with these keys that are not loaded, because a link may name one of any page. */
  async bring(keys) {
    const missing = keys.filter((key) => key && !this.get(key));
    for (const key of missing) {
      const { findings } = await this.ask({ key });
      if (findings.length) this.#single.set(key, findings[0]);
    }
  }
}

// The findings of a source that match the filter, as far as they are loaded. Free of the DOM.

const worse = ["error", "warning", "info"];

/** Of those loaded, the gravest; of equals, the one that befell most. */
const worst = (groups) => [...groups].sort((one, other) =>
  worse.indexOf(one.severity) - worse.indexOf(other.severity) || other.findings.length - one.findings.length)[0] ?? null;

/** In the order of time; of those that began together, the gravest first. */
const earliest = (one, other) => one.start - other.start || worse.indexOf(one.severity) - worse.indexOf(other.severity) || (one.key < other.key ? -1 : 1);

/** Of a source that goes on: what happened last comes first. */
const newest = (one, other) => other.end - one.end || worse.indexOf(one.severity) - worse.indexOf(other.severity) || (one.key < other.key ? -1 : 1);

export class FindingsList {
  #groups = [];
  #own = new Set(); // keys of those that name the object of a link
  #filter = null;
  #next = null;
  #before = earliest;
  #asked = 0; // an answer to an older question is not wanted any more
  #coming = null; // the promise of the next page
  #single = new Map(); // those that were asked for by their keys
  #since = null; // what was told while an answer was on its way, which may not hold it

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

  /** Those that match; asks only where the filter is another than before. True when something came. */
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

  /** The next page, once for all who ask meanwhile. True when something came. */
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
    this.#before = order === "newest" ? newest : earliest; // only of a source that goes on is anything put in
    this.#next = next;
    this.total = total;
    this.known = true;
  }

  /** What is loaded is not all any more: the next `load` asks anew. */
  forget() {
    this.#filter = null;
  }

  /** One that is new, or told anew, takes its place in the list, as far as that is loaded. Whether it was not known. */
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

  /** One that holds no more leaves the list; who looks at it is told that it was withdrawn. */
  drop(key, looking) {
    this.#since?.push(() => this.drop(key, false));
    const group = this.get(key);
    const left = this.groups.filter((other) => other.key !== key);
    this.total -= this.groups.length - left.length;
    this.groups = left;
    if (group && looking) this.#single.set(key, { ...group, status: "withdrawn" });
  }

  /** The most severe finding that the filter lets through, also where it lies on a later page. Null without any. */
  async gravest(filter) {
    if (!this.more) return worst(this.groups);
    const { findings: [first] } = await this.ask({ ...filter, order: "gravest", limit: 1 });
    await this.bring([first.key]);
    return first;
  }

  /** The finding of this key where it is loaded. */
  get(key) {
    return key ? (this.groups.find((group) => group.key === key) ?? this.#single.get(key)) : undefined;
  }

  /** Brings in those of these keys that are not loaded: a link may name one of any page. */
  async bring(keys) {
    const missing = keys.filter((key) => key && !this.get(key));
    for (const key of missing) {
      const { findings } = await this.ask({ key });
      if (findings.length) this.#single.set(key, findings[0]);
    }
  }
}

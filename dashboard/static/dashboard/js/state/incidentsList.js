// This module keeps the loaded incidents of a source that match the filter, and the loaded findings of each. It does not use
// the DOM.

import { ORDERS, counted, earliest, symptomsOf } from "./ordering.js";
import { happensIn, mayHappenIn } from "./ranges.js";
import { Rows } from "./rows.js";
import { narrowing } from "./store.js";
import { MINUTE } from "./time.js";

const RECENT = 5 * MINUTE; // an incident of a connected cluster goes on for so long after its last occurrence

/** Returns whether an incident is left out of lists unless hidden ones are asked for: somebody knows of it, or it did no harm. */
export const isLeftOut = ({ acknowledged, silenced, severity, effect }) => Boolean(acknowledged || silenced || (severity === "info" && effect === "none"));

export class IncidentsList {
  #incidents = new Map(); // id → incident
  #sorted = null;
  #own = new Set(); // the ids of the incidents that name the object of a link
  #guests = new Set(); // the ids of incidents that do not match the filter, but a link names one of their findings
  #filter = null;
  #next = null;
  #renewed = 0; // when `outdated` was last true (µs)
  #before = earliest;
  #asked = 0; // the number of requests so far, by which answers to older ones are recognised and ignored
  #coming = null; // the promise of the next page
  #since = null; // the changes that came while an answer was loading, which may not contain them
  #seen = null; // the last answer about a range: the numbers, and the ids of the incidents
  #looked = ""; // the range and filter of the last request about a range

  /** `ask` has functions that fetch: `incidents(question)` and `findings(question)` → a page, `incident(id)`. */
  constructor(ask) {
    this.ask = ask;
    this.rows = new Rows(ask.findings);
    this.about = ""; // the track of the object that a link names: its incidents come first
    this.all = { incidents: 0, symptoms: 0, findings: 0 }; // how many match the filter, acknowledged or not
    this.hidden = { acknowledged: 0, silenced: 0, harmless: 0 }; // how many further ones match
    this.known = false; // whether the first page has come
  }

  /** Returns the loaded incidents in their order, those of a link's object first. */
  get incidents() {
    if (!this.#sorted) {
      const all = [...this.#incidents.values()].sort(this.#before);
      this.#sorted = [...all.filter(({ id }) => this.#own.has(id)), ...all.filter(({ id }) => !this.#own.has(id))];
    }
    return this.#sorted;
  }

  get more() {
    return this.#next !== null;
  }

  /** Loads the incidents that match if the filter has changed; their first page may be given. Resolves with whether something was loaded. */
  async load(filter, given = null) {
    const written = JSON.stringify(filter);
    if (written === this.#filter) return false;
    this.#filter = written;
    const asked = ++this.#asked;
    this.#since = [];
    try {
      const [page, own] = await Promise.all([given ?? this.ask.incidents(filter), this.about ? this.ask.findings({ ...narrowing(filter), about: this.about }) : { findings: [] }]);
      if (asked !== this.#asked) return false;
      this.#own = new Set(own.findings.flatMap(({ incidents }) => incidents));
      this.#incidents.clear();
      this.#guests.clear();
      this.rows.forget();
      this.#seen = null;
      this.#looked = "";
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
    const page = await this.ask.incidents({ ...JSON.parse(this.#filter), cursor: this.#next });
    if (asked !== this.#asked) return false;
    this.#take(page);
    this.#again();
    return true;
  }

  /** Takes a page of the server, or of one of the last release, which counts no symptoms. */
  #take({ incidents, next, total, symptoms = total, findings, order, acknowledged, acknowledged_symptoms = acknowledged, acknowledged_findings = 0, silenced, harmless = 0 }) {
    this.#before = this.rows.before = ORDERS[order] ?? earliest;
    this.#next = next;
    this.all = { incidents: total + acknowledged, symptoms: symptoms + acknowledged_symptoms, findings: findings + acknowledged_findings };
    this.hidden = { acknowledged, silenced, harmless };
    this.known = true;
    for (const incident of incidents) {
      this.#guests.delete(incident.id);
      this.#keep(incident);
    }
  }

  #keep(incident) {
    this.#incidents.set(incident.id, incident);
    this.#sorted = null;
  }

  /** Returns a loaded incident, which need not be in the list. */
  get(id) {
    return this.#incidents.get(id);
  }

  /** Returns whether an incident is in the list. */
  has(id) {
    return this.#incidents.has(id) && !this.#guests.has(id);
  }

  /** Returns the loaded incidents that surely do not match the filter: all that match are loaded, and these are not left out for another reason. */
  get unmatched() {
    return this.more ? [] : this.incidents.filter((incident) => this.#guests.has(incident.id) && !isLeftOut(incident));
  }

  /** Returns whether a finding that a live source reports was known before. */
  knows({ key, start, incidents }) {
    return Boolean(this.rows.get(key)) || incidents.some((id) => this.#incidents.get(id)?.times.includes(start));
  }

  #again() {
    const since = this.#since ?? [];
    this.#since = null;
    for (const act of since) act();
  }

  /** Makes the next `load` send a request even if the filter is the same, because what is loaded is out of date. */
  forget() {
    this.#filter = null;
  }

  /** Returns true once a minute (`now`: µs) if the last occurrence of an ongoing incident ended long ago. The next `load` then sends a request. */
  outdated(now) {
    if (now - this.#renewed < MINUTE || !this.incidents.some(({ state, end }) => state === "ongoing" && now - end > RECENT)) return false;
    this.#renewed = now;
    this.forget();
    return true;
  }

  // -- what is in view ----------------------------------------------------------------------------------------------------

  /** Loads the incidents of a range if the loaded ones do not tell which these are. Resolves with whether something was loaded. */
  async look({ start, end }) {
    const range = { start: Math.max(0, Math.round(start)), end: Math.max(0, Math.round(end)) };
    if (!this.#filter || !(this.more || this.incidents.some((incident) => mayHappenIn(incident, range) && !happensIn(incident, range)))) return false;
    const looked = JSON.stringify([range, this.#filter]);
    if (looked === this.#looked) return false;
    this.#looked = looked;
    try {
      const page = await this.ask.incidents({ ...JSON.parse(this.#filter), ...range });
      if (looked !== this.#looked) return false;
      this.#seen = { counts: { incidents: page.total, symptoms: page.symptoms ?? page.total, findings: page.findings }, ids: new Set(page.incidents.map(({ id }) => id)) };
      for (const incident of page.incidents) this.#keep(incident);
      return true;
    } catch (error) {
      if (looked === this.#looked) this.#looked = "";
      throw error;
    }
  }

  /**
   * Divides the loaded incidents into those with an occurrence in a range and the others: {inside, outside, counts}. One that
   * happened before and after the range is inside if the server has said so, or if it is a guest, about which it was not asked.
   */
  divide(range) {
    const named = ({ id }) => this.#seen?.ids.has(id) || this.#guests.has(id);
    const inside = this.incidents.filter((incident) => happensIn(incident, range) || (mayHappenIn(incident, range) && named(incident)));
    const outside = this.incidents.filter((incident) => !inside.includes(incident));
    return { inside, outside, counts: (this.more && this.#seen?.counts) || counted(inside.filter(({ id }) => !this.#guests.has(id))) };
  }

  // -- findings of incidents ------------------------------------------------------------------------------------------------

  /** Returns the id of the incident of a loaded finding, which is this one if the finding belongs to several. */
  incidentOf(key, preferred = "") {
    const ids = this.rows.get(key)?.incidents ?? [];
    return ids.includes(preferred) ? preferred : (ids.find((id) => this.#incidents.has(id)) ?? ids[0]);
  }

  /** Keeps a finding, and the first page of the findings of its incident if there is one. */
  hold(group, page, preferred = "") {
    this.rows.hold(group);
    if (page) this.rows.take(this.incidentOf(group.key, preferred), page);
  }

  /** Loads the incident of a loaded finding if it is not loaded, and its first findings. */
  async bringIncident(key, preferred = "") {
    const id = this.incidentOf(key, preferred);
    if (!id) return;
    await this.bring(id);
    await this.rows.of(id);
  }

  /** Loads an incident from the server unless the list has it already. */
  async bring(id) {
    if (this.#incidents.has(id)) return;
    this.#guests.add(id);
    this.#keep(await this.ask.incident(id));
  }

  // -- changes of a live source ---------------------------------------------------------------------------------------------

  /** Inserts or replaces an incident. Returns whether the list did not have it. */
  putIncident(incident) {
    this.#since?.push(() => this.putIncident(incident));
    const before = this.#incidents.get(incident.id);
    this.#looked = "";
    this.#keep(incident);
    this.#count(incident, 1);
    if (before) this.#count(before, -1);
    return !before;
  }

  dropIncident(id) {
    this.#since?.push(() => this.dropIncident(id));
    const before = this.#incidents.get(id);
    if (!before) return;
    this.#incidents.delete(id);
    this.#sorted = null;
    this.#count(before, -1);
  }

  /** Counts an incident `by` 1 more or, by -1, no more. */
  #count(incident, by) {
    const { incidents, symptoms, findings } = this.all;
    this.all = { incidents: incidents + by, symptoms: symptoms + by * symptomsOf(incident), findings: findings + by * incident.findings };
  }

  /** Inserts or replaces a finding. */
  put(group) {
    this.#since?.push(() => this.put(group));
    this.rows.put(group);
  }

  /** Removes a finding that was withdrawn. With `looking`, because it is selected, it is shown as withdrawn instead. */
  drop(key, looking) {
    this.#since?.push(() => this.drop(key, false));
    this.rows.drop(key, looking);
  }
}

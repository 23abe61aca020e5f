// This module keeps the state of the page: the visible range, the filter, the grouping, and what is selected, opened or
// pinned. It writes each change to the address, so that a link shows the same. It does not use the DOM.

import { timeScale } from "./scale.js";

const numberIn = (parameters, name) => {
  const value = Number.parseInt(parameters.get(name) ?? "", 10);
  return Number.isFinite(value) ? value : null;
};
// Each type of a parameter has `read(text or null)` → its value, and `write(value)` → text, which is "" for the default.
const list = { read: (text) => (text ?? "").split(",").filter(Boolean), write: (values) => values.join(",") };
const text = { read: (given) => given ?? "", write: (value) => value };
const flag = { read: (given) => given === "1", write: (value) => (value ? "1" : "") };
const oneOf = (first, ...others) => ({
  read: (given) => (others.includes(given) ? given : first),
  write: (value) => (value === first ? "" : value),
});

// The types of the parameters of the address, without start, end and offset, in the order in which they are written.
const FIELDS = {
  axis: oneOf("time", "order"), group: oneOf("owner", "kind", "namespace", "actor"), colour: oneOf("kind", "actor"),
  kinds: list, kind: list, node: text, image: text, namespace: text, name: text, rule: text, severity: text, actor: text, state: oneOf("", "ongoing", "over"), noise: flag, active: flag,
  open: list, closed: list, unfold: list, pins: list, focus: text, incident: text, hidden: flag, lane: text, finding: text, arrows: list, change: text, line: text, logs: list, table: flag, follow: flag, at: text, moment: text, about: text,
};
const NARROWING = ["kinds", "kind", "node", "image", "namespace", "name", "rule", "severity", "actor"]; // lanes, findings and incidents alike
const FILTERS = [...NARROWING, "state", "noise", "active"];
const NONE = Object.fromEntries(FILTERS.map((name) => [name, FIELDS[name].read(null)])); // the filter that matches everything

/** Returns the part of a state or of a question that narrows lanes, findings and incidents alike. */
export const narrowing = (question) => Object.fromEntries(NARROWING.map((name) => [name, question[name]]));

/** Returns the whole filter of a state, on which lanes depend, but for `state`, which is that of incidents. */
export const filterOf = (store) => Object.fromEntries(FILTERS.map((name) => [name, store[name]]));

const REST = 1000; // ms without a movement of the view after which the next one is a step of its own
const MOST_ARROWS = 100; // the most findings whose arrows can be pinned

export class Store {
  #listeners = [];
  #written = ""; // the query string that was written last
  #moved = -Infinity; // when the view was moved last, of a movement that may go on (ms)

  /** `address` is as `addressBar` of address.js returns it. */
  constructor(address) {
    this.address = address;
    this.bounds = null; // {first, last} (µs) of the whole source; null before it is loaded
    this.anchor = () => 0.5; // returns the point of the view (0 to 1) around which keys zoom
    this.scale = timeScale(0); // the scale of the axis (see scale.js), along which the view is moved and zoomed
    this.read();
  }

  /** Sets the state to that of the address. */
  read() {
    const parameters = new URLSearchParams(this.address.read());
    this.start = numberIn(parameters, "start");
    this.end = numberIn(parameters, "end");
    if (this.start === null || this.end === null || this.end <= this.start) this.start = this.end = null;
    for (const [name, { read }] of Object.entries(FIELDS)) this[name] = read(parameters.get(name));
    this.offset = Math.max(0, numberIn(parameters, "offset") ?? 0);
    this.#written = this.search();
    this.#moved = -Infinity;
  }

  /** Returns the query string that describes the state, or "" for the default. */
  search() {
    const parameters = new URLSearchParams();
    if (this.start !== null) {
      parameters.set("start", this.start);
      parameters.set("end", this.end);
    }
    for (const [name, { write }] of Object.entries(FIELDS)) {
      const written = write(this[name]);
      if (written) parameters.set(name, written);
    }
    if (this.offset) parameters.set("offset", this.offset);
    return parameters.size ? `?${parameters.toString().replaceAll("%2C", ",").replaceAll("%2F", "/")}` : "";
  }

  /** Calls `listener(names)` after each change, with the names of the changed fields. */
  subscribe(listener) {
    this.#listeners.push(listener);
  }

  /**
   * Applies the changes {name of a field: new value}, writes them into the address, and notifies subscribers. If `push` is true, the
   * Back button of the browser undoes the change; if it is "moved", the button undoes a whole movement of the view, such as many turns of the wheel.
   */
  set(changes, { push = false } = {}) {
    Object.assign(this, changes);
    if (this.start !== null) [this.start, this.end] = this.#inBounds(Math.round(this.start), Math.round(this.end));
    const search = this.search();
    this.address.write(search, push === "moved" ? this.#beginsToMove(search) : push);
    if (push === true) this.#moved = -Infinity;
    this.#written = search;
    for (const listener of this.#listeners) listener(Object.keys(changes));
  }

  /** Returns whether a movement of the view begins that changes the address: a step of the browser's history. */
  #beginsToMove(search) {
    if (search === this.#written) return false;
    const now = performance.now(), begins = now - this.#moved > REST;
    this.#moved = now;
    return begins;
  }

  /** Adds a value to a field that is a list, or removes it if it is there. */
  toggle(name, value, changes = {}) {
    const values = this[name].includes(value) ? this[name].filter((other) => other !== value) : [...this[name], value];
    this.set({ [name]: name === "arrows" ? values.slice(-MOST_ARROWS) : values, ...changes }, { push: true });
  }

  /** Returns the names of the active filters. */
  filtered() {
    return FILTERS.filter((name) => String(this[name]) !== String(NONE[name]));
  }

  /** Shows only what matches a filter {name: text}, as an address has it, and the range of time that it names. */
  only({ start, end, ...filter }) {
    const { first, last } = this.bounds, range = [Number(start ?? first), Number(end ?? last)].sort((one, other) => one - other);
    const view = start || end ? { start: range[0], end: Math.max(range[1], range[0] + 1), follow: false } : {};
    this.set({ ...NONE, ...Object.fromEntries(Object.entries(filter).map(([name, text]) => [name, FIELDS[name].read(text)])), ...view, offset: 0 }, { push: true });
  }

  /** Removes the filter with this name, or all filters. */
  clear(name = null) {
    this.set({ ...(name ? { [name]: NONE[name] } : NONE), offset: 0 }, { push: true });
  }

  /** Returns the visible range {start, end} (µs), which is that of the whole source if no range was chosen. */
  view() {
    return this.start === null ? this.whole() : { start: this.start, end: this.end };
  }

  /** Returns the range {start, end} (µs) of the whole source, with a little space at both ends. */
  whole() {
    const { first, last } = this.bounds;
    const room = Math.max(Math.round((last - first) * 0.02), 1000);
    return { start: Math.max(0, first - room), end: last + room };
  }

  /** Moves the view by a share of its width: to later times if it is positive. */
  pan(share) {
    const [left, right] = this.#across();
    const by = (right - left) * share;
    this.#show(left + by, right + by);
  }

  /** Zooms the view: in if `factor` is less than 1, else out. `at` (0 to 1) is the point of the view that stays where it is. */
  zoom(factor, at = this.anchor()) {
    const [left, right] = this.#across();
    const fixed = left + (right - left) * at;
    this.#show(fixed - (fixed - left) * factor, fixed + (right - fixed) * factor);
  }

  /** Shows the part between two points of the view (0 to 1), given in any order, as a step to which the Back button leads. */
  narrow(from, to) {
    const [start, end] = this.times(...[from, to].sort((a, b) => a - b));
    this.set({ start, end }, { push: true });
  }

  /** Returns the times (µs) at points of the view (0 to 1). */
  times(...points) {
    const [left, right] = this.#across();
    return points.map((point) => this.scale.from(left + (right - left) * point));
  }

  #across() {
    const { start, end } = this.view();
    return [this.scale.to(start), this.scale.to(end)];
  }

  #show(left, right) {
    if (this.axis === "order") [left, right] = this.#inOrder(left, right);
    this.set({ start: this.scale.from(left), end: this.scale.from(right) }, { push: "moved" });
  }

  /** Returns the range limited to the events of the source, for the axis of creation order, on which other times have no width. */
  #inOrder(left, right) {
    const beyond = Math.min(1, (right - left) / 2);
    const least = this.scale.to(this.bounds.first) - beyond, most = this.scale.to(this.bounds.last) + beyond;
    const width = Math.min(right - left, most - least);
    const from = Math.min(Math.max(left, least), most - width);
    return [from, from + width];
  }

  /** Returns the range limited to the source, with some space around it, and to a least and a greatest width. */
  #inBounds(start, end) {
    if (this.axis === "order") return [start, Math.max(end, start + 50)];
    const { first, last } = this.bounds ?? { first: start, last: end };
    const most = Math.max((last - first) * 1.1, 2000);
    const width = Math.min(Math.max(end - start, 50), most);
    if (width !== end - start) start = Math.round((start + end - width) / 2);
    const room = Math.round(Math.min(width / 2, Math.max(most - width, (most - (last - first)) / 2))); // the whole source stays in the middle
    start = Math.min(Math.max(start, first - room), last - width + room);
    return [Math.round(start), Math.round(start + width)];
  }
}

// This module shows one line of a log beside the lanes: all of its text, when it was written by which clock, where it is in
// the file, and which objects it names. The address holds which line it is.

import { byId, el } from "../draw/dom.js";
import { clock, day } from "../state/time.js";
import { zone } from "../state/zone.js";
import { timeOf } from "./timeOf.js";

function clockOf({ date_known: date, year_known: year, zone_known: known, latest }) {
  if (latest) return "at the latest: the line says only how long ago it was, and is placed by when its file was written";
  if (!date) return "by the clock of the program; the line has only a time of day, so it is placed beside the rest in UTC";
  if (!year) return "by the clock of the program; the line has neither year nor zone, so it is placed beside the rest in UTC";
  return known ? "by the clock of the program" : "by the clock of the program; the line has no zone, so it is taken for UTC";
}

function body(found) {
  const row = (name, ...parts) => el("div", {}, el("dt", {}, name), el("dd", {}, parts));
  const soft = (words) => el("span", { class: "actor" }, words);
  return [
    el("pre", { class: "log-whole", tabindex: "0", "aria-label": "The line", dir: "auto" }, found.text),
    el("dl", { class: "facts" },
      row("Time", timeOf(found.time, `${day(found.time)} ${clock(found.time, 6)} ${zone().label(found.time)}`, { class: "mono" }), soft(clockOf(found))),
      found.level ? row("Level", found.level) : null,
      row("Log", el("bdi", {}, found.name)),
      found.file ? row("Read from", el("bdi", { class: "mono" }, `${found.file}:${found.line}`)) : null,
      found.objects.length ? row("Names", el("ul", { class: "log-objects" }, found.objects.map(({ kind, namespace, name, url }) =>
        el("li", {}, el("a", { href: url }, `${kind} ${namespace ? `${namespace}/` : ""}${name}`))))) : null),
  ];
}

export class LinePanel {
  #asked = 0; // the number of requests so far, by which answers to older ones are recognised and ignored
  #key = ""; // what the panel shows, or is loading, as the address has it
  #from = null; // the element that had the focus before the panel was opened
  found = null;

  /** `ask(log, question)` → a line. `onShown(line)` is called when another line is shown, and returns what else changes in the store. */
  constructor({ store, ask, onShown, onFailed, announce }) {
    Object.assign(this, { store, ask, onShown, onFailed, announce });
    this.panel = byId("line");
    document.addEventListener("zonechange", () => this.found && this.#fill(this.found));
    store.subscribe((changed) => changed.includes("change") && store.change && store.line && this.close());
    byId("line-close").addEventListener("click", () => this.close());
    byId("line-earlier").addEventListener("click", () => this.step(-1));
    byId("line-later").addEventListener("click", () => this.step(1));
  }

  /** Shows a line of a log: that with a `sequence`, or the first one from a time `at` (µs) on. */
  async open(log, question) {
    if (this.panel.hidden) this.#from = document.activeElement;
    if (await this.#load(log, question)) this.panel.focus({ preventScroll: true });
  }

  /** Shows the next line of the log (`by` 1) or the previous one (-1). */
  step(by) {
    const { found } = this;
    const sequence = by > 0 ? found.later : found.earlier;
    if (sequence !== null) return this.#load(found.log, { sequence });
    this.announce(by > 0 ? "This log has no later line." : "This log has no earlier line.");
  }

  /** Closes the panel. The focus returns to where it was. Returns false if the panel was closed already. */
  close() {
    if (!this.store.line) return false;
    const label = document.querySelector(`[data-line="${this.found?.log}"]`);
    this.store.set({ line: "" }, { push: true });
    this.draw();
    const back = this.#from?.isConnected && this.#from !== document.body ? this.#from : label ?? byId("bench");
    back.focus({ preventScroll: true });
    return true;
  }

  /** Brings the panel in line with the address. */
  draw() {
    const { line } = this.store;
    if (line === this.#key) return;
    this.#key = line;
    const [, log, sequence] = /^(\d{1,9})\.(\d{1,15})$/.exec(line) ?? [];
    if (log) return void this.#load(Number(log), { sequence });
    this.#asked += 1;
    this.found = null;
    this.panel.hidden = true;
  }

  async #load(log, question) {
    const asked = ++this.#asked;
    let found;
    try {
      found = await this.ask(log, question);
    } catch (error) {
      if (asked === this.#asked) this.onFailed(error);
      return false;
    }
    if (asked !== this.#asked || !found) return false;
    const key = (this.#key = `${found.log}.${found.sequence}`);
    this.#fill(found);
    const changes = { ...this.onShown(found), ...(this.store.line === key ? {} : { line: key, change: "" }) };
    if (Object.keys(changes).length) this.store.set(changes, { push: true });
    this.announce(`${byId("line-title").textContent}, ${clock(found.time, 6)} ${zone().label(found.time)}, line ${found.number} of ${found.total}: ${found.text}`);
    return true;
  }

  #fill(found) {
    this.found = found;
    byId("line-title").textContent = `Log ${found.name}`;
    byId("line-place").textContent = `${found.number} of ${found.total}`;
    byId("line-earlier").disabled = found.earlier === null;
    byId("line-later").disabled = found.later === null;
    byId("line-body").replaceChildren(...body(found).filter(Boolean));
    if (this.panel.hidden) byId("line-body").scrollTop = 0;
    this.panel.hidden = false;
  }
}

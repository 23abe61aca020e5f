// This module keeps which logs of programs a source has, which of them are opened, and where their lines are. The logs whose
// lines prove the selected finding are opened below the lane that it is about, as long as it is selected.

import { logLine, logMarks, logProof, logs as ask } from "../state/api.js";
import { laneKeyOf } from "../state/window.js";
import { LinePanel } from "./linePanel.js";
import { showTip } from "./tooltip.js";

const MOST = 20; // logs that are opened at once
const FIRST = 5; // logs that are opened at first if there is nothing else

export class LogLanes {
  #all = [];
  #under = new Map(); // key of a lane → its logs
  #opened = false; // whether the first logs were opened
  #asked = ""; // for which logs and range marks were asked last
  #proves = ""; // the key of the finding whose lines are known, or asked for
  #beside = ""; // the key of the lane that this finding is about
  #folded = new Set(); // numbers of the logs of these lines that were closed
  proof = []; // the lines that prove it: [{log, sequence, time, text, level}]
  marks = new Map(); // number of a log → {time, count, level, text}

  /** `onLanes()` is called when the lanes have to be drawn again, `onMarks()` when only what is on them. */
  constructor({ store, source, onLanes, onMarks, onFailed, announce }) {
    Object.assign(this, { store, source, onLanes, onMarks, onFailed });
    this.lines = new LinePanel({ store, announce, onFailed, ask: (log, question) => logLine(source, log, question), onShown: (line) => this.#revealing(line) });
    store.subscribe((changed) => changed.includes("logs") && this.onLanes());
  }

  /** Loads which logs there are. */
  async begin() {
    try {
      this.#all = (await ask(this.source)).logs;
    } catch (error) {
      return this.onFailed(error);
    }
    for (const log of this.#all) if (log.lane) this.#under.set(log.lane, [...(this.#under.get(log.lane) ?? []), log]);
    if (this.#all.length) this.onLanes();
  }

  /** Returns which logs are shown: `under` maps the key of a lane to its logs, `alone` lists the logs that have no lane, and `open` holds the numbers of the opened ones. */
  shown() {
    const { store } = this;
    const narrowed = store.filtered().length > 0 || store.focus !== "";
    const proving = new Set(this.proof.map(({ log }) => log));
    const others = (logs) => logs.filter(({ log }) => !proving.has(log));
    const under = new Map([...this.#under].map(([lane, logs]) => [lane, others(logs)]));
    const moved = this.#all.filter(({ log }) => proving.has(log)).map((each) => ({ ...each, lane: this.#beside, label: each.name }));
    if (moved.length) under.set(this.#beside, [...moved, ...(under.get(this.#beside) ?? [])]);
    return { under, alone: narrowed ? [] : others(this.#all.filter(({ lane }) => !lane)), open: new Set(this.#open()) };
  }

  /** Returns the numbers of the opened logs, those first that prove the selected finding. */
  #open() {
    return [...new Set([...this.proof.map(({ log }) => log).filter((log) => !this.#folded.has(log)), ...this.store.logs.map(Number)])];
  }

  /** Opens the logs with lines that prove a finding, and closes those of the one before. */
  async prove(group) {
    const key = this.#all.length && group?.proof.some(({ file, resource_version: revision, audit_id: request }) => file && revision === null && request === null) ? group.key : "";
    if (key === this.#proves) return;
    this.#proves = key;
    this.#folded.clear();
    if (key) this.#beside = laneKeyOf(group.findings[0].subject);
    const had = this.proof.length;
    this.proof = [];
    try {
      const found = key ? await logProof(this.source, key) : [];
      if (key !== this.#proves) return;
      this.proof = found;
      if (had || found.length) this.onLanes();
    } catch (error) {
      this.onFailed(error);
    }
  }

  /** Returns the keys of the lanes whose logs are opened. */
  keeping() {
    return [...new Set(this.#all.filter(({ log, lane }) => lane && this.store.logs.includes(String(log))).map(({ lane }) => lane))];
  }

  /** Opens these logs (numbers as text), or closes them if one of them is opened. */
  toggle(numbers) {
    const { store } = this;
    const others = store.logs.filter((each) => !numbers.includes(each));
    const closes = this.#open().some((log) => numbers.includes(String(log)));
    for (const log of numbers.map(Number)) closes ? this.#folded.add(log) : this.#folded.delete(log);
    const proving = new Set(this.proof.map(({ log }) => String(log)));
    const logs = closes ? others : [...others, ...numbers.filter((each) => !proving.has(each))].slice(-MOST);
    if (logs.length !== store.logs.length) store.set({ logs }, { push: true });
    else this.onLanes();
  }

  /** Returns the changes of the store that show a line: they open its log, and move the view to its time. */
  #revealing({ log, time }) {
    showTip(null);
    const { logs } = this.store;
    const open = this.#open().includes(log);
    const { start, end } = this.store.view(), half = Math.round((end - start) / 2);
    const moved = time < start || time > end ? { start: time - half, end: time + half } : {};
    return { ...(open ? {} : { logs: [...logs, String(log)].slice(-MOST) }), ...moved };
  }

  /** Brings panel and marks in line with the address and the loaded window. */
  draw(payload) {
    this.lines.draw();
    if (!payload.lanes_total) this.#openFirst(payload);
    this.#refresh(payload);
  }

  /** Opens the first logs once if the source has nothing else to show. */
  #openFirst({ first, last, start, end }) {
    if (this.#opened || !this.#all.length || start > first || end < last || this.store.filtered().length) return;
    this.#opened = true;
    const logs = this.#all.slice(0, FIRST).map(({ log }) => String(log));
    if (!this.store.logs.length) queueMicrotask(() => this.store.set({ logs }));
  }

  /** Loads the marks of the opened logs for a window, unless that was done. */
  async #refresh({ start: from, end: until }) {
    const beside = Math.round((until - from) / 10); // a window ends with the source, a log may not
    const [start, end] = [Math.max(0, from - beside), until + beside];
    const known = new Set(this.#all.map(({ log }) => String(log)));
    const logs = this.#open().map(String).filter((each) => known.has(each)).slice(0, MOST).join(",");
    const question = `${logs} ${start} ${end}`;
    if (!logs || question === this.#asked) return;
    this.#asked = question;
    try {
      const found = await logMarks(this.source, { logs, start, end });
      if (question !== this.#asked) return;
      this.marks = new Map(found.map((each) => [each.log, each]));
      this.onMarks();
    } catch (error) {
      this.#asked = "";
      this.onFailed(error);
    }
  }
}

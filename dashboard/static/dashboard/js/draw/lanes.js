// This module draws the labels of lanes and knows which are visible. About 40 lanes are in the page at once; empty space
// replaces the others.

import { foldedIn } from "../state/window.js";
import { byId, el } from "./dom.js";
import { folding, heading, label, logLabel, logsHeading, viewLabel } from "./labels.js";
import { ALONE, HEADING, layOut, layOutPins, viewsOf } from "./layout.js";
import { ROW } from "../state/shapes.js";

export const MARGIN = 12, BLOCK = 40;
const ALL = "*"; // stands for all groups

export class Lanes {
  #payload = null;
  #indices = new Map(); // key of a lane → index
  #unfolded = [];
  #units = []; // y of each row that `offset` counts, which are lanes that are not pinned and closed groups

  held = () => ""; // the key of the lane that stays where it is on the screen while it is in sight; "" for the topmost one

  /** `acts`: {onScroll(first, last), onGroups(keys, close), onStrip(key), onPin(key), onLane(key), onScope(root), onFolded(key of a group, or "*"), onLogs(numbers), onLog(number)}. `logs()` → which logs there are, as LogLanes.shown. */
  constructor(acts, logs = () => ({})) {
    this.logs = logs;
    this.bench = byId("bench");
    this.labels = byId("labels");
    this.pins = byId("pins-labels");
    this.bench.addEventListener("scroll", () => this.#payload && acts.onScroll(...this.inSight()), { passive: true });
    byId("stage").addEventListener("click", (event) => {
      const held = (name) => event.target.closest(`[data-${name}]`)?.dataset[name];
      const groups = event.target.closest("[data-group]");
      if (groups) acts.onGroups(groups.dataset.group.split(","), groups.getAttribute("aria-expanded") === "true");
      else if (held("scope")) acts.onScope(held("scope"));
      else if (held("pin")) acts.onPin(held("pin"));
      else if (held("strip")) acts.onStrip(held("strip"));
      else if (held("folded")) acts.onFolded(held("folded"));
      else if (held("logs")) acts.onLogs(held("logs").split(","));
      else if (held("line")) acts.onLog(Number(held("line")));
      else if (held("lane") && !event.target.closest("a")) acts.onLane(held("lane"));
    });
    let pressed = false; // while the pointer is down, labels are not redrawn, or it would be released over another link
    for (const name of ["pointerdown", "pointerup", "pointercancel"]) addEventListener(name, () => (pressed = name === "pointerdown"), true);
    byId("stage").addEventListener("focusin", ({ target }) => {
      const key = target.closest("[data-lane]")?.dataset.lane;
      if (key !== undefined && !pressed && target.closest(".lane-name")) acts.onLane(key);
    });
    byId("stage").addEventListener("keydown", (event) => this.#keyed(event));
  }

  /** Draws the labels and computes the layout. The row at the top of the screen stays there. `unfolded`: the keys of groups whose folded lanes are shown. */
  draw(payload, current, unfolded = this.#unfolded) {
    this.#unfolded = unfolded;
    const anchor = this.#anchor();
    const focused = this.#focused();
    const { lanes } = payload;
    const { under = new Map(), alone = [], open = new Set() } = this.logs();
    this.layout = layOut(payload, unfolded.includes(ALL), { under, alone, open });
    this.layoutOfPins = layOutPins(payload);
    const shown = [...Array(payload.pins).keys(), ...this.layout.runs.flatMap((run) => run.lanes)];
    const held = lanes.some(({ key }) => key === current) ? current : lanes[shown[0]]?.key;
    const draw = (index, options) => label(lanes[index], { current: lanes[index].key === current, reachable: lanes[index].key === held, ...options });
    const logLabels = (logs) => logs.filter(({ log }) => open.has(log)).map(logLabel);
    const placed = ({ key, groups: [group] }, { namespace }) =>
      ({ numbered: key !== ALONE && group.short !== "", placed: key !== ALONE && [group.namespace, group.key].includes(namespace) });
    this.pins.replaceChildren(...lanes.slice(0, payload.pins).map((_, index) => draw(index, { numbered: true, placed: false })));
    byId("pins").hidden = payload.pins === 0;
    byId("pins-block").style.height = `${this.layoutOfPins.height}px`;
    this.labels.replaceChildren(...this.layout.runs.map((run, index) =>
      el("section", { class: run.closed ? "run closed" : "run" }, heading(run, lanes, index === 0, this.#continues(run, index)),
        run.lanes.length ? el("ol", { class: "lanes" }, run.lanes.flatMap((lane) => {
          const logs = under.get(lanes[lane].key) ?? [];
          return [draw(lane, { ...placed(run, lanes[lane]), logs, open }), ...viewsOf(payload, lane).map(viewLabel), ...logLabels(logs)];
        })) : null,
        foldedIn(run.folded) ? folding(run.groups[0].key, foldedIn(run.folded), unfolded.includes(run.groups[0].key)) : null)),
      ...(foldedIn(this.layout.folded) ? [folding(ALL, `${foldedIn(this.layout.folded)}, in all groups`, unfolded.includes(ALL))] : []),
      ...(this.layout.alone.length ? [el("section", { class: "run" }, logsHeading(this.layout.alone, open), el("ol", { class: "lanes" }, logLabels(this.layout.alone)))] : []));
    this.#units = this.layout.runs.flatMap((run) => (run.closed ? run.groups.map(() => run.y) : run.lanes.map((lane) => this.layout.centres[lane] - ROW / 2)));
    byId("block").style.height = `${this.layout.height}px`;
    byId("space-above").style.height = `${payload.offset * ROW}px`;
    byId("space-below").style.height = `${Math.max(0, payload.lanes_total - payload.offset - this.#units.length) * ROW}px`;
    this.bench.classList.toggle("long", this.bench.scrollHeight > this.bench.clientHeight); // the axis then covers lanes
    this.#payload = payload;
    this.#indices = new Map(lanes.map(({ key }, index) => [key, index]));
    if (focused) (document.querySelector(focused) ?? this.bench).focus({ preventScroll: true });
    if (anchor) this.#restore(anchor);
  }

  /** Writes the creation number beside each lane: that of its first circle in the view, or else of the incarnation that is visible. */
  number({ lanes, births }, view) {
    const numbers = lanes.map(({ number }) => number);
    const times = lanes.map(() => null);
    births.lane.forEach((lane, i) => {
      const time = births.time[i], earlier = times[lane];
      if (time > view.end || (earlier !== null && (earlier >= view.start ? time >= earlier : time < earlier))) return;
      [times[lane], numbers[lane]] = [time, births.number[i]];
    });
    for (const item of byId("stage").querySelectorAll("[data-lane]")) {
      const shown = item.querySelector(".lane-number");
      const number = String(numbers[this.#indices.get(item.dataset.lane)] ?? "");
      if (shown.textContent && shown.textContent !== number) shown.textContent = number;
    }
  }

  /** Returns whether the group of a run has more lanes further down, because the objects of the finding were moved to the top. */
  #continues(run, index) {
    return run.key !== ALONE && !run.closed && this.layout.runs.some((other, at) => at > index && other.key === run.key);
  }

  /** Returns the indices of the first and the last visible row, counted as `offset` counts them. */
  inSight() {
    const { offset } = this.#payload;
    const top = this.bench.scrollTop - offset * ROW, bottom = top + this.bench.clientHeight;
    const shown = this.#units.flatMap((y, i) => (y + ROW > top + HEADING && y < bottom ? [i] : []));
    if (shown.length) return [offset + shown[0], offset + shown.at(-1)];
    const guess = top < 0 ? Math.floor(this.bench.scrollTop / ROW) : offset + this.#units.length + Math.floor((top - this.layout.height) / ROW);
    return [Math.max(0, guess), Math.max(0, guess) + Math.ceil(this.bench.clientHeight / ROW)];
  }

  /** Returns the height (px) of the empty space above the loaded lanes. */
  get above() {
    return this.#payload.offset * ROW;
  }

  /** Returns the number of loaded lanes and closed groups, as `offset` counts. */
  get loaded() {
    return this.#units.length;
  }

  /** Scrolls so that the middle of these lanes (indices in the payload) is visible. */
  reveal(indices) {
    const ys = indices.map((index) => this.layout.centres[index]).filter((y) => y !== null && y !== undefined);
    if (!ys.length) return;
    const top = Math.min(...ys) - ROW / 2 - HEADING, bottom = Math.max(...ys) + ROW / 2 + 24;
    const shift = this.#payload.offset * ROW, height = this.bench.clientHeight;
    const inside = this.bench.scrollTop <= top + shift && this.bench.scrollTop + height >= bottom + shift;
    if (!inside) this.bench.scrollTop = shift + Math.max(0, bottom - top > height ? top : (top + bottom - height) / 2);
  }

  /** Scrolls by a page: down if `by` is 1, up if it is -1. */
  page(by) {
    this.bench.scrollTop += by * (this.bench.clientHeight - 3 * ROW);
  }

  /** Scrolls to the lane or closed group at `offset`. */
  scrollTo(offset) {
    const y = this.#units[offset - this.#payload.offset];
    if (y !== undefined) this.bench.scrollTop = this.#payload.offset * ROW + y - HEADING;
  }

  /** Moves the focus from label to label with the arrow keys. */
  #keyed(event) {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const item = event.target.closest("[data-lane]");
    if (!by || !item || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    const all = [...byId("stage").querySelectorAll("[data-lane]")];
    const next = all[all.indexOf(item) + by];
    next?.querySelector(".lane-name").focus({ preventScroll: true });
    next?.scrollIntoView({ block: "nearest" });
  }

  /** Returns a CSS selector of the control that has the focus, or null. */
  #focused() {
    const { activeElement } = document;
    if (!byId("stage").contains(activeElement)) return null;
    for (const name of ["pin", "strip", "scope", "group", "folded", "use", "logs", "line"]) {
      const value = activeElement.dataset[name];
      if (value !== undefined) return `[data-${name}="${CSS.escape(value)}"]`;
    }
    const lane = activeElement.closest("[data-lane]")?.dataset.lane;
    return lane === undefined ? null : `[data-lane="${CSS.escape(lane)}"] .lane-name`;
  }

  /** Returns the lane that stays where it is, or the topmost visible one, and its distance from the top {key, at (px)}; null if none has to stay and nothing is scrolled. */
  #anchor() {
    if (!this.#payload) return null;
    const top = this.bench.scrollTop - this.#payload.offset * ROW + HEADING;
    const held = this.#indices.get(this.held()), y = this.layout.centres[held] ?? null;
    if (y !== null && y > top - HEADING && y < top + this.bench.clientHeight) return { key: this.#payload.lanes[held].key, at: y - top };
    if (this.bench.scrollTop === 0) return null;
    const index = this.layout.centres.findIndex((y) => y !== null && y + ROW / 2 > top);
    return index < 0 ? null : { key: this.#payload.lanes[index].key, at: this.layout.centres[index] - top };
  }

  #restore({ key, at }) {
    const index = this.#payload.lanes.findIndex((lane, i) => lane.key === key && this.layout.centres[i] !== null);
    if (index >= 0) this.bench.scrollTop = this.#payload.offset * ROW + this.layout.centres[index] - at - HEADING;
  }
}

// The lanes' labels and where each lane lies. About 40 lanes are in the page at once; spaces stand for the others.

import { byId, el } from "./dom.js";

export const ROW = 34, HEADING = 30, MARGIN = 12, BLOCK = 40;

const ALONE = ""; // the heading over objects that neither own nor are owned, in place of one heading each

/** The key of the heading that each lane stands under. */
function headings(payload) {
  const alone = new Set(payload.groups.filter((group) => group.lanes === 1 && group.short).map((group) => group.key));
  return payload.lanes.map((lane) => (alone.has(lane.group) ? ALONE : lane.group));
}

/** Runs of lanes under one heading; for each lane the y of its middle (null where its group is collapsed) and its heading. */
export function layOut(payload, closed) {
  const runs = [];
  const keys = headings(payload);
  const centres = [], over = [];
  let y = 0;
  payload.lanes.forEach((_, index) => {
    if (runs.at(-1)?.key !== keys[index]) {
      runs.push({ key: keys[index], lanes: [], y });
      y += HEADING;
    }
    const run = runs.at(-1);
    run.lanes.push(index);
    over.push({ open: !closed.has(run.key), middle: run.y + HEADING / 2, bottom: run.y + HEADING });
    if (closed.has(keys[index])) return centres.push(null);
    centres.push(y + ROW / 2);
    y += ROW;
  });
  return { runs, centres, headings: over, height: y };
}

const badge = (lane) => el("span", { class: `badge family-${lane.family.toLowerCase()}` }, lane.short);

const label = (lane, alone) =>
  el("li", { class: "lane", "data-lane": lane.key },
    el("span", { class: "lane-number" }, alone ? "" : String(lane.number)), badge(lane),
    el("span", { class: "lane-words", title: `${lane.namespace ? `${lane.namespace}/` : ""}${lane.name}\n${lane.subtitle}` },
      el("span", { class: "lane-name" }, lane.name), el("span", { class: "lane-about" }, lane.subtitle)));

function heading(group, shown, open, first) {
  const about = [group.namespace, shown === group.lanes ? `${shown} lane${shown === 1 ? "" : "s"}` : `${shown} of ${group.lanes} lanes`];
  return el("h2", { class: "group" },
    el("button", { type: "button", class: "group-toggle", "data-group": group.key, "aria-expanded": String(open) },
      el("span", { class: "group-arrow", "aria-hidden": "true" }, open ? "▾" : "▸"),
      el("span", { class: "group-name" }, [group.short, group.label].filter(Boolean).join(" ")),
      el("span", { class: "group-about" }, about.filter(Boolean).join(" · "))),
    first && open ? el("span", { class: "group-hint" }, "numbers are the order of creation") : null);
}

export class Lanes {
  #payload = null;

  /** `onScroll(firstLane, lastLane)`: the indices, among all lanes, that are in sight; `onToggle(groupKey)`. */
  constructor({ onScroll, onToggle }) {
    this.bench = byId("bench");
    this.labels = byId("labels");
    this.bench.addEventListener("scroll", () => this.#payload && onScroll(...this.inSight()), { passive: true });
    this.labels.addEventListener("click", (event) => {
      const button = event.target.closest("[data-group]");
      if (button) onToggle(button.dataset.group);
    });
  }

  /** Draws the labels and returns the layout. What was at the top of the screen stays there. */
  draw(payload, closed) {
    const anchor = this.#anchor();
    const layout = layOut(payload, closed);
    const groups = new Map(payload.groups.map((group) => [group.key, group]));
    const focused = document.activeElement?.dataset?.group;
    this.labels.replaceChildren(...layout.runs.map((run, index) => {
      const open = !closed.has(run.key);
      const alone = run.key === ALONE;
      const group = alone ? { key: ALONE, short: "", label: "without owner", namespace: "", lanes: run.lanes.length } : groups.get(run.key);
      return el("section", { class: open ? "run" : "run closed" }, heading(group, run.lanes.length, open, index === 0),
        open ? el("ol", { class: "lanes" }, run.lanes.map((lane) => label(payload.lanes[lane], alone))) : null);
    }));
    if (focused !== undefined) this.labels.querySelector(`[data-group="${CSS.escape(focused)}"]`)?.focus();
    byId("block").style.height = `${layout.height}px`;
    byId("space-above").style.height = `${payload.offset * ROW}px`;
    byId("space-below").style.height = `${Math.max(0, payload.lanes_total - payload.offset - payload.lanes.length) * ROW}px`;
    this.bench.classList.toggle("long", this.bench.scrollHeight > this.bench.clientHeight); // the axis then lies over lanes
    this.#payload = payload;
    this.layout = layout;
    if (anchor) this.#restore(anchor);
    return layout;
  }

  inSight() {
    const { offset, lanes } = this.#payload;
    const top = this.bench.scrollTop - offset * ROW, bottom = top + this.bench.clientHeight;
    const shown = this.layout.centres.flatMap((y, i) => (y !== null && y + ROW / 2 > top + HEADING && y - ROW / 2 < bottom ? [i] : []));
    if (shown.length) return [offset + shown[0], offset + shown.at(-1)];
    const guess = top < 0 ? Math.floor(this.bench.scrollTop / ROW) : offset + lanes.length + Math.floor((top - this.layout.height) / ROW);
    return [Math.max(0, guess), Math.max(0, guess) + Math.ceil(this.bench.clientHeight / ROW)];
  }

  /** Scrolls so that the middle of these lanes (indices in the payload) is in sight. */
  reveal(indices) {
    const ys = indices.map((index) => this.layout.centres[index]).filter((y) => y !== null && y !== undefined);
    if (!ys.length) return;
    const top = Math.min(...ys) - ROW / 2 - HEADING, bottom = Math.max(...ys) + ROW / 2 + 24;
    const shift = this.#payload.offset * ROW, height = this.bench.clientHeight;
    const inside = this.bench.scrollTop <= top + shift && this.bench.scrollTop + height >= bottom + shift;
    if (!inside) this.bench.scrollTop = shift + Math.max(0, bottom - top > height ? top : (top + bottom - height) / 2);
  }

  page(by) {
    this.bench.scrollTop += by * (this.bench.clientHeight - 3 * ROW);
  }

  scrollToLane(index) {
    const y = this.layout.centres[index - this.#payload.offset];
    if (y) this.bench.scrollTop = this.#payload.offset * ROW + y - ROW / 2 - HEADING;
  }

  #anchor() {
    if (!this.#payload || this.bench.scrollTop === 0) return null;
    const [first] = this.inSight();
    const index = first - this.#payload.offset;
    const y = this.layout.centres[index];
    return y === null || y === undefined ? null : { key: this.#payload.lanes[index].key, at: this.#payload.offset * ROW + y - this.bench.scrollTop };
  }

  #restore({ key, at }) {
    const index = this.#payload.lanes.findIndex((lane) => lane.key === key);
    const y = this.layout.centres[index];
    if (y !== null && y !== undefined) this.bench.scrollTop = this.#payload.offset * ROW + y - at;
  }
}

// This module lists the lanes of the view, as the rows of a table and as objects for a phone. It loads windows of its own,
// because a list holds more lanes than the figure.

import { byId, el } from "../draw/dom.js";
import { plural } from "../state/amounts.js";
import { rowsOf } from "../state/events.js";
import { objectPage } from "../state/links.js";
import { clock, day, digitsFor, inZones, instant } from "../state/time.js";
import { zone } from "../state/zone.js";
import { lanesOfAll } from "../state/window.js";
import { timeOf } from "./timeOf.js";

const LANES = 200; // the most lanes on one page of the list
const WAIT = 150; // ms without changes of the view before the list is loaded

const nameOf = (lane) => (lane.members > 1 ? `${lane.members} ${lane.kind}s of ${lane.name}` : lane.name);
const link = (lane) => (objectPage(lane.track) ? el("a", { href: objectPage(lane.track) }, nameOf(lane)) : nameOf(lane));

const heads = () => [`Time (${zone().name})`, "No.", "Kind", "Namespace", "Object", "What happened", "Writer", "Revision", "Phase"];
const COLUMNS = heads().length;

function table(payload, view) {
  const digits = Math.max(3, digitsFor(view.end - view.start));
  const { events, earlier } = rowsOf(payload, view);
  const cell = (words, attributes = {}) => el("td", attributes, words);
  const part = (title, rows) => el("tbody", {}, el("tr", {}, el("th", { scope: "rowgroup", colspan: COLUMNS, class: "part-head" }, title)), rows.map((row) => {
    const lane = payload.lanes[row.lane];
    return el("tr", {},
      cell(row.time === null ? "before" : timeOf(row.time, instant(row.time, row.within, digits), { within: row.within }), { class: "mono" }), cell(row.number ?? "", { class: "mono" }), cell(lane.kind), cell(lane.namespace),
      el("th", { scope: "row" }, link(lane)), cell(row.what), cell(row.writer), cell(row.revision ?? "", { class: "mono" }), cell(row.phase));
  }));
  return el("table", {},
    el("caption", {}, `From ${day(view.start)} ${clock(view.start, digits)} to ${clock(view.end, digits)} ${zone().labelOf(view.start, view.end)}`, gapsOf(payload, view, digits).map((words) => el("span", { class: "gap-line" }, words))),
    el("thead", {}, el("tr", {}, heads().map((words) => el("th", { scope: "col" }, words)))),
    part(plural(events.length, "event"), events), part(`${plural(earlier.length, "object")} from before`, earlier));
}

/** Returns sentences about what was not observed in the view, and about what was deleted. */
function gapsOf({ gaps }, view, digits) {
  return gaps.kind.flatMap((kind, i) =>
    (gaps.start[i] <= view.end && gaps.end[i] >= view.start ? [`${kind ? `${kind} was not observed` : "Deleted"} from ${clock(gaps.start[i], digits)} to ${clock(gaps.end[i], digits)}: ${gaps.text[i]}`] : []));
}

function objects(payload) {
  return el("ol", { class: "object-list" }, payload.lanes.map((lane) =>
    el("li", {},
      el("span", { class: `badge family-${lane.family.toLowerCase()}` }, lane.short),
      el("span", { class: "lane-words" }, el("span", { class: "lane-name" }, link(lane)), el("span", { class: "lane-about" }, [lane.namespace, lane.subtitle].filter(Boolean).join(" · "))))));
}

export class Listing {
  #timer = 0;
  #asked = "";
  #offset = 0;

  /** `question()` → the query of a window; `shown()` → "table", "objects" or "". */
  constructor({ windows, store, question, shown }) {
    Object.assign(this, { windows, store, question, shown });
    document.addEventListener("zonechange", () => {
      this.#asked = "";
      if (this.shown()) this.#ask(this.#offset);
    });
    for (const id of ["table", "objects"]) {
      byId(id).addEventListener("click", ({ target }) => {
        const by = Number(target.closest("[data-by]")?.dataset.by ?? 0);
        if (by) this.#ask(this.#offset + by);
      });
    }
  }

  /** Updates the list when the view has not changed for a moment. */
  soon() {
    clearTimeout(this.#timer);
    if (this.shown()) this.#timer = setTimeout(() => this.#ask(0), WAIT);
  }

  async #ask(offset) {
    const question = { ...this.question(), fold: false, offset, limit: LANES };
    const written = this.shown() + JSON.stringify(question);
    if (written === this.#asked) return;
    this.#asked = written;
    try {
      const payload = await this.windows.ask(question);
      this.#offset = payload.offset;
      this.#draw(payload);
    } catch (error) {
      if (error.name === "AbortError") return;
      this.#asked = "";
      byId(this.shown() || "table").replaceChildren(el("p", { class: "alert", role: "alert" }, error.message));
    }
  }

  #draw(payload) {
    const shown = this.shown();
    if (!shown) return;
    const view = this.store.view();
    const { offset, lanes, lanes_total: total } = payload;
    const own = lanes.length - payload.pins;
    const step = (by, words, possible) => el("button", { type: "button", class: "button", "data-by": by, disabled: !possible }, words);
    const part = own < total
      ? el("p", { class: "part" }, `Lanes ${offset + 1} to ${offset + own} of ${lanesOfAll(payload)} `, step(-LANES, "Previous", offset > 0), " ", step(LANES, "Next", offset + own < total))
      : el("p", { class: "part soft" }, lanesOfAll(payload));
    const panel = byId(shown);
    panel.replaceChildren(part, shown === "table" ? table(payload, view) : objects(payload));
    panel.scrollTop = 0;
  }
}

// This module shows the alerts of a source: as bars from their start to their end in a lane above the axis, as marks on the
// axis, and one of them in a panel with its labels and annotations.

import { byId, el } from "../draw/dom.js";
import { alerts as ask } from "../state/api.js";
import { clock, day } from "../state/time.js";
import { zone } from "../state/zone.js";
import { timeOf } from "./timeOf.js";

const PAUSE = 300; // ms for which the view has to rest before the server is asked
const OFTEN = 2_000; // the least ms between two requests because new alerts came
const ROWS = 4; // rows of bars; the others are counted
const LEAST = 8; // px of a bar, so that a hand can hit it
const APART = 3; // px between two bars of a row
const MARK = 9; // px between two marks on the axis

const moment = (time) => timeOf(time, `${day(time)} ${clock(time, 0)} ${zone().label(time)}`, { class: "mono" });
const nameOf = ({ name }) => name || "(no name)";
const placeOf = ({ kind, namespace, name }) => `${kind} ${namespace ? `${namespace}/` : ""}${name}`;

/** Returns which alerts are drawn, from left to right: [{alert, row, left, width (px)}]; `width` is that of the lane. */
export function barsOf(alerts, { start, end }, last, width) {
  const toPixel = (time) => ((time - start) / (end - start)) * width;
  const ends = []; // of each row
  const found = [];
  for (const alert of [...alerts].sort((a, b) => a.start - b.start)) {
    const until = alert.end ?? Math.max(last, alert.start);
    if (until < start || alert.start > end) continue;
    const left = Math.max(0, toPixel(alert.start));
    const wide = Math.max(LEAST, Math.min(width, toPixel(until)) - left);
    let row = ends.findIndex((other) => left >= other + APART);
    if (row < 0 && ends.length < ROWS) row = ends.length;
    if (row >= 0) ends[row] = left + wide;
    found.push({ alert, row, left, width: wide });
  }
  return found;
}

function bodyOf(alert) {
  const row = (name, ...parts) => el("div", {}, el("dt", {}, el("bdi", {}, name)), el("dd", { dir: "auto" }, parts));
  const texts = (values) => Object.entries(values).sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, value]) => row(name, value));
  const about = ["summary", "message", "description"].map((name) => alert.annotations[name]).find(Boolean);
  return [
    about ? el("p", { dir: "auto" }, about) : null,
    el("p", {}, alert.object ? el("a", { href: alert.timeline }, el("bdi", {}, placeOf(alert.object))) : `Not linked: ${alert.why}`),
    el("dl", { class: "facts" },
      row("Began", moment(alert.start)),
      row("Ended", alert.end === null ? "no notification says so" : moment(alert.end)),
      row("Last notification", moment(alert.seen)),
      alert.receiver ? row("Received as", alert.receiver) : null,
      alert.link ? row("Comes from", el("a", { href: alert.link, rel: "noopener noreferrer nofollow", target: "_blank" }, new URL(alert.link).host, " ↗")) : null),
    el("h3", {}, "Labels"), el("dl", { class: "facts" }, texts(alert.labels)),
    ...(Object.keys(alert.annotations).length ? [el("h3", {}, "Annotations"), el("dl", { class: "facts" }, texts(alert.annotations))] : []),
  ];
}

export class AlertLane {
  #width = 0; // of the axis (px)
  #found = { alerts: [], more: false, start: 0, end: -1 };
  #timer = 0;
  #askedAt = -Infinity;
  #shown = null; // the alert in the panel
  #from = null; // the element that had the focus before the panel was opened

  constructor({ store, source, announce }) {
    Object.assign(this, { store, source, announce });
    this.lane = byId("alert-lane");
    this.place = byId("alert-bars");
    this.marks = byId("axis-alerts");
    this.panel = byId("alert");
    this.place.addEventListener("click", ({ target }) => this.#open(target.closest("[data-alert]")));
    this.marks.addEventListener("click", ({ target }) => this.#open(target.closest("[data-alert]")));
    this.place.addEventListener("keydown", (event) => this.#step(event));
    this.panel.addEventListener("keydown", (event) => event.key === "Escape" && [event.stopPropagation(), this.#close()]);
    byId("alert-close").addEventListener("click", () => this.#close());
    document.addEventListener("zonechange", () => [this.draw(), this.#shown && this.#fill(this.#shown)]);
    document.addEventListener("newalerts", () => this.#soon(Math.max(PAUSE, this.#askedAt + OFTEN - performance.now()), true));
    new ResizeObserver(() => {
      this.#width = this.marks.clientWidth; // measured here only, because that makes the browser compute the layout
      this.draw();
    }).observe(byId("bench"));
    store.subscribe((changed) => {
      if (changed.some((name) => (name === "change" || name === "line") && store[name])) this.panel.hidden = true;
      if (store.bounds) [this.draw(), this.#soon(PAUSE)];
    });
    if (store.bounds) this.#soon(0);
  }

  /** Asks the server once the view rests, if it shows what was not loaded, or if alerts are `fresh`. */
  #soon(pause, fresh = false) {
    if (fresh) this.#found.end = -1;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#load(), pause);
  }

  async #load() {
    if (!this.store.bounds) return; // the next change of the store tries again
    const { start, end } = this.store.view();
    const { start: from, end: until, more } = this.#found;
    const near = until - from < 8 * (end - start);
    if (from <= start && end <= until && (near || !more)) return;
    const question = { start: Math.max(0, Math.floor(2 * start - end)), end: Math.ceil(2 * end - start) };
    this.#askedAt = performance.now();
    try {
      this.#found = { ...(await ask(this.source, question)), ...question };
    } catch {
      return; // the next change of the view, or the next message, tries again
    }
    this.draw();
  }

  draw() {
    const { store } = this;
    if (!store.bounds) return;
    const view = store.view();
    const width = this.#width;
    const drawn = store.axis === "time" && width ? barsOf(this.#found.alerts, view, store.bounds?.last ?? 0, width) : [];
    const rows = Math.min(ROWS, Math.max(0, ...drawn.map(({ row }) => row + 1)));
    const hidden = drawn.filter(({ row }) => row < 0).length;
    this.lane.hidden = !drawn.length;
    this.lane.style.setProperty("--rows", rows);
    const focused = document.activeElement?.dataset?.alert;
    byId("alert-count").textContent = `${drawn.length}${this.#found.more ? " or more" : ""}${hidden ? `, ${hidden} not drawn` : ""}`;
    this.place.replaceChildren(...drawn.filter(({ row }) => row >= 0).map(({ alert, row, left, width: wide }, i) =>
      el("button", {
        type: "button", class: `alert-bar ${alert.state}`, "data-alert": `${alert.receiver} ${alert.id}`, tabindex: i ? "-1" : "0",
        style: `left:${left.toFixed(1)}px;width:${wide.toFixed(1)}px;--row:${row}`,
        title: `${nameOf(alert)}${alert.object ? ` · ${placeOf(alert.object)}` : ""} · ${alert.state}`,
      }, wide > 40 ? nameOf(alert) : el("span", { class: "visually-hidden" }, nameOf(alert)))));
    let last = -Infinity;
    this.marks.replaceChildren(...drawn.filter(({ alert, left }) => alert.start >= view.start && left - last >= MARK && ((last = left), true)).map(({ alert, left }) =>
      el("button", { type: "button", tabindex: "-1", "data-alert": `${alert.receiver} ${alert.id}`, title: `${nameOf(alert)} began`, style: `left:${left.toFixed(1)}px` }, "◆")));
    if (focused) [...this.place.children].find(({ dataset }) => dataset.alert === focused)?.focus({ preventScroll: true });
  }

  /** Moves the focus along the bars. */
  #step(event) {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const next = by && this.place.children[[...this.place.children].indexOf(event.target) + by];
    if (!by) return;
    event.stopPropagation();
    event.preventDefault();
    next?.focus({ preventScroll: true });
  }

  #open(element) {
    const alert = element && this.#found.alerts.find(({ receiver, id }) => `${receiver} ${id}` === element.dataset.alert);
    if (!alert) return;
    if (this.panel.hidden) this.#from = element.dataset.alert;
    this.#fill(alert);
    this.panel.hidden = false;
    byId("alert-body").scrollTop = 0;
    this.panel.focus({ preventScroll: true });
    this.announce(`Alert ${nameOf(alert)}, ${alert.state}`);
  }

  #fill(alert) {
    this.#shown = alert;
    byId("alert-title").textContent = `Alert ${nameOf(alert)}`;
    byId("alert-state").textContent = alert.state;
    byId("alert-body").replaceChildren(...bodyOf(alert).filter(Boolean));
  }

  #close() {
    this.panel.hidden = true;
    this.#shown = null;
    ([...this.place.children].find(({ dataset }) => dataset.alert === this.#from) ?? byId("bench")).focus({ preventScroll: true });
  }
}

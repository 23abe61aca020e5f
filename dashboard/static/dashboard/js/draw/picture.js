// This module makes scenes (see columns.js) from the store and the loaded window: one of all lanes, and one of pinned lanes.

import { instantsOf, orderScale, timeScale } from "../state/scale.js";
import { relatedTo, summary, unshown } from "../state/window.js";
import { drawAxis, ticksOf } from "./axis.js";
import { Board } from "./board.js";
import { whenReady } from "./chart.js";
import { scaleOf } from "./columns.js";
import { byId } from "./dom.js";
import { whatIsAt } from "./hits.js";
import { HEADING } from "./layout.js";
import { ROW } from "../state/shapes.js";

const BESIDE = 6 * ROW; // px that are drawn above and below the visible part, for scrolling

const systemDark = matchMedia("(prefers-color-scheme: dark)");
const theme = () => document.documentElement.dataset.theme ?? (systemDark.matches ? "dark" : "light");

const numberOf = (text) => (/^\d{1,17}$/.test(text) ? Number(text) : null);

export class Picture {
  #made = {}; // the input of the current scale
  #split = null; // the window that is drawn, as `moving.split` returns it
  #held = []; // what was drawn last, except for the view
  #drawn = [-Infinity, Infinity]; // from, to (px) of the lanes that are drawn

  constructor({ store, lanes, list, actors, logs }) {
    Object.assign(this, { store, lanes, list, actors, logs });
    const skeletons = JSON.parse(byId("skeletons").textContent);
    this.fills = Object.fromEntries(Object.entries(skeletons).map(([name, { data }]) => [name, Object.fromEntries(data.map((trace) => [trace.name, trace.fillcolor ?? trace.marker?.color]))]));
    this.inks = Object.fromEntries(Object.entries(skeletons).map(([name, { data }]) => [name, Object.fromEntries(data.map((trace) => [trace.name, trace.meta?.ink]))]));
    this.figures = { main: byId("figure"), pins: byId("pins-figure") };
    this.boards = { main: new Board(this.figures.main, skeletons), pins: new Board(this.figures.pins, skeletons) };
    this.scenes = { main: null, pins: null };
    this.skeletons = skeletons;
    this.pointed = ""; // the key of the finding whose sign is pointed at, which has its arrow
    this.moving = null; // for a live source: it divides a window into the part that moves and the rest
  }

  /** Makes the following drawings show the moving edge separately. `moving.split(payload)` → {payload, fixed, edge, now}: the whole window, its two parts, and the current time (µs). */
  move(moving) {
    this.moving = moving;
    this.edges = { main: new Board(this.figures.main, this.skeletons, true), pins: new Board(this.figures.pins, this.skeletons, true) };
    this.#held = []; // what was drawn before has no edge that could move
  }

  /** Draws only the moving edge: `edge` has its columns, `payload` is the whole window, and `now` the current time (µs). */
  drawEdge({ payload, edge, now }, act = "draw") {
    const { main, pins } = this.scenes;
    if (!main || this.figures.main.clientWidth === 0) return;
    this.#split = { ...this.#split, payload, edge, now };
    for (const [name, scene] of [["main", main], ...(payload.pins ? [["pins", pins]] : [])]) {
      this.edges[name][act]({ ...scene, payload: edge, among: payload, now, cursor: null, measure: null, flags: [], lane: "", views: [], logs: [], unshown: [], without: "shade outlines" });
    }
  }

  /** Updates the scale and returns it. On the axis of creation order, the scale depends on the loaded window. */
  #scale(payload) {
    const { store } = this;
    if (this.#made.payload !== payload || this.#made.axis !== store.axis) {
      this.#made = { payload, axis: store.axis };
      store.scale = store.axis === "order" ? orderScale(instantsOf(payload)) : timeScale(payload.start);
    }
    return store.scale;
  }

  /** Draws the figures, except for hidden ones. `hand` is {cursor, measure}, as in stepping.js. `moved`: only the view may have changed. */
  draw(payload, hand, moved = false) {
    whenReady(() => this.#draw(payload, hand, moved));
  }

  #draw(loaded, { cursor, measure }, moved) {
    const { store, lanes, list } = this;
    const width = this.figures.main.clientWidth;
    if (width === 0) return;
    const scrollBar = lanes.bench.offsetWidth - lanes.bench.clientWidth;
    const held = [loaded, lanes.layout, width, store.axis, scrollBar];
    const act = moved && this.covers() && held.every((each, i) => each === this.#held[i]) ? "move" : "draw";
    if (act === "draw") {
      this.#split = this.moving?.split(loaded) ?? { payload: loaded, fixed: loaded };
      this.#held = [this.#split.payload, ...held.slice(1)];
      byId("pins").style.paddingRight = `${scrollBar}px`;
    }
    const split = this.#split, { payload } = split;
    const view = store.view();
    const selected = list.rows.get(store.finding);
    const shared = {
      payload, view, width, scale: this.#scale(payload), theme: theme(), inks: this.inks[theme()], fills: this.fills[theme()], cursor, measure, lane: store.lane, flags: [["moment", store.moment], ["alert", store.at]].flatMap(([name, text]) => (numberOf(text) === null ? [] : [{ name, time: numberOf(text) }])),
      hue: store.colour === "actor" ? (actor) => this.actors.hue(actor) : null, actor: store.actor,
      lines: this.logs.marks, proof: this.logs.proof, unshown: unshown(payload, selected, (view.end - view.start) / 1000), chosen: new Set([store.finding, ...store.arrows, this.pointed]), related: relatedTo(payload, selected),
    };
    const { layout, layoutOfPins } = lanes;
    const [top, bottom] = this.#inSight();
    if (act === "draw") this.#drawn = document.body.classList.contains("paper") ? [-Infinity, Infinity] : [top - BESIDE, bottom + BESIDE];
    const main = {
      ...shared, ...layout, height: Math.max(1, layout.height), top: Math.max(0, top) + HEADING, bottom,
      rows: layout.centres.map((y) => (y !== null && y > this.#drawn[0] && y < this.#drawn[1] ? y : null)),
      tops: new Set(layout.runs.filter(({ closed }) => !closed).map(({ y }) => y + HEADING)),
      home: (key) => layout.headings.get(String(list.rows.get(key)?.focus)) ?? null,
    };
    main.ticks = ticksOf(main, store.axis);
    const pins = { ...shared, ...layoutOfPins, rows: layoutOfPins.centres, measure: null, ticks: main.ticks, top: 0, bottom: layoutOfPins.height, tops: new Set(), home: () => null };
    this.scenes = { main, pins };
    const apart = { payload: split.fixed, among: payload, without: this.moving ? "shade area" : null }; // that is drawn below the edge
    this.boards.main[act]({ ...main, ...apart });
    if (payload.pins) this.boards.pins[act]({ ...pins, ...apart });
    if (this.moving) this.drawEdge(split, act);
    drawAxis(main);
    lanes.number(payload, view);
    this.figures.main.setAttribute("aria-label", summary(payload, view, selected, list.divide(view).counts));
    this.figures.main.dataset.drawn = String(Number(this.figures.main.dataset.drawn ?? 0) + 1);
  }

  /** Returns the visible part of the lanes: from, to (px of the main figure). */
  #inSight() {
    const { bench } = this.lanes;
    const top = bench.scrollTop - this.lanes.above;
    return [top, top + bench.clientHeight];
  }

  /** Returns whether everything visible is drawn. After scrolling it may not be. */
  covers() {
    const [top, bottom] = this.#inSight();
    return top >= this.#drawn[0] && bottom <= this.#drawn[1];
  }

  /** Returns the tooltip for this time (µs) of this lane: {lines, at: {clientX, clientY}}, or null if it is not drawn. */
  find(time, index) {
    const name = (this.scenes.main?.centres[index] ?? null) === null ? "pins" : "main";
    const scene = this.scenes[name];
    const y = scene?.centres[index] ?? null;
    if (y === null) return null;
    const box = this.figures[name].getBoundingClientRect();
    const x = scaleOf(scene).toPixel(time);
    return { lines: whatIsAt(scene, x, y), at: { clientX: box.left + x, clientY: box.top + y + 8 } };
  }
}

// This module draws a scene into the figure that dashboard/drawing/figures.py has built. No other module uses Plotly.
//
// Plotly makes an element of each trace, with its style. To draw other data it would check and compute the whole figure again, for
// 15 ms and more, so the outlines of these elements are written here. More than the view is drawn, and while the view moves, that is
// moved and stretched, as Plotly does it while its own figures are dragged.

import { columns, scaleOf } from "./columns.js";

const BESIDE = 0.75; // the part of the view's width that is drawn on each side of it
const LEAST = 0.4, MOST = 3; // how far what is drawn may be stretched
const REST = 200; // ms without a movement after which what is stretched, or has little left on a side, is drawn again
const STEP = 1024; // px by which the figure grows, so that it is seldom made again because there are more lanes
const LATER = 500; // ms after the first drawing until the elements of the other traces are made, so that a new colour does not delay a movement
const ANY = { x: [0, 1, 1], y: [0, 0, 1] }; // with which Plotly makes the one element of an area or of lines

/** Calls back when Plotly is loaded, because the page's own modules may run before it. */
export function whenReady(act) {
  if (globalThis.Plotly) act();
  else document.getElementById("plotly").addEventListener("load", act, { once: true });
}

/** Returns a scene whose view reaches further on both sides, by a part of its width. */
function widened(scene, beside) {
  const { left, right } = scaleOf(scene);
  const more = (right - left) * beside;
  return { ...scene, view: { start: scene.scale.from(left - more), end: scene.scale.from(right + more) }, width: scene.width * (1 + 2 * beside) };
}

const written = (number) => Math.round(number * 100) / 100;

/** Returns the data of an SVG path through points; null ends a line. `closed`: they are the corners of areas. */
function outlineOf({ x, y }, closed) {
  const end = closed ? "Z" : "";
  let path = "", next = "M";
  for (let i = 0; i < x.length; i++) {
    if (x[i] === null) path += end;
    else path += `${next}${written(x[i])},${written(y[i])}`;
    next = x[i] === null ? "M" : "L";
  }
  return path && path + end;
}

export class Chart {
  #made = null; // what Plotly has made: {theme, width, height, paths (name of a trace → {path, trace, outline (as it is drawn)})}
  #drawn = null; // what is drawn: {whole (the scene with the view that is drawn), filled (its columns), left, right (its x)}
  #revision = 0;
  #rest = 0;
  #later = 0;

  constructor(host, skeletons) {
    this.host = host;
    this.skeletons = skeletons;
  }

  /** Draws a scene of columns.js with `height` and `theme`. `without`: the name of a trace that is left out. */
  draw(scene) {
    clearTimeout(this.#rest);
    const stays = this.#drawn?.whole.scale === scene.scale && this.#fresh(scene, this.#place(scene));
    const { view, width } = stays ? this.#drawn.whole : widened(scene, document.body.classList.contains("paper") ? 0 : BESIDE);
    const whole = { ...scene, view, width }, filled = columns(whole);
    filled.delete(scene.without);
    this.#drawn = { whole, filled, ...scaleOf(whole) };
    const { theme, width: wide, height, paths } = this.#made ?? {};
    if (theme !== scene.theme || wide !== width || height < scene.height || [...filled.keys()].some((name) => !paths.has(name))) this.#make(new Set([...filled.keys(), ...(paths?.keys() ?? [])]));
    this.#write();
    this.host.dataset.revision = ++this.#revision;
    this.#later ||= setTimeout(() => [this.#make(null), this.#write()], LATER);
    this.#place(scene);
  }

  /** Lets Plotly make the elements of the traces with these names, or of all. */
  #make(names) {
    const { theme, width, height: least } = this.#drawn.whole;
    const { data, layout, config } = this.skeletons[theme];
    const height = Math.ceil(least / STEP) * STEP;
    const traces = data.filter(({ name }) => !names || names.has(name)).map((trace) => ({ ...trace, ...ANY }));
    const figure = {
      ...layout, width, height, datarevision: this.#revision,
      xaxis: { ...layout.xaxis, range: [0, width] },
      yaxis: { ...layout.yaxis, range: [height, 0] },
    };
    globalThis.Plotly.react(this.host, traces, figure, config);
    const elements = this.host.querySelectorAll(".scatterlayer .trace");
    const paths = new Map(traces.map((trace, i) => [trace.name, { trace, path: elements[i].querySelector("path"), outline: null }]));
    this.#made = { theme, width, height, paths };
  }

  /** Gives all traces their data, and draws those that have changed. */
  #write() {
    for (const [name, each] of this.#made.paths) {
      const column = this.#drawn.filled.get(name) ?? { x: [], y: [] };
      Object.assign(each.trace, column);
      const outline = outlineOf(column, each.trace.fill === "toself");
      if (outline !== each.outline) each.path.setAttribute("d", (each.outline = outline));
    }
  }

  /** Returns whether what is drawn is not stretched, and has enough on both sides of the view. */
  #fresh(scene, { stretch, before, after }) {
    const { left, right } = scaleOf(scene), few = (BESIDE / 3) * (right - left);
    return stretch === 1 && before >= few && after >= few;
  }

  /** Shows a scene that differs from the one drawn last in nothing but its view. */
  move(scene) {
    const placed = this.#drawn ? this.#place(scene) : {}, { stretch, before, after } = placed;
    if (!(before >= 0 && after >= 0 && stretch >= LEAST && stretch <= MOST)) return this.draw(scene);
    clearTimeout(this.#rest);
    if (!this.#fresh(scene, placed)) this.#rest = setTimeout(() => this.draw(scene), REST);
  }

  /** Moves what is drawn to where a scene shows it. Returns by how much it is stretched, and what is left on both sides of the view (x). */
  #place(scene) {
    const { left, right } = scaleOf(scene), { whole, ...drawn } = this.#drawn;
    const perX = scene.width / (right - left);
    const stretch = Number((((drawn.right - drawn.left) * perX) / whole.width).toFixed(9)); // of a view that was only moved it is 1
    this.host.style.transform = `translateX(${((drawn.left - left) * perX).toFixed(2)}px)${stretch === 1 ? "" : ` scaleX(${stretch})`}`;
    return { stretch, before: left - drawn.left, after: drawn.right - right };
  }
}

// This module draws a scene into the figure that dashboard/drawing/figures.py has built. No other module uses Plotly.
//
// Plotly takes 15 ms to draw even a few bars, so it draws more than the view, and while the view moves, what it has drawn is
// moved and stretched, as Plotly does it while its own figures are dragged. It draws again when the view rests.

import { columns, scaleOf } from "./columns.js";

const BESIDE = 0.75; // the part of the view's width that is drawn on each side of it
const LEAST = 0.4, MOST = 3; // how far what is drawn may be stretched
const REST = 200; // ms without a movement after which what is stretched, or has little left on a side, is drawn again

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

const equal = (one, other) => one.length === other.length && one.every((each, i) => each === other[i]);

/** Returns whether two results of `columns` would be drawn alike. */
const alike = (one, other) => one.size === other.size && [...one].every(([name, { x, y, marker }]) => {
  const beside = other.get(name);
  return beside && equal(x, beside.x) && equal(y, beside.y) && equal(marker?.size ?? [], beside.marker?.size ?? []);
});

export class Chart {
  #revision = 0;
  #drawn = null; // what Plotly has drawn: {whole (the scene with the view that is drawn), left, right (its x), filled (its columns)}
  #rest = 0;

  constructor(host, skeletons) {
    this.host = host;
    this.skeletons = skeletons;
  }

  /** Draws a scene of columns.js with `height` and `theme`. `without`: the names of traces that are left out. */
  draw(scene) {
    clearTimeout(this.#rest);
    if (this.#stands(scene)) return;
    const { data, layout, config } = this.skeletons[scene.theme];
    const whole = widened(scene, document.body.classList.contains("paper") ? 0 : BESIDE);
    const { left, right } = scaleOf(whole);
    const { width, height } = whole;
    const filled = columns(whole);
    const traces = data.filter(({ name }) => filled.has(name) && name !== scene.without).map((trace) => {
      const column = filled.get(trace.name);
      const marker = column.marker ? { marker: { ...trace.marker, ...column.marker } } : {};
      return { ...trace, ...column, ...marker };
    });
    const figure = {
      ...layout,
      width,
      height,
      datarevision: ++this.#revision,
      xaxis: { ...layout.xaxis, range: [left, right] },
      yaxis: { ...layout.yaxis, range: [height, 0] },
    };
    globalThis.Plotly.react(this.host, traces, figure, config);
    this.#drawn = { whole, left, right, filled };
    this.#place(scene);
  }

  /** Returns whether what is drawn shows a scene as it would be drawn now, and has enough on both sides; moves it there. */
  #stands(scene) {
    const { whole, filled } = this.#drawn ?? {};
    if (!whole || ["scale", "theme", "height", "without"].some((name) => scene[name] !== whole[name])) return false;
    return this.#fresh(scene, this.#place(scene)) && alike(filled, columns({ ...scene, view: whole.view, width: whole.width }));
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

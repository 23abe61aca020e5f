// This module draws the marks of events as SVG. All marks that look the same are one element, because thousands of elements, as Plotly
// makes them, take a fifth of a second whenever the window moves.

import { isOf } from "../state/actors.js";
import { PALE, inkOf } from "./columns.js";
import { svg } from "./dom.js";

// The shape of each mark, in px from its place; those that come later cover the others. dashboard/drawing/figures.py names them.
const SHAPES = {
  status: "m3 3h-6v-6h6z",
  scheduled: "m-5.2 2.25h10.4l-5.2-6.75z",
  started: "m4 0a4 4 0 1 1-4-4a4 4 0 0 1 4 4z",
  ready: "m5.85 0l-5.85 5.85l-5.85-5.85l5.85-5.85z",
  restarted: "m4.5 4.5v-9l-9 9v-9z",
  finished: "m-4.4-4.4a8 8 0 0 1 0 8.8a8 8 0 0 1 8.8 0a8 8 0 0 1 0-8.8a8 8 0 0 1-8.8 0z",
  deleting: "m-5.2-2.25h10.4l-5.2 6.75z",
  deleted: "m0 1.7l1.7 1.7l1.7-1.7l-1.7-1.7l1.7-1.7l-1.7-1.7l-1.7 1.7l-1.7-1.7l-1.7 1.7l1.7 1.7l-1.7 1.7l1.7 1.7z",
  finalizer: "m3.8-1.24l-1.45 4.48h-4.7l-1.45-4.48l3.8-2.76z",
  taken: "m-2.25-5.2v10.4l6.75-5.2z",
  released: "m2.25-5.2v10.4l-6.75-5.2z",
};
const ORDER = Object.keys(SHAPES);
const ROOM = 10; // px beyond the edges, where marks are still visible

/** Returns the marks of a scene (see columns.js), one of those of a kind that are on the same pixel. */
export function markShapes(scene, toPixel) {
  const { payload, rows, width } = scene;
  const { lane, time, mark, actor } = payload.marks;
  const alike = new Map(); // kind, colour and opacity → {kind, ink, pale, places (x, y of each mark, by pixel)}
  for (let i = 0; i < lane.length; i++) {
    const x = toPixel(time[i]), y = rows[lane[i]];
    if (y === null || x < -ROOM || x > width + ROOM) continue;
    const ink = inkOf(scene, actor[i]), pale = !isOf(payload, actor[i], scene.actor);
    const key = `${mark[i]} ${ink} ${pale}`;
    if (!alike.has(key)) alike.set(key, { kind: mark[i], ink, pale, places: new Map() });
    alike.get(key).places.set(y * 1e6 + Math.round(x), `M${x.toFixed(1)} ${y}`);
  }
  return [...alike.values()].sort((one, other) => ORDER.indexOf(one.kind) - ORDER.indexOf(other.kind)).map(({ kind, ink, pale, places }) =>
    svg("path", { class: ink ? "mark inked" : "mark", "data-mark": kind, opacity: pale ? PALE : null, style: ink ? `fill:${ink}` : null, d: [...places.values()].map((place) => place + SHAPES[kind]).join("") }));
}

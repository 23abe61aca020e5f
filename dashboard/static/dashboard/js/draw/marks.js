// This module draws the marks of events as SVG. All marks that look the same are one element, because thousands of elements, as Plotly
// makes them, take a fifth of a second whenever the window moves.

import { isOf } from "../state/actors.js";
import { PALE, inkOf } from "./columns.js";
import { svg } from "./dom.js";
import { MARKS } from "../state/shapes.js";

const ORDER = Object.keys(MARKS);
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
    svg("path", { class: ink ? "mark inked" : "mark", "data-mark": kind, opacity: pale ? PALE : null, style: ink ? `fill:${ink}` : null, d: [...places.values()].map((place) => place + MARKS[kind]).join("") }));
}

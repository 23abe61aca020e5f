// This module draws where violations are: a small sign above the bars of a lane at the moment, or a strip where signs have no room.

import { DOTS, ROW } from "../state/shapes.js";
import { HALF_BAR, scaleOf } from "./columns.js";
import { svg } from "./dom.js";

const HALF = 4.5; // px of half a sign
const STRIP = 3; // px, the height of a strip
const NEAR = { mouse: [7, 5], pen: [10, 6], touch: [14, 8] }; // px beside and above a sign within which a pointer is at it
const RISE = (ROW / 2 + HALF_BAR) / 2; // px from the middle of a lane up to its signs
const ORDER = Object.keys(DOTS); // the gravest severity comes first

/** Returns the signs of each lane that is drawn, from left to right: [{lane, left, right (px of their places), severity (the gravest), dots (indices in the payload)}]. Signs that would cover each other are together. */
function signsOf({ payload, rows, width }, toPixel) {
  const { lane, time, severity } = payload.dots;
  const places = lane.flatMap((row, i) => {
    const x = toPixel(time[i]);
    return rows[row] === null || x < -HALF || x > width + HALF ? [] : [{ i, row, x }];
  }).sort((one, other) => one.row - other.row || one.x - other.x);
  const signs = [];
  for (const { i, row, x } of places) {
    const last = signs.at(-1);
    if (last?.lane !== row || x - last.right >= 2 * HALF) signs.push({ lane: row, left: x, right: x, severity: severity[i], dots: [i] });
    else {
      last.right = x;
      last.dots.push(i);
      if (ORDER.indexOf(severity[i]) < ORDER.indexOf(last.severity)) last.severity = severity[i];
    }
  }
  return signs;
}

/** Returns the SVG elements of the signs above the bars, one for each severity. A scene is what is drawn (see columns.js). */
export function dotShapes(scene, toPixel) {
  const alike = new Map(ORDER.map((severity) => [severity, ""]));
  for (const { lane, left, right, severity } of signsOf(scene, toPixel)) {
    const y = scene.rows[lane] - RISE, from = left - HALF;
    const wide = right - left >= 2 * HALF;
    const shape = wide ? `M${from.toFixed(1)} ${y - STRIP / 2}h${(right - left + 2 * HALF).toFixed(1)}v${STRIP}H${from.toFixed(1)}z` : `M${((left + right) / 2).toFixed(1)} ${y}${DOTS[severity]}`;
    alike.set(severity, alike.get(severity) + shape);
  }
  return [...ORDER].reverse().flatMap((severity) => (alike.get(severity) ? [svg("path", { class: `tick ${severity}`, d: alike.get(severity) })] : []));
}

/** Returns the violation whose sign is at (x, y) of the plot: {lane, time (µs), severity, finding (its key), many (how many the sign stands for)}; of several the gravest, and of these the nearest. Null if there is none. */
export function dotAt(scene, x, y, pointer = "mouse") {
  const [near, high] = NEAR[pointer] ?? NEAR.mouse;
  const { toPixel } = scaleOf(scene);
  const { time, severity, finding } = scene.payload.dots;
  const sign = signsOf(scene, toPixel).find(({ lane, left, right }) => Math.abs(scene.rows[lane] - RISE - y) <= high && x >= left - near && x <= right + near);
  if (!sign) return null;
  const far = (i) => Math.abs(toPixel(time[i]) - x);
  const [i] = sign.dots.filter((dot) => severity[dot] === sign.severity).sort((one, other) => far(one) - far(other));
  return { lane: sign.lane, time: time[i], severity: severity[i], finding: finding[i], many: sign.dots.length };
}

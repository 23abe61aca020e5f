// What lies between two moments: how long, and how many revisions, as the server tells it of the whole source, whatever is
// loaded. Pure, but for the shapes it makes.

import { scaleOf } from "./columns.js";
import { svg } from "./dom.js";
import { clock, digitsFor, duration } from "./time.js";

const NEAR = 6; // px within which an end takes the time of what lies there

/** The time at x (px), or that of the nearest event beside it. */
export function snapped(scene, x) {
  const { payload, scale } = scene;
  const { toPixel, toX } = scaleOf(scene);
  const time = scale.from(toX(x));
  const times = [payload.marks.time, payload.births.time, payload.bars.start, payload.bars.end].flat();
  let best = null;
  for (const other of times) {
    const far = Math.abs(toPixel(other) - x);
    if (far <= NEAR && far < (best?.far ?? NEAR + 1)) best = { far, time: other };
  }
  return best?.time ?? Math.round(time);
}

/** {start, end, length, revisions, words} of the time between two moments (µs, in any order); `told` is the answer to both. */
export function measured(one, other, told = null) {
  const [start, end] = one <= other ? [one, other] : [other, one];
  const [from, to] = [told?.start?.resource_version, told?.end?.resource_version];
  const length = duration(end - start);
  const revisions = !from || !to ? "" : from === to ? `RV ${to}` : `RV ${from} → ${to}, ${BigInt(to) - BigInt(from)} apart`;
  return { start, end, length, revisions, words: [length, revisions].filter(Boolean).join(" · ") };
}

/** Said aloud: with both clocks. */
export function spoken(told) {
  const digits = Math.max(3, digitsFor(told.end - told.start));
  return `${told.words}, from ${clock(told.start, digits)} to ${clock(told.end, digits)} UTC`;
}

/** The band between both ends, and what it measures; only the first end while there is no second. */
export function drawMeasure({ measure, width, height, top }, toPixel) {
  if (measure === null) return [];
  const line = (x) => svg("line", { class: "measure-end", x1: x, x2: x, y1: 0, y2: height });
  if (measure.end === null) return [line(toPixel(measure.start))];
  const told = measured(measure.start, measure.end, measure.told);
  const left = Math.max(-2, toPixel(told.start)), right = Math.min(width + 2, toPixel(told.end));
  if (right < 0 || left > width) return [];
  const label = svg("text", { y: 4 }, told.words);
  const length = told.words.length * 6.1 + 20;
  const x = Math.min(Math.max(4, (left + right - length) / 2), width - length - 4);
  label.setAttribute("x", length / 2);
  return [
    svg("rect", { class: "measure-band", x: left, y: 0, width: Math.max(1, right - left), height }), line(left), line(right),
    svg("g", { class: "measure-label", transform: `translate(${x} ${top + 22})` }, svg("rect", { y: -11, width: length, height: 22, rx: 11 }), label),
  ];
}

// What lies between two moments: how long, and how many revisions, as the server tells it of the whole source, whatever is
// loaded. Pure, but for the shapes it makes.

import { apart, duration, words } from "../state/durations.js";
import { digitsFor, instant } from "../state/time.js";
import { scaleOf } from "./columns.js";
import { svg } from "./dom.js";

const NEAR = 6; // px within which an end takes the time of what lies there

/**
 * An end of what is measured: the nearest event beside x (px), or else the time there. {time, within} as durations.js has
 * them; one that is no change was chosen, so it is known: [0, 0].
 */
export function snapped(scene, x) {
  const { payload, scale } = scene;
  const { toPixel, toX } = scaleOf(scene);
  const time = scale.from(toX(x));
  const { marks, births, bars } = payload;
  const seen = (within, open) => within.map((known, i) => (open[i] ? [0, 0] : known)); // an end of what was observed is no change
  const columns = [
    [marks.time, marks.within], [births.time, births.within],
    [bars.start, seen(bars.start_within, bars.open_start)], [bars.end, seen(bars.end_within, bars.open_end)],
  ];
  let best = null;
  for (const [times, within] of columns) {
    times.forEach((other, i) => {
      const far = Math.abs(toPixel(other) - x);
      if (far <= NEAR && far < (best?.far ?? NEAR + 1)) best = { far, time: other, within: within[i] };
    });
  }
  return best ?? { time: Math.round(time), within: [0, 0] };
}

/** {start, end, words} of the time between two ends (in any order); `told` is the answer to both. */
export function measured(one, other, told = null) {
  const [start, end] = one.time <= other.time ? [one, other] : [other, one];
  const [from, to] = [told?.start?.resource_version, told?.end?.resource_version];
  const took = apart(start, end);
  const length = took.least === took.most ? duration(took.least) : words(took);
  const revisions = !from || !to ? "" : from === to ? `RV ${to}` : `RV ${from} → ${to}, ${BigInt(to) - BigInt(from)} apart`;
  return { start, end, words: [length, revisions].filter(Boolean).join(" · ") };
}

/** Said aloud: with both clocks. */
export function spoken(told) {
  const { start, end } = told;
  const digits = Math.max(3, digitsFor(end.time - start.time));
  return `${told.words}, from ${instant(start.time, start.within, digits)} to ${instant(end.time, end.within, digits)} UTC`;
}

/** The band between both ends, and what it measures; only the first end while there is no second. */
export function drawMeasure({ measure, width, height, top }, toPixel) {
  if (measure === null) return [];
  const line = (x) => svg("line", { class: "measure-end", x1: x, x2: x, y1: 0, y2: height });
  if (measure.end === null) return [line(toPixel(measure.start.time))];
  const told = measured(measure.start, measure.end, measure.told);
  const left = Math.max(-2, toPixel(told.start.time)), right = Math.min(width + 2, toPixel(told.end.time));
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

// This module measures the time and the number of revisions between two moments, and draws the result. The server counts
// the revisions in the whole source, not only in what is loaded.

import { apart, duration, words } from "../state/durations.js";
import { digitsFor, instant } from "../state/time.js";
import { zone } from "../state/zone.js";
import { scaleOf } from "./columns.js";
import { svg } from "./dom.js";
import { eventAt } from "./hits.js";

const NEAR = 6; // px within which an end takes the time of an event

/**
 * Returns an end of a measure, {time, within, track} as eventsOf has them: the event of the lane at y within NEAR px of x, or
 * else the time at x, without a track. Other lanes do not count, because it depends on the view which of them are loaded. A
 * time that is not that of a change is exact, so its `within` is [0, 0].
 */
export function snapped(scene, { x, y }) {
  const { toX } = scaleOf(scene);
  return eventAt(scene, x, y, NEAR) ?? { time: Math.round(scene.scale.from(toX(x))), within: [0, 0], track: null };
}

/** Returns {start, end, words} of the time between two ends, given in any order. `answer` is the server's answer about both, or null. */
export function measured(one, other, answer = null) {
  const [start, end] = one.time <= other.time ? [one, other] : [other, one];
  let [from, to] = [answer?.start?.resource_version, answer?.end?.resource_version];
  if (from && to && start.time === end.time && BigInt(from) > BigInt(to)) [from, to] = [to, from]; // two changes of one moment
  const took = apart(start, end);
  const length = took.least === took.most ? duration(took.least) : words(took);
  const revisions = !from || !to ? "" : from === to ? `RV ${to}` : `RV ${from} → ${to}, ${BigInt(to) - BigInt(from)} apart`;
  return { start, end, words: [length, revisions].filter(Boolean).join(" · ") };
}

/** Returns the measure as a sentence for screen readers, with both times. */
export function spoken(measurement) {
  const { start, end } = measurement;
  const digits = Math.max(3, digitsFor(end.time - start.time));
  return `${measurement.words}, from ${instant(start.time, start.within, digits)} to ${instant(end.time, end.within, digits)} ${zone().labelOf(start.time, end.time)}`;
}

/** Returns the band between both ends with its label, or only the line of the first end if there is no second one. */
export function drawMeasure({ measure, width, height, top }, toPixel) {
  if (measure === null) return [];
  const line = (x) => svg("line", { class: "measure-end", x1: x, x2: x, y1: 0, y2: height });
  if (measure.end === null) return [line(toPixel(measure.start.time))];
  const measurement = measured(measure.start, measure.end, measure.answer);
  const left = Math.max(-2, toPixel(measurement.start.time)), right = Math.min(width + 2, toPixel(measurement.end.time));
  if (right < 0 || left > width) return [];
  const label = svg("text", { y: 4 }, measurement.words);
  const length = measurement.words.length * 6.1 + 20;
  const x = Math.min(Math.max(4, (left + right - length) / 2), width - length - 4);
  label.setAttribute("x", length / 2);
  return [
    svg("rect", { class: "measure-band", x: left, y: 0, width: Math.max(1, right - left), height }), line(left), line(right),
    svg("g", { class: "measure-label", transform: `translate(${x} ${top + 22})` }, svg("rect", { y: -11, width: length, height: 22, rx: 11 }), label),
  ];
}

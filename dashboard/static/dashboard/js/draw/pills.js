// This module places the labels of arrows, and draws them.

import { ROW } from "../state/shapes.js";
import { arrowsOf } from "./arrows.js";
import { svg } from "./dom.js";
import { HEADING } from "./layout.js";

/** Returns where the label of each leading arrow is, [{x, y (px of its left and its middle), length, words, finding}]: beside the arrow's end, or its start if the end is not in view, on the line between two lanes, where it hides least. `widthOf(words)` → px. */
export function placedPills(scene, toPixel, widthOf) {
  const { centres, width, tops, top, bottom } = scene;
  // A heading would hide the label at the top of the lane below it, and at the bottom of the lane above it.
  const free = centres.flatMap((y) => (y === null ? [] : [y - ROW / 2, y + ROW / 2])).filter((y) => !tops.has(y) && !tops.has(y + HEADING));
  const placed = [];
  for (const { words, lead, from, to, start, end, finding } of arrowsOf(scene)) {
    if (!lead || (scene.upright && (start.leaves || end.leaves))) continue;
    const length = widthOf(words) + 22;
    const left = toPixel(from), right = toPixel(to);
    if (Math.max(left, right) < 0 || Math.min(left, right) > width) continue;
    const ends = [{ at: right, own: end.y, other: start.y }, { at: left, own: start.y, other: end.y }, { at: (left + right) / 2, own: (start.y + end.y) / 2, other: end.y }];
    const { at, own, other } = ends.find((each) => each.at >= 0 && each.at <= width && each.own >= top - HEADING && each.own <= bottom) ?? ends[2];
    const beside = own + (Math.sign(other - own) * ROW) / 2;
    const nearest = free.reduce((best, y) => (Math.abs(y - beside) < Math.abs(best - beside) ? y : best), Infinity);
    let y = Math.abs(nearest - beside) <= ROW ? nearest : own;
    let x = at + 11 + length < width ? at + 11 : at - 11 - length;
    x = Math.min(Math.max(x, 4), width - length - 4);
    while (placed.some((one) => Math.abs(one.y - y) < 22 && one.x < x + length && x < one.x + one.length)) y += 24;
    placed.push({ x, y, length, words, finding });
  }
  return placed;
}

/** Returns the shape of a label. */
export const pillShape = ({ x, y, length, words, finding }) => svg("g", { class: "pill-label", transform: `translate(${x} ${y})`, "data-finding": finding },
  svg("rect", { y: -10, width: length, height: 20, rx: 10 }), svg("text", { x: 11, y: 4 }, words));

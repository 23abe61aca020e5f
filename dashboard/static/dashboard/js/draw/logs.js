// This module draws the lines of logs: a row for each log, on which lines that are close together share a mark with their number.

import { plural } from "../state/amounts.js";
import { clock, linesOf } from "../state/time.js";
import { scaleOf } from "./columns.js";
import { svg } from "./dom.js";
import { LOG } from "./layout.js";

const CLOSE = 6; // px between two marks that become one
const NEAR = 4; // px within which a mark counts as being at a point
const DIGIT = 6.2; // px of a digit
const LEVELS = ["", "warning", "error"];
const GRAVE = { warning: 1, error: 2, fatal: 2 };

/** Returns the marks of a log in view: [{log, time, end (µs), left, right (px), count, level, text}], from left to right. */
function marksOf(scene, { log }) {
  const columns = scene.lines?.get(log.log);
  if (!columns) return [];
  const { toPixel } = scaleOf(scene);
  const found = [];
  columns.time.forEach((time, i) => {
    const x = toPixel(time);
    if (x < -20 || x > scene.width + 20) return;
    const last = found.at(-1);
    if (last && x - last.right < CLOSE) {
      [last.right, last.end] = [x, time];
      last.count += columns.count[i];
      last.level = Math.max(last.level, columns.level[i]);
    } else found.push({ log, time, end: time, left: x, right: x, count: columns.count[i], level: columns.level[i], text: columns.text[i] });
  });
  return found;
}

/** Returns the lines of a log that prove the selected finding, in view: [{log, time, end, sequence, level, text, x}]. */
function provingOf(scene, { log }) {
  const { toPixel } = scaleOf(scene);
  const own = (scene.proof ?? []).filter((line) => line.log === log.log);
  return own.map(({ time, sequence, level, text }) => ({ log, time, end: time, sequence, count: 1, level: GRAVE[level] ?? 0, text, x: toPixel(time) }))
    .filter(({ x }) => x > -NEAR && x < scene.width + NEAR);
}

/** Returns the rows of logs with their marks, as SVG. */
export function logShapes(scene) {
  const { toPixel } = scaleOf(scene);
  return (scene.logs ?? []).flatMap((row) => {
    const { log: { first, last }, y } = row;
    const from = Math.max(0, toPixel(first)), until = Math.min(scene.width, toPixel(last));
    const line = until > from ? [svg("line", { class: "log-extent", x1: from, x2: until, y1: y, y2: y })] : [];
    return [...line, ...marksOf(scene, row).flatMap(({ left, right, count, level }) => {
      const words = count > 1 ? String(count) : "";
      const width = Math.max(right - left + 4, 4);
      const style = `log-mark ${LEVELS[level]}`;
      const fits = words && width >= words.length * DIGIT + 6;
      return [svg("rect", { class: style, x: left - 2, y: y - (level ? 7 : 5), width, height: level ? 14 : 10, rx: 2 }),
        ...(fits ? [svg("text", { class: "log-count", x: (left + right) / 2, y: y + 4 }, words)] : [])];
    }), ...provingOf(scene, row).map(({ x }) => evidence(x, y, "line"))];
  });
}

/** Returns the sign of an event that proves the selected finding, as SVG. `style` is "line" for a line of a log, which stays visible inside it. */
export const evidence = (x, y, style = "") => svg("path", { class: `evidence ${style}`.trim(), d: `M${x.toFixed(1)} ${y - 9}l9 9l-9 9l-9 -9z` });

/** Returns the line or lines of a log that are drawn at a place (x, y) of the plot, as marksOf returns them, or null. A line that proves the selected finding has a `sequence`. */
export function linesAt(scene, x, y) {
  const row = (scene.logs ?? []).find((each) => Math.abs(each.y - y) <= LOG / 2);
  if (!row) return null;
  const proving = provingOf(scene, row).find((line) => Math.abs(line.x - x) <= 2 * NEAR);
  if (proving) return proving;
  const far = ({ left, right }) => Math.max(left - x, x - right, 0);
  return marksOf(scene, row).filter((mark) => far(mark) <= NEAR).sort((a, b) => far(a) - far(b))[0] ?? null;
}

/** Returns the lines of the tooltip of a mark. */
export function tipOf({ log, time, end, count, level, text, sequence }) {
  const worst = level ? `, with ${["", "a warning", "an error"][level]}` : "";
  const [first, ...others] = linesOf(time, (zone) => (time === end ? clock(time, 6, zone) : `${clock(time, 6, zone)} – ${clock(end, 6, zone)}`));
  return [`Log ${log.label}`, sequence === undefined ? "" : "proves the selected finding", count > 1 ? `${plural(count, "line")}${worst}` : ["", "warning", "error"][level], text, [`${first} · by the clock of the program`, ...others].join("\n")].filter(Boolean);
}

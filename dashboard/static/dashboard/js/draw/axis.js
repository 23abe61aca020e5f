// This module draws the axis below the lanes, with times or creation numbers, and the lines of its ticks. The axis is HTML, because
// it stays visible while the lanes scroll, and Plotly need not redraw it.

import { SECOND, clock, day, ticks as clockTicks } from "../state/time.js";
import { scaleOf } from "./columns.js";
import { byId, el, svg } from "./dom.js";

const CHARACTER = 6.7; // px of the axis's mono font
const APART = 24; // the least px between two creation numbers

/** Returns the ticks [{time (µs), text, full}] of a scene; for the axis "order" one for each creation number. */
export function ticksOf(scene, axis) {
  const { view, width, payload, centres } = scene;
  if (axis === "time") return clockTicks(view.start, view.end, width);
  const { toPixel } = scaleOf(scene);
  const { lane, time, number } = payload.births;
  const found = [];
  const order = lane.map((_, i) => i).filter((i) => (centres[lane[i]] !== null || lane[i] < payload.pins) && time[i] >= view.start && time[i] <= view.end);
  for (const i of order.sort((a, b) => time[a] - time[b])) {
    if (found.length && toPixel(time[i]) - toPixel(found.at(-1).time) < APART) continue;
    found.push({ time: time[i], text: String(number[i]), full: String(number[i]) });
  }
  return found;
}

/** Draws a line for each tick of a scene into the SVG element `host`. */
export function drawGrid(host, scene) {
  const { toPixel } = scaleOf(scene);
  host.setAttribute("width", scene.width);
  host.setAttribute("height", scene.height);
  host.replaceChildren(svg("path", { d: scene.ticks.map(({ time }) => `M${toPixel(time).toFixed(1)} 0V${scene.height}`).join("") }));
}

/** Draws the ticks of a scene, without texts that would overlap, and its flags. */
export function drawAxis(scene) {
  const { ticks, width } = scene;
  const { toPixel } = scaleOf(scene);
  const placed = [];
  const place = ({ time }, words) => {
    const half = (words.length * CHARACTER) / 2;
    const middle = toPixel(time);
    const free = middle >= half && middle + half <= width && placed.every((other) => Math.abs(other.middle - middle) >= half + other.half + 10);
    if (free) placed.push({ middle, half, words });
    return free;
  };
  placed.push(...scene.flags.flatMap((flag) => placedFlag(flag, scene, toPixel)));
  // The whole time is shown where a second begins, because ".500" means nothing without it, and else at the first tick.
  for (const tick of ticks) if (tick.text === tick.full) place(tick, tick.full);
  const others = ticks.filter((tick) => tick.text !== tick.full);
  others.some((tick) => place(tick, tick.full) || placed.length > 0);
  for (const tick of others) place(tick, tick.text);
  byId("axis").replaceChildren(el("div", { class: "axis-labels" },
    placed.map(({ middle, words, name }) => el("span", { class: name ?? null, style: `left:${middle.toFixed(1)}px` }, words))));
}

/**
 * Returns the text of a flag {name, time (µs)} as [{words, half (px), middle (px), name}]. The flag of an alert that is outside of
 * the view is at the end of the axis. That of a moment which was typed is its clock, and is in the view only.
 */
function placedFlag({ name, time }, { view, width }, toPixel) {
  const before = time < view.start, after = time > view.end;
  if (name === "moment" && (before || after)) return [];
  const at = day(time) === day(view.start) ? clock(time, name === "moment" && time % SECOND ? 3 : 0) : `${day(time)} ${clock(time, 0)}`;
  const words = name === "moment" ? at : before ? `◂ alert ${at}` : after ? `alert ${at} ▸` : "alert";
  const half = (words.length * CHARACTER) / 2 + 6;
  return [{ name, words, half, middle: Math.min(Math.max(toPixel(time), half), Math.max(half, width - half)) }];
}

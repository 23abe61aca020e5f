// This module draws the layer above the bars as SVG, in px: marks, texts, creation numbers, unknown ends, and the labels of arrows.
// The SVG patterns are in the template, once for all figures.

import { isOf } from "../state/actors.js";
import { kindOf } from "../state/window.js";
import { arrowsOf } from "./arrows.js";
import { HALF_BAR, PALE, cellTraceOf, inkOf, scaleOf, traceOf } from "./columns.js";
import { svg } from "./dom.js";
import { dotShapes } from "./dots.js";
import { evidence, logShapes } from "./logs.js";
import { markShapes } from "./marks.js";
import { drawMeasure } from "./measure.js";
import { pillShape, placedPills } from "./pills.js";
import { ROW } from "../state/shapes.js";
import { viewShapes } from "./views.js";

const EVIDENCE = 9; // px of half the sign of an event that proves the selected finding

const measure = document.createElement("canvas").getContext("2d");
const widths = new Map();
function widthOf(text, font) {
  const key = font + text;
  if (!widths.has(key)) {
    measure.font = font;
    widths.set(key, measure.measureText(text).width);
  }
  return widths.get(key);
}
const BAR_FONT = "500 11px Inter, system-ui, sans-serif", SMALL_FONT = "600 10px Inter, system-ui, sans-serif", PILL_FONT = "600 11px Inter, system-ui, sans-serif";
document.fonts?.ready.then(() => widths.clear());

/**
 * Returns for each lane the places [middle, half the width] (px) that texts must not cover. `among` is
 * the whole window, if the payload is only a part of it.
 */
function obstacles({ payload, rows, width, unshown = [], among = payload }, toPixel, births, pills) {
  const found = payload.lanes.map(() => []);
  among.marks.lane.forEach((lane, i) => {
    if (rows[lane] === null) return;
    const x = toPixel(among.marks.time[i]);
    if (x > -6 && x < width + 6) found[lane].push([x, 6]);
  });
  for (const { lane, time } of unshown) found[lane].push([toPixel(time), EVIDENCE]);
  for (const { lane, x, half } of births) found[lane].push([x, half]);
  for (const { x, y, length } of pills) rows.forEach((row, lane) => row !== null && Math.abs(row - y) < ROW / 2 && found[lane].push([x + length / 2, length / 2]));
  among.holes.lane.forEach((lane, i) => {
    const [left, right] = [among.holes.start[i], among.holes.end[i]].map(toPixel);
    found[lane].push([(left + right) / 2, (right - left) / 2]);
  });
  return found;
}

/** Returns the bars of a scene that have texts as [columns, index], with those of the whole window on the same lanes, by their beginnings. */
function barsWithTexts({ payload: { bars }, rows, among }) {
  const nameOf = (columns, i) => `${columns.track[i]} ${columns.start[i]}`;
  const all = bars.lane.map((_, i) => [bars, i]);
  if (among) {
    const lanes = new Set(bars.lane), own = new Set(bars.lane.map((_, i) => nameOf(bars, i)));
    among.bars.lane.forEach((lane, i) => lanes.has(lane) && !own.has(nameOf(among.bars, i)) && all.push([among.bars, i]));
  }
  return all.filter(([{ lane, text }, i]) => text[i] && rows[lane[i]] !== null).sort(([one, i], [other, j]) => one.start[i] - other.start[j] || one.track[i] - other.track[j]);
}

/**
 * Returns the texts of the bars, from left to right, each where neither an obstacle nor the text of another bar is. Bars of a
 * lane may overlap, and those of a moving edge are a layer of their own: so all bars take part, and those of the scene are written.
 */
function barText(scene, toPixel, taken) {
  const { payload, rows, width, inks } = scene;
  const words = [];
  for (const [bars, i] of barsWithTexts(scene)) {
    const lane = bars.lane[i], text = bars.text[i];
    const left = Math.max(toPixel(bars.start[i]), 0), right = Math.min(toPixel(bars.end[i]), width);
    if (right - left < 24) continue;
    const length = widthOf(text, BAR_FONT);
    let x = left + 8;
    const covered = ([middle, half]) => middle + half > x - 4 && middle - half < x + length + 4;
    for (let other = taken[lane].find(covered); other && x + length <= right - 4; other = taken[lane].find(covered)) x = other[0] + other[1] + 6;
    if (x + length > right - 4) continue;
    taken[lane].push([x + length / 2, length / 2]);
    if (bars === payload.bars) words.push(svg("text", { x, y: rows[lane] + 4, class: bars.tone[i] === "ended" ? "on-hatch" : null, style: `fill:${inks[traceOf(scene, i)]}` }, text));
  }
  return words;
}

function unknownEnds({ payload, rows, width, now }, toPixel) {
  const { lane, start, end, open_start, open_end } = payload.bars;
  const shapes = [];
  for (let i = 0; i < lane.length; i++) {
    const y = rows[lane[i]];
    if (y === null || !(open_start[i] || open_end[i])) continue;
    const left = toPixel(start[i]), right = toPixel(end[i]);
    if (open_start[i] && left > 0 && left < width + 14) shapes.push(svg("rect", { x: left - 14, y: y - HALF_BAR, width: 14, height: 2 * HALF_BAR, fill: "url(#unknown)" }));
    if (open_end[i] && right > 0 && right < width + 40) {
      const fade = Math.min(now === undefined ? 40 : 14, right - left); // a moving edge shows the newest changes
      shapes.push(svg("rect", { x: right - fade, y: y - HALF_BAR - 1, width: fade + 1, height: 2 * HALF_BAR + 2, fill: "url(#alive)" }));
    }
  }
  return shapes;
}

/** Returns the intervals in which a kind was not observed, on each of its lanes, and those that were deleted, on all lanes. */
function unseen({ payload, rows, width }, toPixel) {
  const shapes = [];
  payload.gaps.kind.forEach((kind, i) => {
    const left = Math.max(toPixel(payload.gaps.start[i]), -1), right = Math.min(toPixel(payload.gaps.end[i]), width + 1);
    if (right < 0 || left > width) return;
    payload.lanes.forEach((lane, row) => {
      if (rows[row] === null || (kind && kindOf(lane) !== kind)) return;
      shapes.push(svg("rect", { class: "gap", fill: "url(#unknown)", x: left, y: rows[row] - ROW / 2 + 2, width: Math.max(right - left, 3), height: ROW - 4 }));
    });
  });
  return shapes;
}

/** Returns the line at the end of the observation of a live source. */
function edgeLine({ now, height, width }, toPixel) {
  const x = now === undefined ? -1 : toPixel(now);
  return x < 0 || x > width ? [] : [svg("line", { class: "now", x1: x, x2: x, y1: 0, y2: height })];
}

/** Returns the lines at the flags: the time of the alert whose link was followed, and the one that was typed. */
function flagLines({ flags, height, width }, toPixel) {
  return flags.flatMap(({ name, time }) => {
    const x = toPixel(time);
    return x < 0 || x > width ? [] : [svg("line", { class: name, x1: x, x2: x, y1: 0, y2: height })];
  });
}

/** Returns the ranges of time in which holes and leading arrows may begin or end, each drawn once. */
function unsureEnds(scene, toPixel) {
  const { lane, start, begun, over, end } = scene.payload.holes;
  const ends = lane.flatMap((row, i) => [[scene.rows[row], start[i], begun[i]], [scene.rows[row], over[i], end[i]]]);
  for (const { lead, soft } of arrowsOf(scene)) if (lead) ends.push(...soft);
  const found = new Map();
  for (const [y, from, until] of ends) {
    const left = Math.max(toPixel(from), -1), right = Math.min(toPixel(until), scene.width + 1);
    if (y !== null && right - left > 3) found.set(`${y} ${from} ${until}`, { y, left, right });
  }
  return [...found.values()].map(({ y, left, right }) => svg("rect", { class: "unsure", fill: "url(#unsure)", x: left, y: y - HALF_BAR, width: right - left, height: 2 * HALF_BAR }));
}

/** Returns the texts that say how many members of a strip exist, for each cell that has space for it. */
function cellText({ payload, rows, width, inks }, toPixel) {
  const { lane, start, end, count } = payload.strips;
  return lane.flatMap((row, i) => {
    const left = Math.max(toPixel(start[i]), 0), right = Math.min(toPixel(end[i]), width);
    const words = String(count[i]);
    if (rows[row] === null || !count[i] || right - left < widthOf(words, BAR_FONT) + 10) return [];
    return [svg("text", { x: (left + right) / 2, y: rows[row] + 4, class: "cell", style: `fill:${inks[cellTraceOf(payload, i)]}` }, words)];
  });
}

/** Returns the shapes that mark the selected lane, and the event that was stepped to. */
function hand({ payload, centres, width, height, cursor, lane }, toPixel) {
  const row = payload.lanes.findIndex(({ key }) => key === lane);
  const y = centres[row] ?? null;
  const shapes = y === null ? [] : [svg("rect", { class: "lane-hand", x: 0, y: y - ROW / 2, width, height: ROW })];
  if (cursor === null) return shapes;
  const x = toPixel(cursor.time);
  if (x < 0 || x > width) return shapes;
  shapes.push(svg("line", { class: "cursor", x1: x, x2: x, y1: 0, y2: height }));
  return y === null ? shapes : [...shapes, svg("circle", { class: "cursor", cx: x, cy: y, r: 13 })];
}

/** Returns the signs of events that prove the selected finding and that no mark shows. */
const evidenceShapes = ({ unshown = [], rows, width }, toPixel) => unshown.map(({ lane, time }) => [toPixel(time), rows[lane]])
  .flatMap(([x, y]) => (y === null || x < -EVIDENCE || x > width + EVIDENCE ? [] : [evidence(x, y)]));

function visibleBirths(scene, toPixel) {
  const { payload, rows, width, numbered } = scene;
  const last = new Map();
  const found = [];
  payload.births.lane.forEach((lane, i) => {
    const x = toPixel(payload.births.time[i]);
    const number = numbered[lane] ? String(payload.births.number[i]) : ""; // numbers are only meaningful within a group
    const half = !number ? 5 : number.length < 3 ? 9.5 : 5 + number.length * 3.2;
    if (rows[lane] === null || x < -half || x > width + half || x - (last.get(lane) ?? -99) < 2 * half) return;
    last.set(lane, x);
    found.push({ lane, x, half, number, y: rows[lane], ink: inkOf(scene, payload.births.actor[i]), pale: !isOf(payload, payload.births.actor[i], scene.actor) });
  });
  return found;
}

/** Returns the circles of creations, as one element of all that look the same, and their numbers. */
function birthShapes(births) {
  const alike = new Map(); // style → data of the path
  for (const { x, y, half, ink, pale } of births) {
    const style = `${ink ? `stroke:${ink};stroke-width:2.5;` : ""}${pale ? `stroke-opacity:${PALE}` : ""}`;
    const r = Math.min(half, 9.5), straight = 2 * (half - r);
    const circle = `M${(x - half + r).toFixed(1)} ${y - r}h${straight}a${r} ${r} 0 0 1 0 ${2 * r}h${-straight}a${r} ${r} 0 0 1 0 ${-2 * r}z`;
    alike.set(style, (alike.get(style) ?? "") + circle);
  }
  return [
    ...[...alike].map(([style, d]) => svg("path", { class: "births", style: style || null, d })),
    ...births.filter(({ number }) => number).map(({ x, y, number }) => svg("text", { class: "birth", x: x.toFixed(1), y: y + 3.6, "data-number": number }, number)),
  ];
}

/** Returns the texts of holes. Findings may tell several of one hole, or of holes that overlap: the first one is written. */
function holeText({ payload, rows, width }, toPixel) {
  const { lane, start, end, text } = payload.holes;
  const written = payload.lanes.map(() => []); // lane → [left, right] of its texts
  return lane.flatMap((row, i) => {
    const left = Math.max(toPixel(start[i]), 0), right = Math.min(toPixel(end[i]), width);
    const room = right - left - 16; // the mark of the deletion covers the beginning, and the circle of the next creation the end
    const fitting = [text[i], text[i].split(" · ").at(-1)].find((words) => widthOf(words, SMALL_FONT) < room);
    const from = left + 8, until = from + widthOf(fitting ?? "", SMALL_FONT);
    if (rows[row] === null || !fitting || written[row].some(([other, end]) => from < end + 4 && until > other - 4)) return [];
    written[row].push([from, until]);
    return [svg("text", { x: from, y: rows[row] + 3.5, class: "hole-text" }, fitting)];
  });
}

/** Draws the layer of a scene into the SVG element `host`. */
export function drawOverlay(host, scene) {
  const { toPixel } = scaleOf(scene);
  const births = visibleBirths(scene, toPixel);
  const inTheWay = scene.among ? visibleBirths({ ...scene, payload: scene.among }, toPixel) : births;
  const pills = placedPills(scene, toPixel, (words) => widthOf(words, PILL_FONT));
  host.setAttribute("width", scene.width);
  host.setAttribute("height", scene.height);
  host.replaceChildren(
    ...markShapes(scene, toPixel),
    ...hand(scene, toPixel),
    ...unknownEnds(scene, toPixel),
    ...unseen(scene, toPixel),
    ...unsureEnds(scene, toPixel),
    ...edgeLine(scene, toPixel),
    ...flagLines(scene, toPixel),
    ...viewShapes(scene, toPixel, (words) => widthOf(words, BAR_FONT), pills),
    ...logShapes(scene),
    ...cellText(scene, toPixel),
    ...barText(scene, toPixel, obstacles(scene, toPixel, inTheWay, pills)),
    ...holeText(scene, toPixel),
    ...birthShapes(births),
    ...dotShapes(scene, toPixel),
    ...evidenceShapes(scene, toPixel),
    ...pills.map(pillShape),
    ...drawMeasure(scene, toPixel),
  );
}

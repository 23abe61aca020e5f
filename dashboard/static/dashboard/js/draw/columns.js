// This module turns a window's columns into the data of Plotly's traces. It uses neither the DOM nor Plotly.
//
// A scene: {payload, view {start, end}, scale (of scale.js), width (px),
//   centres: y of each lane (px), null if it is in the other figure,
//   rows: the same, null also if it is too far away to be drawn,
//   anchors: y of the edge at which an arrow to a lane of the other figure ends, or null,
//   beside: y at which an arrow from this lane ends if its other lane is not shown, or null,
//   hue: function from an actor to the family whose colour it has, or null if colours are those of kinds,
//   fills: colours by the names of traces,
//   actor: the actor whose changes alone are not pale, or "" for everybody,
//   home: function from the key of a finding to the y of the heading of its group, or null,
//   chosen, related: keys of the selected and pinned findings, and of those whose arrows explain them}
// x and y are px from the left and the top of the view. Boxes are made at the scale of the view, so that corners are round and
// the shortest phase is two pixels wide.

import { SEVERAL, isOf } from "../state/actors.js";
import { arrowsOf } from "./arrows.js";
import { BAR } from "../state/shapes.js";

export const HALF_BAR = BAR / 2;
export const PALE = 0.3; // opacity of marks by others than the actor of the filter
const CORNER = 3, LEAST = 2, HEAD = 16; // px: radius of corners, least width of a bar, height of an arrow's head

/** Returns the scale of a scene: {left, right (x of the ends of the view), toPixel(time) → px, toX(px) → x}. */
export const scaleOf = ({ view, scale, width }) => {
  const left = scale.to(view.start), right = scale.to(view.end);
  const perPixel = (right - left) / width || 1;
  return { left, right, toPixel: (time) => (scale.to(time) - left) / perPixel, toX: (pixel) => left + pixel * perPixel };
};

/** Returns the name of the trace that draws bar `i` of a scene. */
export function traceOf({ payload, hue, actor }, i) {
  const { lanes, bars, actors } = payload;
  if (bars.tone[i] === "ended") return "bars ended";
  if (lanes[bars.lane[i]].quiet && !hue && !actor) return "bars quiet";
  const colour = hue ? hue(actors[bars.actor[i]] ?? "") : lanes[bars.lane[i]].family;
  return `bars ${colour} ${isOf(payload, bars.actor[i], actor) ? bars.tone[i] : "muted"}`;
}

/** Returns the colour for changes by one actor, given by its index in the window. Returns undefined unless changes are coloured by actor. */
export const inkOf = ({ payload, hue, fills }, index) => (!hue ? undefined : index === SEVERAL ? "var(--mark)" : fills[`bars ${hue(payload.actors[index] ?? "")} strong`]);

/** Returns the name of the trace that draws cell `i` of a strip. The more members exist, the stronger is its colour. */
export function cellTraceOf({ lanes, strips }, i) {
  const { family, members } = lanes[strips.lane[i]];
  const share = strips.count[i] / members;
  return `bars ${family} ${share > 0.66 ? "strong" : share > 0.33 ? "pale" : "muted"}`;
}

/** A map of the name of a trace → its data, with null between boxes and between lines. */
class Traces extends Map {
  /** Adds a line through points [x, y] to a trace. */
  line(name, points) {
    if (!this.has(name)) this.set(name, { x: [], y: [] });
    const { x, y } = this.get(name);
    if (x.length) {
      x.push(null);
      y.push(null);
    }
    for (const point of points) {
      x.push(point[0]);
      y.push(point[1]);
    }
  }

  /** Adds a polygon with these corners to an area, or its outline to lines. */
  polygon(name, corners) {
    this.line(name, corners);
    const { x, y } = this.get(name);
    x.push(corners[0][0]);
    y.push(corners[0][1]);
  }
}

/** Returns the corners of a box, which is round if it is wide enough. All lengths are in px. */
function box(left, right, top, bottom, corner) {
  const c = Math.min(corner, (right - left) / 2);
  const k = c * 0.3; // distance of the middle of a quarter circle from the corner
  if (c <= 1) return [[left, top], [right, top], [right, bottom], [left, bottom]]; // such as those of the least width: there may be thousands of them
  return [
    [left + c, top], [right - c, top], [right - k, top + k], [right, top + c],
    [right, bottom - c], [right - k, bottom - k], [right - c, bottom],
    [left + c, bottom], [left + k, bottom - k], [left, bottom - c],
    [left, top + c], [left + k, top + k],
  ];
}

/** Returns the times in which subjects were exposed to chosen findings, as boxes [{start, end, top, bottom}], one for neighbouring lanes with the same times. */
export function exposures({ payload, centres, chosen }) {
  const { lane, start, end, finding } = payload.shades;
  const boxes = [];
  const order = lane.map((_, i) => i).filter((i) => chosen.has(finding[i]) && centres[lane[i]] !== null);
  for (const i of order.sort((a, b) => centres[lane[a]] - centres[lane[b]])) {
    const last = boxes.findLast((other) => other.start === start[i] && other.end === end[i]);
    if (last && centres[lane[i]] - last.bottom < 40) last.bottom = centres[lane[i]];
    else boxes.push({ start: start[i], end: end[i], top: centres[lane[i]], bottom: centres[lane[i]] });
  }
  return boxes;
}

const DOT = Array.from({ length: 16 }, (_, i) => [4 * Math.cos((i * Math.PI) / 8), 4 * Math.sin((i * Math.PI) / 8)]);

const isPointed = (end) => !end.dot && !end.leaves;

/** Returns points [x, y] of the curve of an arrow (see arrows.js), which ends inside of its head. */
export function curveOf({ from, to, start, end }, toPixel) {
  const x0 = toPixel(from), x1 = toPixel(to), y0 = start.y;
  const way = Math.sign(end.y - y0) || 1;
  const last = isPointed(end) ? end.y - way * (HALF_BAR + 2 + HEAD / 2) : end.y; // the tip of the head touches the circle of the later event
  const middle = (y0 + last) / 2;
  return Array.from({ length: 25 }, (_, i) => {
    const t = i / 24, u = 1 - t;
    return [x0 * (u * u * u + 3 * u * u * t) + x1 * (3 * u * t * t + t * t * t), y0 * u * u * u + 3 * middle * u * t + last * t * t * t];
  });
}

/** Adds the curve of an arrow to a trace, and its head to another. */
function addArrow(traces, arrow, toPixel) {
  const points = curveOf(arrow, toPixel);
  traces.line(arrow.lead ? "arrows" : "arrows beside", points);
  if (!isPointed(arrow.end)) return;
  const [[xb, yb], [x, y]] = points.slice(-2), far = Math.hypot(x - xb, y - yb) || 1, [dx, dy] = [(x - xb) / far, (y - yb) / far];
  const at = (along, across) => [x + (along * dx - across * dy) * HEAD, y + (along * dy + across * dx) * HEAD];
  traces.polygon("arrow heads", [at(0.5, 0), at(-0.25, 0.577), at(-0.25, -0.577)]);
}

function addArrows(traces, scene, toPixel) {
  for (const one of arrowsOf(scene)) {
    addArrow(traces, one, toPixel);
    for (const [time, end] of [[one.from, one.start], [one.to, one.end]]) {
      if (end.dot) traces.polygon("ends out of sight", DOT.map(([x, y]) => [toPixel(time) + x, end.y + y]));
    }
  }
}

/** Returns the data of all traces of a scene, by the name of the trace. */
export function columns(scene) {
  const { payload, rows, width } = scene;
  const { toPixel } = scaleOf(scene);
  const traces = new Traces();
  const room = 40; // px beyond the edges, so that rounded corners are outside
  const span = (start, end) => {
    const from = toPixel(start);
    const left = Math.max(from, -room);
    const right = Math.min(Math.max(toPixel(end), from + LEAST), width + room);
    return right > left && right > -room && left < width + room ? [left, right] : null;
  };
  const addBoxes = ({ lane, start, end }, nameOf, corner, outlines) => {
    for (let i = 0; i < lane.length; i++) {
      const y = rows[lane[i]];
      const across = y === null ? null : span(start[i], end[i]);
      if (!across) continue;
      const points = box(...across, y - HALF_BAR, y + HALF_BAR, corner);
      traces.polygon(nameOf(i), points);
      if (outlines) traces.polygon(outlines, points);
    }
  };

  addBoxes(payload.strips, (i) => cellTraceOf(payload, i), 0);
  addBoxes(payload.bars, (i) => traceOf(scene, i), CORNER);
  addBoxes(payload.holes, () => "hole area", CORNER, "hole outlines");
  for (const { start, end, top, bottom } of exposures(scene)) {
    const across = span(start, end);
    if (!across) continue;
    const points = box(...across, top - HALF_BAR - 4, bottom + HALF_BAR + 4, 0);
    traces.polygon("shade area", points);
    traces.polygon("shade outlines", points);
  }
  addArrows(traces, scene, toPixel);
  return traces;
}

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
// x comes from the scale, and y is in px. Boxes are made at the scale of the view, so that corners are round and the
// shortest phase is two pixels wide.

import { SEVERAL, isOf } from "../state/actors.js";
import { arrowsOf } from "./arrows.js";

export const HALF_BAR = 9;
export const PALE = 0.3; // opacity of marks by others than the actor of the filter
const CORNER = 3, LEAST = 2, HEAD = 16; // px: radius of corners, least width of a bar, size of an arrow's head

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

/**
 * A map of the name of a trace → its data. The boxes of an area are one polygon: the line goes from box to box, and at the end the same way
 * back, so that nothing between them is filled. Of separate polygons, Plotly makes an element of each, which takes most of its time.
 */
class Traces extends Map {
  #corners = new Map(); // name of an area → the first corner of each box

  column(name) {
    if (!this.has(name)) this.set(name, { x: [], y: [] });
    return this.get(name);
  }

  /** Adds a polygon, with points [x, y], to an area. */
  fill(name, points) {
    this.column(name);
    if (!this.#corners.has(name)) this.#corners.set(name, []);
    this.#corners.get(name).push(points[0]);
    this.#draw(name, points);
  }

  /** Adds the outline of a polygon to lines. */
  outline(name, points) {
    const { x, y } = this.column(name);
    if (x.length) {
      x.push(null);
      y.push(null);
    }
    this.#draw(name, points);
  }

  #draw(name, points) {
    const { x, y } = this.get(name);
    for (const point of points) {
      x.push(point[0]);
      y.push(point[1]);
    }
    x.push(points[0][0]);
    y.push(points[0][1]);
  }

  /** Completes all areas, and returns the map. */
  closed() {
    for (const [name, corners] of this.#corners) {
      const { x, y } = this.get(name);
      for (const corner of corners.slice(0, -1).reverse()) {
        x.push(corner[0]);
        y.push(corner[1]);
      }
    }
    return this;
  }
}

/** Returns the corners of a box, which is round if it is wide enough. All lengths are in px; the x of the corners comes from the scale. */
function box(toX, left, right, top, bottom, corner) {
  const c = Math.min(corner, (right - left) / 2);
  const k = c * 0.3; // distance of the middle of a quarter circle from the corner
  const from = toX(left), to = toX(right);
  if (c <= 1) return [[from, top], [to, top], [to, bottom], [from, bottom]]; // such as those of the least width, of which there may be thousands
  const inFrom = toX(left + c), inTo = toX(right - c), nearFrom = toX(left + k), nearTo = toX(right - k);
  return [
    [inFrom, top], [inTo, top], [nearTo, top + k], [to, top + c],
    [to, bottom - c], [nearTo, bottom - k], [inTo, bottom],
    [inFrom, bottom], [nearFrom, bottom - k], [from, bottom - c],
    [from, top + c], [nearFrom, top + k],
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

/** Adds the curve of an arrow to the data of a trace. */
function curve(column, { from, to, start, end }, { toPixel, toX }) {
  const x0 = toPixel(from), x1 = toPixel(to), y0 = start.y;
  const way = Math.sign(end.y - y0) || 1;
  const tip = end.dot || end.leaves ? end.y : end.y - way * (HALF_BAR + 2 + HEAD / 2); // the tip of the arrow touches the circle of the later event
  const middle = (y0 + tip) / 2;
  const size = column.marker.size;
  if (column.x.length) {
    column.x.push(null);
    column.y.push(null);
    size.push(0);
  }
  for (let i = 0; i <= 24; i++) {
    const t = i / 24, u = 1 - t;
    column.x.push(toX(x0 * (u * u * u + 3 * u * u * t) + x1 * (3 * u * t * t + t * t * t)));
    column.y.push(y0 * u * u * u + 3 * middle * u * t + tip * t * t * t);
    size.push(i === 24 && !end.dot && !end.leaves ? HEAD : 0);
  }
}

function addArrows(traces, scene, scale) {
  for (const one of arrowsOf(scene)) {
    const column = traces.column(one.lead ? "arrows" : "arrows beside");
    column.marker ??= { size: [] };
    curve(column, one, scale);
    for (const [time, end] of [[one.from, one.start], [one.to, one.end]]) {
      if (!end.dot) continue;
      const dots = traces.column("ends out of sight");
      dots.x.push(scale.toX(scale.toPixel(time)));
      dots.y.push(end.y);
    }
  }
}

/** Returns the data of all traces of a scene, by the name of the trace. */
export function columns(scene) {
  const { payload, rows, width } = scene;
  const scale = scaleOf(scene);
  const { toPixel, toX } = scale;
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
      const points = box(toX, ...across, y - HALF_BAR, y + HALF_BAR, corner);
      traces.fill(nameOf(i), points);
      if (outlines) traces.outline(outlines, points);
    }
  };

  addBoxes(payload.strips, (i) => cellTraceOf(payload, i), 0);
  addBoxes(payload.bars, (i) => traceOf(scene, i), CORNER);
  addBoxes(payload.holes, () => "hole area", CORNER, "hole outlines");
  for (const { start, end, top, bottom } of exposures(scene)) {
    const across = span(start, end);
    if (!across) continue;
    const points = box(toX, ...across, top - HALF_BAR - 4, bottom + HALF_BAR + 4, 0);
    traces.fill("shade area", points);
    traces.outline("shade outlines", points);
  }
  addArrows(traces, scene, scale);
  return traces.closed();
}

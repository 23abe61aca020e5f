// A window's columns into the traces of the figure's skeleton. Pure: no DOM, no Plotly.
//
// A scene: {payload, view {start, end}, width (px), centres (y of each lane, px, null when hidden), headings (y of the
// heading of each lane and whether it is open), selected, related}
// x is µs since payload.start, y is px. Boxes are built at the scale of the view, so that corners stay round and the
// shortest phase still has two pixels.

export const HALF_BAR = 9;
const CORNER = 3, LEAST = 2, HEAD = 16, DOT = 4;

export const scaleOf = ({ payload, view, width }) => {
  const perPixel = (view.end - view.start) / width;
  return {
    perPixel,
    toPixel: (time) => (time - view.start) / perPixel,
    toX: (pixel) => view.start - payload.start + pixel * perPixel,
  };
};

/** The name of the trace that draws bar `i`. */
export const traceOf = ({ lanes, bars }, i) => (bars.tone[i] === "ended" ? "bars ended" : `bars ${lanes[bars.lane[i]].family} ${bars.tone[i]}`);

class Traces extends Map {
  column(name) {
    if (!this.has(name)) this.set(name, { x: [], y: [] });
    return this.get(name);
  }
}

function box(column, toX, left, right, top, bottom, corner) {
  const c = Math.min(corner, (right - left) / 2);
  const k = c * 0.3; // where a quarter circle's middle lies, from the corner
  const points = c < 1
    ? [[left, top], [right, top], [right, bottom], [left, bottom]]
    : [
        [left + c, top], [right - c, top], [right - k, top + k], [right, top + c],
        [right, bottom - c], [right - k, bottom - k], [right - c, bottom],
        [left + c, bottom], [left + k, bottom - k], [left, bottom - c],
        [left, top + c], [left + k, top + k],
      ];
  if (column.x.length) {
    column.x.push(null);
    column.y.push(null);
  }
  for (const [x, y] of [...points, points[0]]) {
    column.x.push(toX(x));
    column.y.push(y);
  }
}

/** Neighbouring lanes exposed for the same time are one box. */
export function exposures({ payload, centres, selected }) {
  const { lane, start, end, finding } = payload.shades;
  const boxes = [];
  const order = lane.map((_, i) => i).filter((i) => finding[i] === selected && centres[lane[i]] !== null);
  for (const i of order.sort((a, b) => centres[lane[a]] - centres[lane[b]])) {
    const last = boxes.at(-1);
    if (last && last.start === start[i] && last.end === end[i] && centres[lane[i]] - last.bottom < 40) last.bottom = centres[lane[i]];
    else boxes.push({ start: start[i], end: end[i], top: centres[lane[i]], bottom: centres[lane[i]] });
  }
  return boxes;
}

/** Where an arrow ends: on its lane, else as a dot at the nearest heading above it. `other` is the lane of its other end. */
function endOf(lane, other, { centres, headings }) {
  const y = centres[lane] ?? null;
  if (y !== null) return { y, dot: false };
  const heading = headings[lane] ?? headings[other]; // a lane that is not loaded belongs to the group of the other end
  if (!heading) return null;
  return { y: heading.open ? heading.bottom + DOT : heading.middle, dot: true }; // an open heading may lie over the lanes
}

/** The arrows to draw. `lead`: those of the selected finding; where it has none, all that explain it. */
export function arrowsOf(scene) {
  const { from_lane, from_time, to_lane, to_time, text, finding } = scene.payload.arrows;
  const drawn = text.flatMap((words, i) => {
    if (!scene.related.has(finding[i]) || (from_lane[i] < 0 && to_lane[i] < 0)) return [];
    const start = endOf(from_lane[i], to_lane[i], scene), end = endOf(to_lane[i], from_lane[i], scene);
    return start && end ? [{ words, finding: finding[i], from: from_time[i], to: to_time[i], start, end }] : [];
  });
  const own = drawn.some((one) => one.finding === scene.selected);
  return drawn.map((one) => ({ ...one, lead: !own || one.finding === scene.selected })).sort((a, b) => b.lead - a.lead).slice(0, 100);
}

function arrow(column, { from, to, start, end }, { toPixel, toX }) {
  const x0 = toPixel(from), x1 = toPixel(to), y0 = start.y;
  const way = Math.sign(end.y - y0) || 1;
  const tip = end.dot ? end.y : end.y - way * (HALF_BAR + 2 + HEAD / 2); // the head's tip touches the circle of the later event
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
    size.push(i === 24 && !end.dot ? HEAD : 0);
  }
}

/** Map of trace name → what to put into it. */
export function columns(scene) {
  const { payload, centres, width } = scene;
  const scale = scaleOf(scene);
  const { toPixel, toX } = scale;
  const traces = new Traces();
  const room = 40; // px past the edges, so that rounded corners lie outside
  const span = (start, end) => {
    const left = Math.max(toPixel(start), -room);
    const right = Math.min(Math.max(toPixel(end), toPixel(start) + LEAST), width + room);
    return right > left && right > -room && left < width + room ? [left, right] : null;
  };

  const { lane, start, end } = payload.bars;
  for (let i = 0; i < lane.length; i++) {
    const y = centres[lane[i]];
    const across = y === null ? null : span(start[i], end[i]);
    if (!across) continue;
    box(traces.column(traceOf(payload, i)), toX, ...across, y - HALF_BAR, y + HALF_BAR, CORNER);
  }

  for (let i = 0; i < payload.marks.lane.length; i++) {
    const y = centres[payload.marks.lane[i]];
    const x = toPixel(payload.marks.time[i]);
    if (y === null || x < -10 || x > width + 10) continue;
    const column = traces.column(`marks ${payload.marks.mark[i]}`);
    column.x.push(toX(x));
    column.y.push(y);
  }

  for (let i = 0; i < payload.holes.lane.length; i++) {
    const y = centres[payload.holes.lane[i]];
    const across = y === null ? null : span(payload.holes.start[i], payload.holes.end[i]);
    if (!across) continue;
    for (const name of ["hole area", "hole outlines"]) box(traces.column(name), toX, ...across, y - HALF_BAR, y + HALF_BAR, CORNER);
  }

  for (const { start, end, top, bottom } of exposures(scene)) {
    const across = span(start, end);
    if (!across) continue;
    for (const name of ["shade area", "shade outlines"]) box(traces.column(name), toX, ...across, top - HALF_BAR - 4, bottom + HALF_BAR + 4, 0);
  }

  for (const one of arrowsOf(scene)) {
    const column = traces.column(one.lead ? "arrows" : "arrows beside");
    column.marker ??= { size: [] };
    arrow(column, one, scale);
    for (const [time, end] of [[one.from, one.start], [one.to, one.end]]) {
      if (!end.dot) continue;
      const dots = traces.column("ends out of sight");
      dots.x.push(toX(toPixel(time)));
      dots.y.push(end.y);
    }
  }
  return traces;
}

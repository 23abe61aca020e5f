// This module draws below a lane on which copies of its object an actor acted, beside what was committed, and what the
// watch of the actor's process had surely shown (payloads/views.py). A copy is never drawn as if it were the watch.

import { arrowsOf } from "./arrows.js";
import { curveOf, scaleOf } from "./columns.js";
import { svg } from "./dom.js";
import { VIEW } from "./layout.js";

const TOP = 7, BOTTOM = 9; // px above the newest revision and below the oldest
const NEAR = 8; // px within which an act counts as being at a point

const newer = (a, b) => (a.length === b.length ? a > b : a.length > b.length); // revisions are texts of digits

/** Returns what places the revisions of a view whose box begins at y: a function from a revision to px. */
function placing({ commits, uses, seen }, y) {
  const revisions = commits.map((each) => each.resource_version);
  const shown = seen.flatMap(({ least }) => (least ? revisions.filter((each) => !newer(each, least)).slice(-1) : []));
  const levels = [...new Set([...revisions, ...uses.map((each) => each.resource_version), ...shown])].sort((a, b) => (a === b ? 0 : newer(a, b) ? 1 : -1));
  const step = (VIEW - TOP - BOTTOM) / Math.max(1, levels.length - 1);
  return (revision) => {
    const level = levels.findLastIndex((each) => !newer(each, revision));
    return level < 0 ? y + VIEW - 3 : y + VIEW - BOTTOM - level * step;
  };
}

/** Returns the line of what was committed, to the end of what is drawn. */
function committed({ commits }, at, toPixel, width) {
  if (!commits.length) return [];
  const path = commits.map((each, i) => (i ? `H${toPixel(each.time)}V${at(each.resource_version)}` : `M${toPixel(each.time)} ${at(each.resource_version)}`));
  return [svg("path", { class: "view-committed", d: `${path.join("")}H${width + 1}` })];
}

/** Returns the area of what the watch had surely shown. */
function surely({ seen }, at, toPixel, width, floor) {
  return seen.flatMap(({ start, end, least }) => {
    const left = Math.max(toPixel(start), -1), right = Math.min(toPixel(end), width + 1);
    if (least === null || right <= left) return [];
    const y = at(least);
    return [svg("rect", { class: "view-seen", x: left, y, width: right - left, height: floor - y }), svg("path", { class: "view-seen-line", d: `M${left} ${y}H${right}` })];
  });
}

/** `curves` are the points of all arrows (see curveOf). Returns a function from a height (px, top and bottom) to the ranges [left, right] (px) in which texts would be crossed there: by arrows, their labels, and the lines from acts. */
function crossings({ uses }, curves, toPixel, pills) {
  return (top, bottom) => [
    ...curves.flatMap((points) => points.slice(1).flatMap(([x, y], i) => {
      const [before, above] = points[i];
      return Math.max(y, above) < top || Math.min(y, above) > bottom ? [] : [[Math.min(x, before), Math.max(x, before)]];
    })),
    ...pills.flatMap(({ x, y, length }) => (y + 10 < top || y - 10 > bottom ? [] : [[x, x + length]])),
    ...uses.filter(({ unseen }) => unseen).map(({ time }) => [toPixel(time), toPixel(time)]),
  ];
}

/** Returns for each old copy the time from the change that it lacked to the last act on it. */
function lags({ uses }, at, toPixel, width, widthOf, crossed) {
  const last = [...new Map(uses.filter(({ unseen }) => unseen).map((use) => [use.resource_version, use])).values()];
  const oldest = last.toSorted((a, b) => b.least - a.least)[0]; // only its length is written, since texts would cover each other
  return last.flatMap((use) => {
    const left = Math.max(toPixel(use.unseen_at), -1), right = Math.min(toPixel(use.time), width + 1);
    if (right <= left) return [];
    const top = at(use.unseen), words = `copy ${use.lag} old`;
    const box = svg("rect", { class: "view-lag", x: left, y: top, width: right - left, height: Math.max(2, at(use.resource_version) - top) });
    if (use !== oldest) return [box];
    const length = widthOf(words), taken = crossed(top, top + 16).sort(([one], [other]) => one - other);
    const x = taken.reduce((free, [from, until]) => (from < free + length + 4 && until > free - 4 ? until + 5 : free), left + 14);
    return x + length + 6 < right ? [box, svg("text", { class: "view-lag-text", x, y: top + 12 }, words)] : [box];
  });
}

/** Returns the acts, and lines from acts on old copies to the lanes of what was created or deleted. */
function acts({ uses }, { payload, centres, width }, at, toPixel) {
  const lanes = new Map(payload.bars.track.map((track, i) => [track, payload.bars.lane[i]]));
  const seen = uses.filter(({ time }) => toPixel(time) > -10 && toPixel(time) < width + 10);
  const lines = seen.filter(({ unseen }) => unseen).map((use) => {
    const x = toPixel(use.time), y = at(use.resource_version), child = centres[lanes.get(use.track)] ?? null;
    return svg("line", { class: "view-drop", x1: x, x2: x, y1: at(use.stood ?? use.unseen), y2: child !== null && child > y ? child - 10 : y });
  });
  return [...lines, ...seen.map((use) => svg("circle", { class: use.unseen ? "view-act old" : "view-act", cx: toPixel(use.time), cy: at(use.resource_version), r: use.unseen ? 4.5 : 3 }))];
}

/** Returns the shapes of all views of a scene. `widthOf(words)` → px; `pills` are where the labels of arrows are. */
export function viewShapes(scene, toPixel, widthOf, pills) {
  const views = scene.views ?? [], curves = views.length ? arrowsOf(scene).map((arrow) => curveOf(arrow, toPixel)) : [];
  return views.flatMap(({ view, y }) => {
    const at = placing(view, y), floor = y + VIEW - 3;
    return [
      svg("line", { class: "view-floor", x1: 0, x2: scene.width, y1: floor, y2: floor }),
      ...surely(view, at, toPixel, scene.width, floor), ...lags(view, at, toPixel, scene.width, widthOf, crossings(view, curves, toPixel, pills)), ...committed(view, at, toPixel, scene.width), ...acts(view, scene, at, toPixel),
    ];
  });
}

/** Returns the act at a point of the plot: {view, use, number (its place among the acts), lines of text}, or null. */
export function useAt(scene, x, y) {
  const found = (scene.views ?? []).find((each) => y >= each.y && y < each.y + VIEW);
  if (!found) return null;
  const { toPixel } = scaleOf(scene), at = placing(found.view, found.y);
  const near = found.view.uses.map((use, number) => ({ use, number, far: Math.hypot(toPixel(use.time) - x, (at(use.resource_version) - y) / 2) }));
  const best = near.filter(({ far }) => far <= NEAR).sort((a, b) => a.far - b.far || b.use.least - a.use.least)[0];
  if (!best) return null;
  const { view } = found, { use } = best;
  const old = use.unseen ? `revision ${use.unseen} was committed ${use.lag} before${use.matters ? `: the ${view.kind} ${use.matters}` : ""}` : "the newest revision that is known";
  return { view, ...best, lines: [`${view.actor}: ${use.what}`, `on revision ${use.resource_version} of ${view.kind} ${view.name}`, old] };
}

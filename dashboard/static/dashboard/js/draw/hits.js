// This module finds what is drawn at a point of the plot, and describes it in lines of text.

import { actorAt } from "../state/actors.js";
import { apart, duration, words } from "../state/durations.js";
import { eventsOf } from "../state/events.js";
import { clock, digitsFor, instant, linesOf } from "../state/time.js";
import { kindOf } from "../state/window.js";
import { scaleOf } from "./columns.js";
import { dotAt } from "./dots.js";
import { linesAt, tipOf } from "./logs.js";
import { ROW } from "../state/shapes.js";
import { useAt } from "./views.js";

/** Returns who made a change, for the tooltip. `index` is that of an actor in the window. */
const by = (payload, index) => (payload.actors[index] === "" ? "writer not known" : `written by ${actorAt(payload, index)}`);

const NEAR = 7; // px within which a mark counts as being at a point

/** Returns the end of a tooltip: the time in the zone that the page shows, with `more` beside it, then the time in the other zone. `write(zone)` writes each. */
const timesOf = (time, write, more = "") => {
  const [first, ...others] = linesOf(time, write);
  return [[first, more].filter(Boolean).join(" · "), ...others].join("\n");
};
const span = (start, end, digits, more) => timesOf(start, (zone) => `${clock(start, digits, zone)} – ${clock(end, digits, zone)}`, more);

/** Returns the index of the lane at y of the plot, or -1. */
export const laneAt = ({ centres }, y) => centres.findIndex((centre) => centre !== null && Math.abs(centre - y) <= ROW / 2);

/** Returns the event of the lane at y (see eventsOf) that is nearest to x, within `near` px, or null. */
export function eventAt(scene, x, y, near = NEAR) {
  const { toPixel } = scaleOf(scene);
  const lane = laneAt(scene, y);
  if (lane < 0 || Math.abs(scene.centres[lane] - y) > 12) return null;
  const found = eventsOf(scene.payload, lane).map((event) => ({ event, far: Math.abs(toPixel(event.time) - x) }));
  return found.filter(({ far }) => far <= near).sort((a, b) => a.far - b.far)[0]?.event ?? null;
}

/** Returns lines of text about the violation that a sign stands for (see dotAt). */
function violationAt({ payload: { lanes, arrows, holes } }, { lane, time, severity, finding, many }) {
  const said = [arrows, holes].map((columns) => columns.text[columns.finding.indexOf(finding)]).find(Boolean);
  const others = many > 1 ? `, and ${many - 1} more here` : "";
  return [`${lanes[lane].kind} ${lanes[lane].name}`, `${severity}: ${said ?? "a violation begins"}${others}`, timesOf(time, (zone) => clock(time, 6, zone))];
}

/** Returns lines of text about what is drawn at (x, y) of the plot, or null. */
export function whatIsAt(scene, x, y) {
  const { payload, centres, view } = scene;
  const { toPixel } = scaleOf(scene);
  const act = useAt(scene, x, y);
  if (act) return [...act.lines, timesOf(act.use.time, (zone) => clock(act.use.time, 6, zone))];
  const lines = linesAt(scene, x, y);
  if (lines) return tipOf(lines);
  const dot = dotAt(scene, x, y);
  if (dot) return violationAt(scene, dot);
  const lane = laneAt(scene, y);
  if (lane < 0 || Math.abs(centres[lane] - y) > 12) return null;
  const about = payload.lanes[lane];
  const title = `${about.kind} ${about.name}`;
  const digits = Math.max(3, digitsFor(view.end - view.start));
  const { gaps } = payload;
  const gap = gaps.kind.findIndex((kind, i) => (!kind || kind === kindOf(about)) && toPixel(gaps.start[i]) - 2 <= x && Math.max(toPixel(gaps.end[i]), toPixel(gaps.start[i]) + 3) + 2 >= x);
  if (gap >= 0) return [title, gaps.kind[gap] ? `Not observed: ${gaps.text[gap]}` : gaps.text[gap], span(gaps.start[gap], gaps.end[gap], digits, duration(gaps.end[gap] - gaps.start[gap]))];

  const proof = (scene.unshown ?? []).find((each) => each.lane === lane && Math.abs(toPixel(each.time) - x) <= NEAR);
  if (proof) return [title, `${proof.role}: proves the selected finding`, proof.who, timesOf(proof.time, (zone) => clock(proof.time, 6, zone))].filter(Boolean);

  let nearest = null;
  payload.marks.lane.forEach((row, i) => {
    const far = Math.abs(toPixel(payload.marks.time[i]) - x);
    if (row === lane && far <= NEAR && far < (nearest?.far ?? 99)) nearest = { i, far };
  });
  if (nearest) {
    const { text, time, within, actor, resource_version: revisions } = payload.marks;
    const { i } = nearest, revision = revisions[i];
    return [title, text[i], by(payload, actor[i]), timesOf(time[i], (zone) => instant(time[i], within[i], 6, zone), revision === null ? "" : `RV ${revision}`)];
  }
  const birth = payload.births.lane.findIndex((row, i) => row === lane && Math.abs(toPixel(payload.births.time[i]) - x) <= 9);
  const { births } = payload;
  if (birth >= 0) {
    const revision = births.resource_version[birth];
    return [title, `created as number ${births.number[birth]} in its group`, by(payload, births.actor[birth]),
      timesOf(births.time[birth], (zone) => instant(births.time[birth], births.within[birth], 6, zone), revision === null ? "" : `RV ${revision}`)];
  }

  const { lane: rows, start, end, text, tone, open_start, open_end, start_within, end_within } = payload.bars;
  const cells = payload.strips;
  const cell = cells.lane.findIndex((row, i) => row === lane && toPixel(cells.start[i]) <= x && toPixel(cells.end[i]) >= x);
  if (cell >= 0) return [title, `${cells.count[cell]} of ${about.members} existed at most`, span(cells.start[cell], cells.end[cell], digits)];
  const bar = rows.findIndex((row, i) => row === lane && toPixel(start[i]) <= x && Math.max(toPixel(end[i]), toPixel(start[i]) + 3) >= x);
  if (bar < 0) return null;
  const from = (zone) => (open_start[bar] ? "since before the recording began" : instant(start[bar], start_within[bar], digits, zone));
  const until = (zone) => (open_end[bar] ? "still existed at its end" : instant(end[bar], end_within[bar], digits, zone));
  const took = apart({ time: start[bar], within: start_within[bar] }, { time: end[bar], within: end_within[bar] });
  const length = open_start[bar] || open_end[bar] || took.most === null ? "" : words(took);
  const writer = open_start[bar] ? "" : by(payload, payload.bars.actor[bar]);
  return [title, text[bar] || (tone[bar] === "ended" ? "ended, not yet deleted" : ""), writer, open_start[bar] && open_end[bar] ? `${from()} – ${until()}` : timesOf(open_start[bar] ? end[bar] : start[bar], (zone) => `${from(zone)} – ${until(zone)}`, length)].filter(Boolean);
}

// This module computes the position of each lane.

import { ROW } from "../state/shapes.js";

export const HEADING = 30, FOLDED = 26, VIEW = 44, LOG = 24; // px: heights of a heading, of the button below a group that shows its folded lanes, of the view of an actor, and of a log
const DOT = 4; // px between a heading and the dot at which an arrow ends
const LEAVE = 14; // px below the pinned lanes for the arrows that end there

export const ALONE = "\0"; // the key of the heading that objects with neither owner nor children share

const sum = (parts) => parts.reduce((all, { quiet, furniture }) => ({ quiet: all.quiet + quiet, furniture: all.furniture + furniture }), { quiet: 0, furniture: 0 });

/** Returns the headings in order, each with the indices of its lanes. Neighbours without a group share one. */
function runsOf({ lanes, groups, pins }) {
  const runs = [];
  groups.forEach((group, at) => {
    const from = Math.max(group.first, pins), to = Math.max(groups[at + 1]?.first ?? lanes.length, pins);
    const own = Array.from({ length: Math.max(0, to - from) }, (_, i) => from + i);
    const alone = group.lanes === 1 && group.short !== "";
    const last = runs.at(-1);
    if (alone && last?.key === ALONE && last.closed === group.closed) {
      last.lanes.push(...own);
      last.groups.push(group);
    } else if (own.length || group.closed) runs.push({ key: alone ? ALONE : group.key, closed: group.closed, groups: [group], lanes: own });
  });
  return runs;
}

/** Returns for each lane whether creation numbers are shown: under the heading of an owner of several objects. */
function numbered(lanes, runs) {
  const found = lanes.map(() => false);
  for (const { key, groups: [group], lanes: own } of runs) if (key !== ALONE && group.short !== "") for (const lane of own) found[lane] = true;
  return found;
}

/** Returns the views of actors below a lane, each with its place in the payload. */
export const viewsOf = ({ views = [] }, lane) => views.flatMap((view, place) => (view.lane === lane ? [{ ...view, place }] : []));

/**
 * Returns {runs [{key, closed, groups, lanes, y, folded (how many lanes are folded, as FoldedPayload)}], centres (y of each lane's middle, null for lanes of the other figure),
 * anchors (y where an arrow to such a lane ends), beside (y of the heading above each lane, for arrows whose other lane
 * is not shown), headings (group key → y), folded (how many lanes of all groups are folded, if the window says it), numbered
 * (whether each lane has creation numbers), views ([{view, y (its top)}] of what is drawn below lanes), logs ([{log, y of its middle}] of
 * the logs that are opened), alone (the logs without a lane here, which come last), height}. `unfolded` says that the lanes of
 * all groups are shown; `logs` is as LogLanes.shown returns it.
 */
export function layOut(payload, unfolded = false, { under = new Map(), alone = [], open = new Set() } = {}) {
  const centres = payload.lanes.map(() => null), beside = payload.lanes.map(() => null);
  const anchors = payload.lanes.map((_, lane) => (lane < payload.pins ? 0 : null)); // pinned lanes are above all others
  const headings = new Map();
  const runs = runsOf(payload);
  const views = [];
  const logs = [];
  let y = 0;
  const place = (log) => {
    logs.push({ log, y: y + LOG / 2 });
    y += LOG;
  };
  for (const run of runs) {
    run.y = y;
    const target = run.closed ? y + HEADING / 2 : y + HEADING + DOT; // an open heading may cover the lanes
    for (const group of run.groups) headings.set(group.key, target);
    y += HEADING;
    for (const lane of run.lanes) {
      centres[lane] = y + ROW / 2;
      beside[lane] = target;
      y += ROW;
      for (const view of viewsOf(payload, lane)) {
        views.push({ view, y });
        y += VIEW;
      }
      for (const log of under.get(payload.lanes[lane].key) ?? []) if (open.has(log.log)) place(log);
    }
    const goesOn = run.key !== ALONE && runs.some((other) => other.y === undefined && other.key === run.key); // further down
    run.folded = sum(unfolded || run.closed || goesOn ? [] : run.groups.map((group) => group.folded));
    if (run.folded.quiet + run.folded.furniture) y += FOLDED;
  }
  const folded = sum(payload.folded ? [payload.folded] : []);
  if (folded.quiet + folded.furniture) y += FOLDED;
  const units = runs.reduce((sum, run) => sum + (run.closed ? run.groups.length : run.lanes.length), 0);
  const whole = payload.offset === 0 && units >= payload.lanes_total, keys = new Set(whole ? payload.lanes.map(({ key }) => key) : []);
  const lost = whole ? [...under.values()].flat().filter(({ log, lane }) => open.has(log) && !keys.has(lane)) : []; // their Pods do not exist in this window
  const last = payload.offset + units >= payload.lanes_total ? [...lost, ...alone] : []; // they come after all lanes
  if (last.length) {
    y += HEADING;
    for (const log of last) if (open.has(log.log)) place(log);
  }
  return { runs, centres, anchors, beside, headings, folded, views, logs, alone: last, numbered: numbered(payload.lanes, runs), height: y };
}

/** Returns the layout of the pinned lanes, one below the other. Arrows to other lanes end at their lower edge. */
export function layOutPins({ lanes, pins }) {
  const height = pins * ROW + LEAVE;
  return {
    upright: true, // arrows enter from below, straight under their event
    centres: lanes.map((_, lane) => (lane < pins ? lane * ROW + ROW / 2 : null)),
    anchors: lanes.map((_, lane) => (lane < pins ? null : height)),
    beside: lanes.map((_, lane) => (lane < pins ? height - DOT : null)),
    headings: new Map(),
    numbered: lanes.map((_, lane) => lane < pins),
    height,
  };
}

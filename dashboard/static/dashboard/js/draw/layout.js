// This module computes the position of each lane.

export const ROW = 34, HEADING = 30; // px: heights of a lane and of a heading
const DOT = 4; // px between a heading and the dot at which an arrow ends
const LEAVE = 14; // px below the pinned lanes for the arrows that end there

export const ALONE = "\0"; // the key of the heading that objects with neither owner nor children share

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

/**
 * Returns {runs [{key, closed, groups, lanes, y}], centres (y of each lane's middle, null for lanes of the other figure),
 * anchors (y where an arrow to such a lane ends), beside (y of the heading above each lane, for arrows whose other lane
 * is not shown), headings (group key → y), numbered (whether each lane has creation numbers), height}
 */
export function layOut(payload) {
  const centres = payload.lanes.map(() => null), beside = payload.lanes.map(() => null);
  const anchors = payload.lanes.map((_, lane) => (lane < payload.pins ? 0 : null)); // pinned lanes are above all others
  const headings = new Map();
  const runs = runsOf(payload);
  let y = 0;
  for (const run of runs) {
    run.y = y;
    const target = run.closed ? y + HEADING / 2 : y + HEADING + DOT; // an open heading may cover the lanes
    for (const group of run.groups) headings.set(group.key, target);
    y += HEADING;
    for (const lane of run.lanes) {
      centres[lane] = y + ROW / 2;
      beside[lane] = target;
      y += ROW;
    }
  }
  return { runs, centres, anchors, beside, headings, numbered: numbered(payload.lanes, runs), height: y };
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

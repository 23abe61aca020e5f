// Where each lane lies. Pure.

export const ROW = 34, HEADING = 30;
const DOT = 4;
const LEAVE = 14; // below the pinned lanes, for the arrows that come in there

const ALONE = ""; // the heading over objects that neither own nor are owned, in place of one heading each

/** Headings in order, each with the indices of its lanes: neighbours that are alone share one. */
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

/** Whether creation numbers mean something on each lane: under the heading of what owns several objects. */
function numbered(lanes, runs) {
  const found = lanes.map(() => false);
  for (const { key, groups: [group], lanes: own } of runs) if (key !== ALONE && group.short !== "") for (const lane of own) found[lane] = true;
  return found;
}

/**
 * {runs [{key, closed, groups, lanes, y}], centres (y of each lane's middle, null for those that do not stand here),
 * anchors (y where an arrow to such a lane ends), beside (y of the heading over each lane, for arrows whose other end is
 * unknown), headings (group key → y), numbered (whether each lane has creation numbers), height}
 */
export function layOut(payload) {
  const centres = payload.lanes.map(() => null), beside = payload.lanes.map(() => null);
  const anchors = payload.lanes.map((_, lane) => (lane < payload.pins ? 0 : null)); // pinned lanes lie above all
  const headings = new Map();
  const runs = runsOf(payload);
  let y = 0;
  for (const run of runs) {
    run.y = y;
    const stand = run.closed ? y + HEADING / 2 : y + HEADING + DOT; // an open heading may lie over the lanes
    for (const group of run.groups) headings.set(group.key, stand);
    y += HEADING;
    for (const lane of run.lanes) {
      centres[lane] = y + ROW / 2;
      beside[lane] = stand;
      y += ROW;
    }
  }
  return { runs, centres, anchors, beside, headings, numbered: numbered(payload.lanes, runs), height: y };
}

/** The pinned lanes alone, one under the other; arrows to others end at their lower edge. */
export function layOutPins({ lanes, pins }) {
  const height = pins * ROW + LEAVE;
  return {
    upright: true, // arrows come in from below, right under the event they belong to
    centres: lanes.map((_, lane) => (lane < pins ? lane * ROW + ROW / 2 : null)),
    anchors: lanes.map((_, lane) => (lane < pins ? null : height)),
    beside: lanes.map((_, lane) => (lane < pins ? height - DOT : null)),
    headings: new Map(),
    numbered: lanes.map((_, lane) => lane < pins),
    height,
  };
}

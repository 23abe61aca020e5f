// Answers from what the report holds as the server would. Stands in the place of ../api.js.

const held = JSON.parse(document.getElementById("held").textContent); // {overview, window of all lanes that it draws, findings}

export const overview = async () => held.overview;

/** The columns of those whose lane is kept; `lanes` maps its index to the new one. */
function kept(columns, lanes) {
  const rows = columns.lane.flatMap((lane, i) => (lanes.has(lane) ? [i] : []));
  return {
    ...Object.fromEntries(Object.entries(columns).map(([name, column]) => [name, rows.map((i) => column[i])])),
    lane: rows.map((i) => lanes.get(columns.lane[i])),
  };
}

/** The groups of what proves a finding. */
function provenBy({ lanes, bars }, key) {
  const tracks = new Set(held.findings.find((one) => one.key === key)?.proof.map(({ track }) => track));
  return new Set(bars.lane.filter((_, i) => tracks.has(bars.track[i])).map((lane) => lanes[lane].group));
}

/** Indices of the lanes that a window shows: those that live in it, the focused group first, then what proves the finding. */
function matching(all, { start, end, kinds, namespace, focus, finding }) {
  const { lanes, bars } = all;
  const alive = new Set(bars.lane.filter((_, i) => start === null || (bars.start[i] <= end && bars.end[i] >= start)));
  const found = lanes.flatMap(({ family, namespace: own }, i) =>
    (alive.has(i) && (!kinds.length || kinds.includes(family)) && (!namespace || own === namespace) ? [i] : []));
  const proof = provenBy(all, finding);
  const rank = (i) => (lanes[i].group === String(focus) ? 0 : proof.has(lanes[i].group) ? 1 : 2);
  return found.sort((a, b) => rank(a) - rank(b)); // which keeps the order of equals
}

export class Windows {
  async ask(question) {
    const { window: all } = held;
    const { offset, limit, kinds, namespace } = question;
    const found = matching(all, question);
    const shown = found.slice(offset, offset + limit);
    const lanes = new Map(shown.map((lane, i) => [lane, i]));
    const filtered = kinds.length || namespace;
    const groups = [...new Set(shown.map((lane) => all.lanes[lane].group))].map((key) => {
      const group = all.groups.find((one) => one.key === key);
      return filtered ? { ...group, lanes: found.filter((lane) => all.lanes[lane].group === key).length } : group;
    });
    const { from_lane, to_lane } = all.arrows;
    const end = (lane) => lanes.get(lane) ?? -1;
    return {
      ...all, findings: held.findings, offset, lanes_total: found.length, groups,
      lanes: shown.map((lane) => all.lanes[lane]),
      ...Object.fromEntries(["bars", "strips", "births", "marks", "holes", "shades"].map((name) => [name, kept(all[name], lanes)])),
      arrows: { ...all.arrows, from_lane: from_lane.map(end), to_lane: to_lane.map(end) },
    };
  }
}

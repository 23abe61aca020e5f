// Which arrows a scene (see columns.js) draws, and where they end. Pure.

const MOST = 100;

/**
 * On its lane; where the lane stands in the other figure, at the edge, where the line leaves; else as a dot at what stands
 * for the lane. `other` is the lane of the arrow's other end.
 */
function endOf(lane, other, finding, { centres, anchors, beside, home }) {
  const y = centres[lane] ?? null;
  if (y !== null) return { y, dot: false, leaves: false };
  const edge = anchors[lane] ?? null;
  if (edge !== null) return { y: edge, dot: false, leaves: true };
  const stand = beside[other] ?? home(finding);
  return stand === null || stand === undefined ? null : { y: stand, dot: true, leaves: false };
}

/** `lead`: those of the selected and pinned findings; where they have none, all that explain them. */
export function arrowsOf(scene) {
  const { from_lane, from_time, to_lane, to_time, text, finding } = scene.payload.arrows;
  const drawn = text.flatMap((words, i) => {
    if (!scene.chosen.has(finding[i]) && !scene.related.has(finding[i])) return [];
    const start = endOf(from_lane[i], to_lane[i], finding[i], scene), end = endOf(to_lane[i], from_lane[i], finding[i], scene);
    if (!start || !end || (start.leaves && end.leaves)) return [];
    let from = from_time[i], to = to_time[i];
    if (scene.upright && start.leaves) from = to; // where it comes in from the other figure
    if (scene.upright && end.leaves) to = from;
    return [{ words, finding: finding[i], from, to, start, end }];
  });
  const own = drawn.some((one) => scene.chosen.has(one.finding));
  return drawn.map((one) => ({ ...one, lead: !own || scene.chosen.has(one.finding) })).sort((a, b) => b.lead - a.lead).slice(0, MOST);
}

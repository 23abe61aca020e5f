// This module chooses the arrows that a scene (see columns.js) draws, and computes where they end.

const MOST = 100; // the most arrows in one figure

/**
 * Returns where an end of an arrow is: on its lane; or at the edge, if the lane is in the other figure; or else as a dot on
 * the heading. `other` is the lane of the arrow's other end.
 */
function endOf(lane, other, finding, { centres, anchors, beside, home }) {
  const y = centres[lane] ?? null;
  if (y !== null) return { y, dot: false, leaves: false };
  const edge = anchors[lane] ?? null;
  if (edge !== null) return { y: edge, dot: false, leaves: true };
  const heading = beside[other] ?? home(finding);
  return heading === null || heading === undefined ? null : { y: heading, dot: true, leaves: false };
}

/**
 * Returns the arrows of a scene: [{words, finding, from, to (µs), start, end, soft, lead}]. `start` and `end` are as endOf
 * returns them. `soft` has [y, earliest, latest] of each end that is on a lane. `lead` says whether the arrow belongs to a
 * selected or pinned finding; it is also true if these have no arrows.
 */
export function arrowsOf(scene) {
  const { from_lane, from_time, from_within, to_lane, to_time, to_within, text, finding } = scene.payload.arrows;
  const drawn = text.flatMap((words, i) => {
    if (!scene.chosen.has(finding[i]) && !scene.related.has(finding[i])) return [];
    const start = endOf(from_lane[i], to_lane[i], finding[i], scene), end = endOf(to_lane[i], from_lane[i], finding[i], scene);
    if (!start || !end || (start.leaves && end.leaves)) return [];
    let from = from_time[i], to = to_time[i];
    if (scene.upright && start.leaves) from = to; // the arrow enters from the other figure
    if (scene.upright && end.leaves) to = from;
    const soft = [[start, from_time[i], from_within[i]], [end, to_time[i], to_within[i]]]
      .flatMap(([{ y, dot, leaves }, time, [before, after]]) => (dot || leaves ? [] : [[y, time - before, time + after]]));
    return [{ words, finding: finding[i], from, to, start, end, soft }];
  });
  const own = drawn.some((one) => scene.chosen.has(one.finding));
  return drawn.map((one) => ({ ...one, lead: !own || scene.chosen.has(one.finding) })).sort((a, b) => b.lead - a.lead).slice(0, MOST);
}

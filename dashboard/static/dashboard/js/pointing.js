// What the pointer does on the two figures, in the terms of the timeline.

import { handle } from "./hands.js";
import { laneAt, showTip, whatIsAt } from "./tip.js";

/** `onFinding(key)`: an arrow's label was clicked; `onLane(index)`: a lane. */
export function point({ store, picture, stepping, bench, onFinding, onLane }) {
  for (const [name, figure] of Object.entries(picture.figures)) {
    const scene = () => picture.scenes[name];
    const tell = (at) => showTip(at && scene() ? whatIsAt(scene(), at.x, at.y) : null, at);
    handle(figure, {
      store, bench, onHover: tell, onMeasure: (from, to) => stepping.between(name, from, to),
      onClick(at, target) {
        const finding = target.closest("[data-finding]")?.dataset.finding;
        if (finding) return onFinding(finding);
        if (stepping.measure) stepping.drop();
        const lane = scene() ? laneAt(scene(), at.y) : -1;
        if (lane >= 0) onLane(lane);
        tell(at);
      },
    });
  }
}

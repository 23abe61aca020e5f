// The clock under the lanes. HTML, because it stays in sight while the lanes scroll and costs Plotly nothing.

import { byId, el } from "./dom.js";

const CHARACTER = 6.7; // px of the axis's mono font

export function drawAxis(ticks, view, width) {
  const placed = [];
  const place = ({ time }, words) => {
    const half = (words.length * CHARACTER) / 2;
    const middle = ((time - view.start) / (view.end - view.start)) * width;
    const free = middle >= half && middle + half <= width && placed.every((other) => Math.abs(other.middle - middle) >= half + other.half + 10);
    if (free) placed.push({ middle, half, words });
    return free;
  };
  // First the whole clock where a new second begins, for a bare ".500" means nothing without it; then at the first tick.
  for (const tick of ticks) if (tick.text === tick.full) place(tick, tick.full);
  const others = ticks.filter((tick) => tick.text !== tick.full);
  others.some((tick) => place(tick, tick.full) || placed.length > 0);
  for (const tick of others) place(tick, tick.text);
  byId("axis").replaceChildren(el("div", { class: "axis-labels" },
    placed.map(({ middle, words }) => el("span", { style: `left:${middle.toFixed(1)}px` }, words))));
}

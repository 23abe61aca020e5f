// The clock under the lanes. HTML, because it stays in sight while the lanes scroll and costs Plotly nothing.

import { byId, el } from "./dom.js";

const CHARACTER = 6.7; // px of the axis's mono font

export function drawAxis(ticks, view, width) {
  let free = 0;
  const labels = [];
  for (const { time, text, full } of ticks) {
    const words = labels.length ? text : full; // the first one in sight tells the whole clock
    const half = (words.length * CHARACTER) / 2;
    const middle = ((time - view.start) / (view.end - view.start)) * width;
    if (middle - half < free || middle + half > width) continue;
    free = middle + half + 10;
    labels.push(el("span", { style: `left:${middle.toFixed(1)}px` }, words));
  }
  byId("axis").replaceChildren(el("div", { class: "axis-labels" }, labels));
}

// One picture of lanes: the chart with the words over it, in a figure of its own.

import { Chart } from "./chart.js";
import { drawOverlay } from "./overlay.js";

export class Board {
  /** `figure` holds a `.plot` and an `.overlay`, and where `edge` is asked for, a second pair under them. */
  constructor(figure, skeletons, edge = false) {
    const which = edge ? ".edge" : ":not(.edge)";
    this.overlay = figure.querySelector(`.overlay${which}`);
    this.chart = new Chart(figure.querySelector(`.plot${which}`), skeletons);
  }

  draw(scene) {
    this.chart.draw(scene);
    drawOverlay(this.overlay, scene);
  }
}

// This module draws one figure of lanes: the chart, and the texts above it.

import { Chart } from "./chart.js";
import { drawOverlay } from "./overlay.js";

export class Board {
  /** `figure` contains a `.plot` and an `.overlay`, and with `edge` a second pair of them. */
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

// One picture of lanes: the chart with the words over it, in a figure of its own.

import { Chart } from "./chart.js";
import { drawOverlay } from "./overlay.js";

export class Board {
  /** `figure` holds a `.plot` and an `.overlay`. */
  constructor(figure, skeletons) {
    this.figure = figure;
    this.overlay = figure.querySelector(".overlay");
    this.chart = new Chart(figure.querySelector(".plot"), skeletons);
  }

  draw(scene) {
    this.chart.draw(scene);
    drawOverlay(this.overlay, scene);
  }
}

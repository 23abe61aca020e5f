// This module draws one figure of lanes: the grid, the chart on it, and the marks and texts above.

import { drawGrid } from "./axis.js";
import { Chart } from "./chart.js";
import { drawOverlay } from "./overlay.js";

export class Board {
  /** `figure` contains a `.grid`, a `.plot` and an `.overlay`, and with `edge` a second pair of the latter. */
  constructor(figure, skeletons, edge = false) {
    this.grid = edge ? null : figure.querySelector(".grid");
    const which = edge ? ".edge" : ":not(.edge)";
    this.overlay = figure.querySelector(`.overlay${which}`);
    this.chart = new Chart(figure.querySelector(`.plot${which}`), skeletons);
  }

  draw(scene) {
    this.chart.draw(scene);
    this.#beside(scene);
  }

  /** Draws a scene that differs from the one drawn last in nothing but its view. */
  move(scene) {
    this.chart.move(scene);
    this.#beside(scene);
  }

  #beside(scene) {
    if (this.grid) drawGrid(this.grid, scene);
    drawOverlay(this.overlay, scene);
  }
}

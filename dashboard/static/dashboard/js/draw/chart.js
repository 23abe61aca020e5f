// This module draws a scene into the figure that dashboard/drawing/figures.py has built. No other module uses Plotly.

import { columns, scaleOf } from "./columns.js";

/** Calls back when Plotly is loaded, because the page's own modules may run before it. */
export function whenReady(act) {
  if (globalThis.Plotly) act();
  else document.getElementById("plotly").addEventListener("load", act, { once: true });
}

export class Chart {
  #revision = 0;

  constructor(host, skeletons) {
    this.host = host;
    this.skeletons = skeletons;
  }

  /** Draws a scene of columns.js with `height`, `ticks` and `theme`. `without`: the names of traces that are left out. */
  draw(scene) {
    const { data, layout, config } = this.skeletons[scene.theme];
    const { width, height, ticks, scale } = scene;
    const { left, right } = scaleOf(scene);
    const filled = columns(scene);
    const traces = data.filter(({ name }) => filled.has(name) && name !== scene.without).map((trace) => {
      const column = filled.get(trace.name);
      const marker = column.marker ? { marker: { ...trace.marker, ...column.marker } } : {};
      return { ...trace, ...column, ...marker };
    });
    const figure = {
      ...layout,
      width,
      height,
      datarevision: ++this.#revision,
      xaxis: { range: [left, right], tickvals: ticks.map((tick) => scale.to(tick.time)) },
      yaxis: { range: [height, 0] },
    };
    globalThis.Plotly.react(this.host, traces, figure, config);
  }
}

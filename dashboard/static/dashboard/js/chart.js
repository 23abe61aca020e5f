// The only module that touches Plotly: draws a scene into the skeleton that dashboard/figures.py built.

import { columns } from "./columns.js";

const EMPTY = { x: [], y: [], visible: false };

export class Chart {
  #revision = 0;

  constructor(host, skeletons) {
    this.host = host;
    this.skeletons = skeletons;
  }

  /** Returns the milliseconds it took. `scene` is that of columns.js, with `height`, `ticks` and `theme`. */
  draw(scene) {
    const began = performance.now();
    const { data, layout, config } = this.skeletons[scene.theme];
    const { payload, view, width, height, ticks } = scene;
    const filled = columns(scene);
    const traces = data.map((trace) => {
      const column = filled.get(trace.name);
      if (!column) return { ...trace, ...EMPTY };
      const marker = column.marker ? { marker: { ...trace.marker, ...column.marker } } : {};
      return { ...trace, ...column, ...marker, visible: true };
    });
    const figure = {
      ...layout,
      width,
      height,
      datarevision: ++this.#revision,
      xaxis: { range: [view.start - payload.start, view.end - payload.start], tickvals: ticks.map((tick) => tick.time - payload.start) },
      yaxis: { range: [height, 0] },
    };
    globalThis.Plotly.react(this.host, traces, figure, config);
    return performance.now() - began;
  }
}

// This module tells screen readers what a new filter shows.

import { incidentFilterOf } from "../state/loading.js";
import { filterOf } from "../state/store.js";
import { countsOf, lanesOfAll } from "../state/window.js";

/** Returns a function that announces, once for each new filter, how many lanes of a window and how many incidents match. */
export function filterNews({ store, list, announce }) {
  let announced = null; // the filter whose result was announced
  return (payload) => {
    const filter = JSON.stringify({ ...filterOf(store), ...incidentFilterOf(store) });
    if (announced !== null && announced !== filter) announce(`${lanesOfAll(payload)}, ${countsOf(list.divide(store.view()).counts)} in view.`);
    announced = filter;
  };
}

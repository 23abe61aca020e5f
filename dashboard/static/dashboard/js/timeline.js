// The timeline's page: holds the parts together. State lives in the store, drawing follows from it.

import { addressBar } from "./address.js";
import { Windows, overview } from "./api.js";
import { drawAxis } from "./axis.js";
import { Chart } from "./chart.js";
import { byId, el } from "./dom.js";
import { Findings } from "./findings.js";
import { handle } from "./hands.js";
import { listen } from "./keys.js";
import { BLOCK, Lanes, MARGIN, ROW } from "./lanes.js";
import { Minimap } from "./minimap.js";
import { drawOverlay } from "./overlay.js";
import { birthsOf, lanesOf, rangeAround, relatedTo, summary, worst } from "./selection.js";
import { Store } from "./store.js";
import { ticks as ticksOf } from "./time.js";
import { showTip, whatIsAt } from "./tip.js";
import { Toolbar } from "./toolbar.js";

const DEBOUNCE = 100; // ms before a window is asked for

const figure = byId("figure");
const skeletons = JSON.parse(byId("skeletons").textContent);
const inks = Object.fromEntries(Object.entries(skeletons).map(([theme, { data }]) => [theme, Object.fromEntries(data.map((trace) => [trace.name, trace.meta?.ink]))]));

const store = new Store(addressBar());
const windows = new Windows(document.body.dataset.source);
const chart = new Chart(byId("plot"), skeletons);
const lanes = new Lanes({ onScroll, onToggle: toggle });
const findings = new Findings({ onSelect: select });
const minimap = new Minimap({ store, onMove: (range) => store.set(range) });
const toolbar = new Toolbar({ store, onReset: reset, onFit: fit });

let loaded = null; // {payload, question}
let scene = null;
let groups = []; // findings of the source
let reveal = false; // whether the selected finding's lanes are to be scrolled in once they are there

const theme = () => document.documentElement.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
const announce = (text) => (byId("announce").textContent = text);
const selectedGroup = () => groups.find((group) => group.key === store.finding);

// -- windows ----------------------------------------------------------------------------------------------------------

function question() {
  const { start, end } = store.view();
  const hidden = (lanes.layout?.runs ?? []).reduce((sum, run) => sum + (store.closed.has(run.key) ? run.lanes.length : 0), 0);
  const inSight = Math.ceil(lanes.bench.clientHeight / ROW) + 2 * MARGIN;
  return {
    start, end, kinds: store.kinds, namespace: store.namespace, focus: selectedGroup()?.focus, finding: store.finding,
    offset: Math.max(0, store.offset - MARGIN), limit: Math.min(200, Math.max(BLOCK, inSight) + hidden),
  };
}

/** Whether what is loaded does not show what the store asks for. */
function stale() {
  if (!loaded) return true;
  const { payload, question: asked } = loaded;
  const view = store.view();
  const { first, last } = store.bounds;
  const outside = Math.max(view.start, first) < payload.start || Math.min(view.end, last) > payload.end;
  const zoomed = (asked.end - asked.start) / (view.end - view.start);
  if (outside || zoomed > 2 || zoomed < 0.5) return true;
  if (asked.kinds.join() !== store.kinds.join() || asked.namespace !== store.namespace || asked.focus !== selectedGroup()?.focus || asked.finding !== store.finding) return true;
  if (scene === null || figure.clientWidth === 0) return false;
  const [from, to] = lanes.inSight();
  const end = payload.offset + payload.lanes.length;
  return (from < payload.offset + 3 && payload.offset > 0) || (to > end - 3 && end < payload.lanes_total);
}

let debounce = 0;
function askSoon() {
  clearTimeout(debounce);
  debounce = setTimeout(() => stale() && load(), DEBOUNCE);
}

async function load() {
  const asked = question();
  figure.setAttribute("aria-busy", "true");
  let payload;
  try {
    payload = await windows.ask(asked);
  } catch (error) {
    if (error.name !== "AbortError") failed(error);
    return;
  }
  figure.removeAttribute("aria-busy");
  if (!payload.lanes.length && payload.offset > 0 && payload.lanes_total > 0) {
    store.set({ offset: Math.max(0, payload.lanes_total - MARGIN) });
    return void load();
  }
  loaded = { payload, question: asked };
  groups = payload.findings;
  lanes.draw(payload, store.closed);
  notice();
  draw();
  if (reveal) bringIn();
}

function failed(error) {
  figure.removeAttribute("aria-busy");
  const again = el("button", { type: "button", class: "button" }, "Try again");
  again.addEventListener("click", () => (store.bounds ? load() : start()));
  byId("notice").replaceChildren(error.message, " ", again);
  byId("notice").hidden = false;
  announce(error.message);
}

function notice() {
  const { payload } = loaded;
  const filtered = store.kinds.length || store.namespace;
  byId("notice").hidden = payload.lanes.length > 0;
  byId("notice").replaceChildren(filtered ? "No object of these kinds and this namespace lived in this range." : "No object lived in this range.");
}

/** Scrolls the lanes of the selected finding in, and opens their groups. */
function bringIn() {
  const { payload } = loaded;
  const group = selectedGroup();
  if (!group) return;
  const indices = lanesOf(payload, group);
  const closed = lanes.layout.runs.filter((run) => run.lanes.some((index) => indices.includes(index)) && store.closed.delete(run.key));
  if (closed.length) {
    lanes.draw(payload, store.closed);
    draw();
  }
  reveal = false;
  lanes.reveal(indices);
}

// -- drawing ----------------------------------------------------------------------------------------------------------

let frame = 0;
const drawSoon = () => (frame ||= requestAnimationFrame(draw));

function draw() {
  cancelAnimationFrame(frame);
  frame = 0;
  if (!store.bounds) return;
  toolbar.draw();
  minimap.move(store.view());
  if (!loaded) return;
  const { payload } = loaded;
  const view = store.view();
  const selected = selectedGroup();
  findings.draw(payload.findings, store.finding, birthsOf(payload, selected), view);
  const width = figure.clientWidth;
  if (width === 0) return; // the phone shows the findings
  const ticks = ticksOf(view.start, view.end, width);
  scene = {
    payload, view, width, ticks, row: ROW, theme: theme(), height: Math.max(1, lanes.layout.height), centres: lanes.layout.centres, headings: lanes.layout.headings,
    selected: store.finding, related: relatedTo(payload.findings, store.finding), inks: inks[theme()],
  };
  const took = chart.draw(scene);
  drawOverlay(byId("overlay"), scene);
  drawAxis(ticks, view, width);
  figure.dataset.took = took.toFixed(1);
  figure.setAttribute("aria-label", summary(payload, view, selected));
}

// -- what people do ---------------------------------------------------------------------------------------------------

function onScroll(first) {
  showTip(null);
  if (first !== store.offset) store.set({ offset: first });
}

function toggle(key) {
  if (!store.closed.delete(key)) store.closed.add(key);
  redrawLanes();
}

function toggleAll(close) {
  store.closed = new Set(close ? lanes.layout?.runs.map((run) => run.key) : []);
  redrawLanes();
}

function redrawLanes() {
  if (!loaded) return;
  lanes.draw(loaded.payload, store.closed);
  draw();
  askSoon();
}

function select(key) {
  const group = groups.find((one) => one.key === key);
  if (!group) return;
  reveal = true;
  store.set({ finding: key, offset: 0, ...rangeAround(group) }, { push: store.finding !== key });
  announce(group.summary);
  if (!stale()) bringIn();
}

function step(by) {
  if (!groups.length) return;
  const at = groups.findIndex((group) => group.key === store.finding);
  select(groups[(at < 0 ? (by > 0 ? 0 : -1) : at + by + groups.length) % groups.length].key);
}

function fit() {
  if (store.finding) select(store.finding);
}

function reset() {
  store.set({ start: null, end: null, offset: 0 }, { push: true });
}

listen({
  n: () => step(1), p: () => step(-1), f: fit, r: reset,
  ArrowLeft: () => store.pan(-0.15), a: () => store.pan(-0.15), ArrowRight: () => store.pan(0.15), d: () => store.pan(0.15),
  ArrowUp: () => store.zoom(0.75), w: () => store.zoom(0.75), ArrowDown: () => store.zoom(1 / 0.75), s: () => store.zoom(1 / 0.75),
  PageUp: () => lanes.page(-1), PageDown: () => lanes.page(1),
  "[": () => toggleAll(true), "]": () => toggleAll(false),
});
handle(figure, {
  store, bench: lanes.bench,
  onHover: (pointer) => showTip(pointer && scene ? whatIsAt(scene, pointer.x, pointer.y) : null, pointer),
});
document.querySelector(".tabs").addEventListener("click", ({ target }) => {
  if (!target.dataset.tab) return;
  document.body.dataset.tab = target.dataset.tab;
  for (const tab of document.querySelectorAll(".tabs button")) tab.setAttribute("aria-pressed", String(tab === target));
  draw();
  if (loaded) bringIn();
});
document.addEventListener("themechange", drawSoon);
addEventListener("beforeprint", draw);
addEventListener("popstate", async () => {
  store.read();
  const { offset } = store; // what scrolls while lanes come in writes its own
  drawSoon();
  if (stale()) await load();
  if (loaded) lanes.scrollToLane(offset);
});
new ResizeObserver(() => {
  drawSoon();
  if (loaded) askSoon();
}).observe(lanes.bench);
store.subscribe((changed) => {
  if (changed.some((name) => name !== "offset")) drawSoon();
  if (store.bounds) askSoon();
});

// -- start ------------------------------------------------------------------------------------------------------------

async function start() {
  try {
    const whole = await overview(document.body.dataset.source);
    store.bounds = { first: whole.first, last: whole.last };
    toolbar.fill(whole);
    minimap.draw(whole);
    if (store.start === null || store.finding) {
      ({ findings: groups } = await windows.ask({ ...question(), start: null, end: null, offset: 0, limit: 1 }));
      const shown = selectedGroup() ?? (store.start === null && !store.finding ? worst(groups) : null);
      reveal = shown !== null && !store.offset;
      if (shown && store.start === null) store.set({ finding: shown.key, ...rangeAround(shown) });
    }
  } catch (error) {
    return failed(error);
  }
  clearTimeout(debounce);
  const offset = store.offset;
  await load();
  if (offset && loaded) lanes.scrollToLane(offset);
}

start();

// The timeline: holds the parts together. State lives in the store, drawing follows from it.

import { addressBar } from "./address.js";
import { Windows, findings as askFindings, overview } from "./api.js";
import { byId } from "./dom.js";
import { Filters } from "./filters.js";
import { Findings } from "./findings.js";
import { Found, worst } from "./found.js";
import { handle } from "./hands.js";
import { listen } from "./keys.js";
import { BLOCK, Lanes, MARGIN } from "./lanes.js";
import { ROW } from "./layout.js";
import { Listing } from "./listing.js";
import { Loader, filterOf } from "./loading.js";
import { Minimap } from "./minimap.js";
import { Notices } from "./notices.js";
import { Picture } from "./picture.js";
import { birthsOf, lanesOf, lanesOfAll, rangeAround } from "./selection.js";
import { foldIntoSheet } from "./sheet.js";
import { Stepping } from "./stepping.js";
import { Store } from "./store.js";
import { laneAt, showTip, whatIsAt } from "./tip.js";
import { Toolbar } from "./toolbar.js";

const source = document.body.dataset.source;
const figure = byId("figure"), stage = byId("stage");
export const store = new Store(addressBar());
export const announce = (text) => (byId("announce").textContent = text);

const found = new Found((question) => askFindings(source, question));
const lanes = new Lanes({
  onScroll, onPin: pin, onLane: takeLane,
  onGroups: (keys, close) => fold(close ? [...store.closed, ...keys] : store.closed.filter((key) => !keys.includes(key))),
  onStrip: (key) => store.toggle("open", key),
});
const picture = new Picture({ store, lanes, found });
const notices = new Notices({ announce, onRetry: () => (store.bounds ? refresh() : start()), onClear: () => store.clear() });
const findings = new Findings({ onSelect: select, onHold: (key) => store.toggle("arrows", key), onMore: moreFindings, onClear: () => store.clear() });
const minimap = new Minimap({ store, onMove: (range) => store.set(range) });
const toolbar = new Toolbar({ store });
const filters = new Filters({ store });
const loader = new Loader({
  windows: new Windows(source), store, place, focus: () => selected()?.focus ?? store.focus,
  onLoading: () => figure.setAttribute("aria-busy", "true"), onLoaded, onFailed: failed,
});
const listing = new Listing({ windows: new Windows(source), store, question: () => loader.question(), shown: listed });
const stepping = new Stepping({
  store, picture, loader, windows: new Windows(source), announce, onFailed: failed,
  onLane: () => takeLane(loader.payload?.lanes[lanes.layout.runs.find((run) => run.lanes.length)?.lanes[0] ?? 0]?.key ?? ""),
  onMove(stepped) {
    if (stepped) reveal = "lane";
    draw();
    bringIn();
  },
});
let reveal = null; // what to scroll in once it is there: "finding" or "lane"

const selected = () => found.get(store.finding);
const phone = () => innerWidth <= 720;
function listed() {
  const { tab } = document.body.dataset;
  return phone() && tab === "objects" ? "objects" : store.table && !(phone() && tab === "findings") ? "table" : "";
}

// -- windows and findings ---------------------------------------------------------------------------------------------

function place() {
  const shown = Math.ceil(lanes.bench.clientHeight / ROW) + 2 * MARGIN;
  const inSight = lanes.layout && lanes.bench.clientHeight > 0 ? lanes.inSight() : null;
  return { offset: Math.max(0, store.offset - MARGIN), limit: Math.min(200, Math.max(BLOCK, shown)), inSight, loaded: lanes.layout ? lanes.loaded : 0 };
}

function onLoaded(payload) {
  figure.removeAttribute("aria-busy");
  if (!payload.groups.length && payload.offset > 0 && payload.lanes_total > 0) {
    store.set({ offset: Math.max(0, payload.lanes_total - MARGIN) });
    return void loader.load();
  }
  stage.classList.remove("loading");
  lanes.draw(payload, store.lane);
  notices.lanes(payload, store.filtered().length > 0);
  draw();
  bringIn();
}

function failed(error) {
  figure.removeAttribute("aria-busy");
  notices.failed(error);
}

async function loadFindings() {
  try {
    const fresh = await found.load(filterOf(store));
    await found.bring([store.finding, ...store.arrows]);
    if (fresh) drawSoon();
  } catch (error) {
    failed(error);
  }
}

async function moreFindings() {
  try {
    if (await found.loadMore()) draw();
  } catch (error) {
    failed(error);
  }
}

function refresh() {
  loader.load();
  loadFindings();
}

// -- drawing ----------------------------------------------------------------------------------------------------------

let frame = 0;
const drawSoon = () => (frame ||= requestAnimationFrame(draw));

function draw() {
  cancelAnimationFrame(frame);
  frame = 0;
  if (!store.bounds) return;
  toolbar.draw();
  filters.draw();
  minimap.move(store.view());
  const { payload } = loader;
  findings.draw(found, {
    selected: store.finding, held: store.arrows, births: birthsOf(payload, selected()),
    inView: payload?.findings_in_view ?? null, filtered: store.filtered().length > 0,
  });
  stage.dataset.listed = listed();
  byId("table-toggle").setAttribute("aria-pressed", String(store.table));
  if (!payload) return;
  byId("lanes-count").textContent = lanesOfAll(payload);
  picture.draw(payload, stepping);
}

/** Scrolls in what was chosen. */
function bringIn() {
  const { payload } = loader;
  if (!reveal || !payload) return;
  const group = selected();
  const indices = reveal === "lane" ? [payload.lanes.findIndex(({ key }) => key === store.lane)] : group ? lanesOf(payload, group) : [];
  reveal = null;
  lanes.reveal(indices.filter((index) => index >= 0));
}

// -- what people do ---------------------------------------------------------------------------------------------------

function onScroll(first) {
  showTip(null);
  if (first !== store.offset) store.set({ offset: first });
}

const fold = (closed) => store.set({ closed: [...new Set(closed)] }, { push: true });

function pin(key) {
  store.toggle("pins", key);
  announce(store.pins.includes(key) ? "Kept on top." : "No longer kept on top.");
}

function takeLane(key) {
  if (key === store.lane) return;
  stepping.cursor = null;
  store.set({ lane: key });
  if (loader.payload) lanes.draw(loader.payload, key);
}

function select(key) {
  const group = found.get(key);
  if (!group) return;
  reveal = "finding";
  const closed = store.closed.filter((other) => other !== String(group.focus));
  store.set({ finding: key, focus: "", offset: 0, closed, ...rangeAround(group) }, { push: store.finding !== key });
  announce(group.summary);
  if (!loader.stale()) bringIn();
}

/** A finding that may not be loaded yet. */
export async function showFinding({ key }) {
  await found.bring([key]);
  select(key);
}

/** An object: its life, its group on top, its lane in hand. */
export function showObject({ key, root, start, end }) {
  reveal = "lane";
  stepping.cursor = null;
  const life = { start, end: end ?? store.bounds.last };
  store.set({ finding: "", focus: String(root), lane: key, offset: 0, closed: store.closed.filter((other) => other !== String(root)), ...rangeAround({ start: life.start, end: Math.min(life.end, start + 60e6) }) }, { push: true });
  if (!loader.stale()) bringIn();
}

async function step(by) {
  const at = found.groups.findIndex((group) => group.key === store.finding);
  let next = at < 0 ? (by > 0 ? 0 : found.groups.length - 1) : at + by;
  if (next >= found.groups.length && found.more) await moreFindings();
  if (next >= found.groups.length) next = 0;
  if (next < 0 && !found.more) next = found.groups.length - 1;
  if (found.groups[next]) select(found.groups[next].key);
  else announce(found.total ? "This is the first finding." : "There is no finding.");
}

const fit = () => store.finding && select(store.finding);
const reset = () => store.bounds && store.set({ ...store.whole(), offset: 0 }, { push: true });
const tabulate = () => store.set({ table: !store.table }, { push: true });

listen({
  n: () => step(1), p: () => step(-1), f: fit, Enter: fit, r: reset, t: tabulate, m: () => stepping.mark(), Escape: () => stepping.drop(), k: () => store.lane && pin(store.lane),
  ArrowLeft: () => store.pan(-0.15), a: () => store.pan(-0.15), ArrowRight: () => store.pan(0.15), d: () => store.pan(0.15),
  ArrowUp: () => store.zoom(0.75), w: () => store.zoom(0.75), ArrowDown: () => store.zoom(1 / 0.75), s: () => store.zoom(1 / 0.75),
  PageUp: () => lanes.page(-1), PageDown: () => lanes.page(1),
  "[": () => fold([...store.closed, ...(loader.payload?.groups ?? []).map(({ key }) => key)]), "]": () => fold([]),
  ".": () => stepping.step(1), ",": () => stepping.step(-1),
  "/": () => (byId("search") ?? byId("filter-open")).focus(),
});
for (const name of ["main", "pins"]) {
  const tell = (point) => showTip(point && picture.scenes[name] ? whatIsAt(picture.scenes[name], point.x, point.y) : null, point);
  handle(picture.figures[name], {
    store, bench: lanes.bench, onHover: tell, onMeasure: (from, to) => stepping.between(name, from, to),
    onClick(point, target) {
      const finding = target.closest("[data-finding]")?.dataset.finding;
      if (finding) return select(finding);
      if (stepping.measure) stepping.drop();
      const lane = picture.scenes[name] ? laneAt(picture.scenes[name], point.y) : -1;
      if (lane >= 0) takeLane(loader.payload.lanes[lane].key);
      tell(point);
    },
  });
}
for (const [id, act] of [["fit", fit], ["reset", reset], ["table-toggle", tabulate]]) byId(id).addEventListener("click", act);
document.querySelector(".tabs").addEventListener("click", ({ target }) => {
  if (!target.dataset.tab) return;
  document.body.dataset.tab = target.dataset.tab;
  for (const button of document.querySelectorAll(".tabs button")) button.setAttribute("aria-pressed", String(button === target));
  reveal ??= "finding";
  draw();
  bringIn();
  listing.soon();
});
document.addEventListener("themechange", drawSoon);
addEventListener("beforeprint", draw);
addEventListener("popstate", async () => {
  store.read();
  const { offset } = store; // what scrolls while lanes come in writes its own
  drawSoon();
  listing.soon();
  loadFindings();
  if (loader.stale()) await loader.load();
  if (loader.payload) lanes.scrollTo(offset);
});
new ResizeObserver(() => {
  drawSoon();
  if (loader.payload) loader.soon();
}).observe(lanes.bench);
foldIntoSheet(() => store.bounds && toolbar.fit());
store.subscribe((changed) => {
  if (changed.some((name) => name !== "offset")) drawSoon();
  if (!store.bounds) return;
  loader.soon();
  listing.soon();
  if (changed.some((name) => name in filterOf(store))) loadFindings();
});

// -- start ------------------------------------------------------------------------------------------------------------

async function start() {
  try {
    const [whole] = await Promise.all([overview(source), found.load(filterOf(store))]);
    await found.bring([store.finding, ...store.arrows]);
    store.bounds = { first: whole.first, last: whole.last };
    toolbar.fill(whole);
    filters.fill(whole);
    minimap.draw(whole);
    if (store.start === null) {
      const shown = store.finding ? selected() : worst(found.groups);
      if (shown) store.set({ finding: shown.key, ...rangeAround(shown) });
    }
    reveal = store.offset ? null : selected() ? "finding" : "lane";
  } catch (error) {
    return failed(error);
  }
  const { offset } = store;
  await loader.load();
  if (offset && loader.payload) lanes.scrollTo(offset);
  listing.soon();
}

start();

// This module connects the parts of the timeline. The store holds the state, and drawing follows from it.

import { byId } from "./draw/dom.js";
import { Frames } from "./draw/frames.js";
import { BLOCK, Lanes, MARGIN } from "./draw/lanes.js";
import { Picture } from "./draw/picture.js";
import { ROW } from "./state/shapes.js";
import { addressBar } from "./state/address.js";
import { Windows, change, findings, incident, incidents, measure, opening, overview } from "./state/api.js";
import { IncidentsList } from "./state/incidentsList.js";
import { Loader } from "./state/loading.js";
import { Selection } from "./state/selection.js";
import { Store, filterOf } from "./state/store.js";
import { birthsOf, lanesOfAll } from "./state/window.js";
import { foldIntoSheet } from "./ui/bottomSheet.js";
import { ChangePanel } from "./ui/changePanel.js";
import { CopyPanel } from "./ui/copyPanel.js";
import { filterNews } from "./ui/filterNews.js";
import { Filters } from "./ui/filters.js";
import { IncidentsPanel } from "./ui/incidentsPanel.js";
import { listen } from "./ui/keys.js";
import { LaneActs } from "./ui/laneActs.js";
import { Listing } from "./ui/listing.js";
import { LogLanes } from "./ui/logLanes.js";
import { Minimap } from "./ui/minimap.js";
import { Notices } from "./ui/notices.js";
import { point } from "./ui/pointer.js";
import { onPaper } from "./ui/print.js";
import { Reveal } from "./ui/reveal.js";
import { Stepping } from "./ui/stepping.js";
import { Tabs } from "./ui/tabs.js";
import { TimePicker } from "./ui/timePicker.js";
import { Toolbar } from "./ui/toolbar.js";
import { showTip } from "./ui/tooltip.js";

const source = document.body.dataset.source, figure = byId("figure"), stage = byId("stage");
export const store = new Store(addressBar());
const live = document.body.dataset.live === "on"; // whether the source is live
const LEAST = 60e6; // the least µs that are shown of a live source
export const announce = (text) => (byId("announce").textContent = text);

const list = new IncidentsList({ incidents: (question) => incidents(source, question), findings: (question) => findings(source, question), incident: (id) => incident(source, id) });
const logs = new LogLanes({ store, source, announce, onFailed: failed, onMarks: () => drawSoon(), onLanes: () => loader.payload && (lanes.draw(loader.payload, store.lane), notices.logged(loader.payload), draw()) });
const lanes = new Lanes({
  onScroll, onPin: (key) => acts.pin(key), onLane: (key) => acts.select(key),
  onGroups: (keys, close) => acts.fold(close ? [...store.closed, ...keys] : store.closed.filter((key) => !keys.includes(key))),
  onStrip: (key) => store.toggle("open", key), onScope: (root) => acts.scope(root), onFolded: (key) => store.toggle("unfold", key), onLogs: (numbers) => logs.toggle(numbers), onLog: (log) => logs.lines.open(log, { at: Math.round(store.view().start) }),
}, () => logs.shown());
const toolbar = new Toolbar({ store });
export const times = new TimePicker({ store, announce });
const picture = new Picture({ store, lanes, list, actors: toolbar.actors, logs });
const notices = new Notices({ announce, onRetry: () => (loader.payload ? refresh() : start().then(() => store.bounds && store.set({}))), onClear: () => store.clear(), filtered: () => store.filtered().length > 0, logs: () => lanes.layout.alone.length });
const selection = new Selection({ store, list, announce, onFailed: failed, onCome: () => drawSoon(), onChosen: (wanted) => (reveal.wanted = wanted) });
const panel = new IncidentsPanel({ store, selection });
const minimap = new Minimap({ store, onMove: (range) => store.set(range, { push: "moved" }) });
const filters = new Filters({ store, incident: (id) => list.get(id) });
const loader = new Loader({
  windows: new Windows(source), store, place, focus: () => selection.selected?.focus ?? store.focus, keep: () => logs.keeping(),
  onLoading: () => figure.setAttribute("aria-busy", "true"), onLoaded, onFailed: failed,
});
const tabs = new Tabs({ store, onTurn });
const listing = new Listing({ windows: new Windows(source), store, question: () => loader.question(), shown: () => tabs.listed() });
const stepping = new Stepping({
  store, picture, loader, windows: new Windows(source), ask: (moments) => measure(source, moments), announce, onFailed: failed,
  onLane: () => acts.select(loader.payload?.lanes[lanes.layout.runs.find((run) => run.lanes.length)?.lanes[0] ?? 0]?.key ?? ""),
  onMove(stepped) {
    if (stepped) reveal.wanted = "lane";
    draw();
    reveal.show();
  },
});
const acts = new LaneActs({
  store, announce,
  onSelected(key) {
    stepping.cursor = null;
    if (loader.payload) lanes.draw(loader.payload, key);
  },
  onShow() {
    reveal.wanted = "lane";
    stepping.cursor = null;
  },
});
const changes = new ChangePanel({
  store, announce, ask: (track, question) => change(source, track, question), onFailed: failed,
  onShown: (found) => (stepping.goTo({ time: found.at, within: found.within, what: found.change, revision: found.resource_version, track: found.track }), showTip(null)),
});
const copies = new CopyPanel({ source, announce, stage, views: () => loader.payload?.views ?? [], onShown: () => changes.close() || logs.lines.close() });
const announceFilter = filterNews({ store, list, announce });
const reveal = new Reveal({ store, loader, lanes, selection, onHidden: (key) => acts.pin(key) });

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
  lanes.draw(payload, store.lane, store.unfold);
  selection.look();
  filters.scope(payload.scope);
  announceFilter(payload);
  notices.lanes(payload);
  draw();
  reveal.show();
}

function failed(error) {
  figure.removeAttribute("aria-busy");
  notices.failed(error);
}

function refresh() {
  loader.load();
  selection.reload();
}

// -- drawing ----------------------------------------------------------------------------------------------------------

const frames = new Frames(draw), drawSoon = () => frames.soon();

function draw(onlyMoved = false) {
  frames.begun();
  if (!store.bounds) return;
  const { payload } = loader;
  if (onlyMoved && payload) picture.draw(payload, stepping, true); // before the others, because it measures the page
  toolbar.draw(payload);
  minimap.move(store.view());
  panel.draw(list, {
    open: selection.open, view: store.view(), selected: store.finding, held: store.arrows, births: birthsOf(payload, selection.selected),
    filtered: store.filtered().length > 0 || store.focus !== "", hidden: store.hidden, alone: store.incident, now: live ? store.bounds.last : null,
  }, onlyMoved && payload !== null);
  if (onlyMoved && payload) return;
  filters.draw();
  changes.draw();
  stage.dataset.listed = tabs.listed();
  byId("table-toggle").setAttribute("aria-pressed", String(store.table));
  if (!payload) return;
  byId("lanes-count").textContent = lanesOfAll(payload, store.unfold);
  logs.prove(selection.selected);
  logs.draw(payload);
  picture.draw(payload, stepping);
}

// -- user actions -----------------------------------------------------------------------------------------------------

function onScroll(first) {
  showTip(null);
  if (!picture.covers()) drawSoon();
  if (first !== store.offset) store.set({ offset: first });
}

function onTurn() {
  reveal.wanted ??= "finding";
  draw();
  reveal.show();
  listing.soon();
}

export const showObject = (found) => acts.show(found), showFinding = (group) => selection.show(group);
const fit = () => store.finding && selection.select(store.finding);
const reset = () => store.bounds && store.set({ ...store.whole(), offset: 0 }, { push: true }), tabulate = () => store.set({ table: !store.table }, { push: true });

const stepped = () => (changes.found ? changes : logs.lines.found ? logs.lines : stepping);
export const showLine = ({ log, sequence }) => logs.lines.open(log, { sequence });

const zooms = Object.fromEntries(Object.entries({ ArrowUp: 0.75, w: 0.75, "+": 0.75, ArrowDown: 1 / 0.75, s: 1 / 0.75, "-": 1 / 0.75 }).map(([key, factor]) => [key, () => store.zoom(factor)]));
export const keys = {
  ...zooms, n: () => selection.step(1), p: () => selection.step(-1), o: () => selection.order(store.finding), f: fit, r: reset, t: tabulate, c: () => toolbar.colour(), m: () => stepping.mark(), k: () => store.lane && acts.pin(store.lane),
  Enter: () => (stepping.cursor ? changes.open(stepping.cursor) : fit()), Escape: () => changes.close() || logs.lines.close() || copies.close() || stepping.drop(),
  ArrowLeft: () => store.pan(-0.15), a: () => store.pan(-0.15), ArrowRight: () => store.pan(0.15), d: () => store.pan(0.15),
  PageUp: () => lanes.page(-1), PageDown: () => lanes.page(1), g: () => times.open(),
  "[": () => acts.fold([...store.closed, ...(loader.payload?.groups ?? []).map(({ key }) => key)]), "]": () => acts.fold([]),
  ".": () => stepped().step(1), ",": () => stepped().step(-1),
  "/": () => (byId("search") ?? byId("filter-open")).focus(),
};
listen(keys, (target) => stepping.cursor !== null && target.closest(".lane-name") !== null);
point({
  store, picture, stepping, bench: lanes.bench, onPointed: drawSoon, onFinding: (key) => selection.show({ key }),
  onLane: (index) => acts.select(loader.payload.lanes[index].key), onEvent: (event) => changes.open(event), onLine: (log, question) => logs.lines.open(log, question),
});
for (const [id, act] of [["fit", fit], ["reset", reset], ["table-toggle", tabulate]]) byId(id).addEventListener("click", act);
for (const name of ["themechange", "zonechange"]) document.addEventListener(name, drawSoon);
onPaper(() => draw());
addEventListener("popstate", async () => {
  store.read();
  outline().catch(failed); // the scope may have changed
  const { offset } = store; // scrolling while lanes are loading writes its own offset
  drawSoon();
  listing.soon();
  selection.reload();
  if (loader.stale()) await loader.load();
  if (loader.payload) lanes.scrollTo(offset);
});
new ResizeObserver(() => {
  drawSoon();
  if (loader.payload) loader.soon();
}).observe(lanes.bench);
foldIntoSheet(() => store.bounds && toolbar.fit());
store.subscribe((changed) => {
  frames.changed(changed);
  if (!store.bounds) return;
  loader.soon();
  listing.soon();
  selection.lookSoon();
  if (changed.includes("focus")) outline().catch(failed); // the minimap has ticks of findings in the scope only
  if (reveal.wanted && !loader.stale()) reveal.show();
  if (changed.some((name) => name in filterOf(store) || name === "focus" || name === "hidden")) selection.reload();
});

// -- start ------------------------------------------------------------------------------------------------------------

/** Shows the overview of the whole source, with the findings in the scope, and loads it if it is not given. Rejects with an ApiError. */
export async function outline(given = null) {
  const scope = store.focus;
  const whole = given ?? (await overview(source, scope));
  if (scope !== store.focus) return; // another one is on its way
  const { first, last } = whole;
  const begun = last - first > 1; // otherwise nothing has been observed yet
  document.body.classList.toggle("empty", live && !begun);
  store.bounds = { first: live && begun ? Math.min(first, last - LEAST) : first, last: Math.max(last, store.bounds?.last ?? last) };
  toolbar.fill(whole);
  filters.fill(whole);
  minimap.draw(whole);
}

/** Returns the filter and the arrangement of lanes as one text, to compare windows and lists by. */
const arranged = () => JSON.stringify([filterOf(store), ...["group", "open", "closed", "unfold", "pins", "focus", "incident", "hidden"].map((name) => store[name])]);
const asked = arranged();

/** Asks the server what the page shows first, and shows it. */
export async function start() {
  try {
    const first = await opening(() => arranged() === asked);
    await outline(first.overview);
    const alone = store.incident && !store.finding; // what it begins with is on top
    const changed = Object.entries(first.view ?? {}).filter(([name, value]) => store[name] !== value);
    if (changed.length) store.set(Object.fromEntries(changed));
    await selection.load(first);
    reveal.wanted = store.offset || alone ? null : selection.selected && !store.about ? "finding" : "lane";
  } catch (error) {
    return failed(error);
  }
  const { offset } = store;
  logs.begin(), await loader.load();
  if (offset && loader.payload) lanes.scrollTo(offset);
  listing.soon();
}

// These are the parts that a live source changes (live/live.js).
export const parts = { source, filters, loader, picture, list, selection, notices, minimap, panel, changes, failed, drawSoon };

export const begun = start();

// This module shows a live source: new changes are drawn at the moving edge, and the view follows it.

import { byId } from "../draw/dom.js";
import { creations } from "../state/api.js";
import { isLeftOut } from "../state/incidentsList.js";
import { objectMatches } from "../state/matching.js";
import { announce, begun, keys, outline, parts, start, store } from "../timeline.js";
import "./calm.js";
import { Clock } from "./clock.js";
import { Completeness } from "./completeness.js";
import { Edge } from "./edge.js";
import { Following } from "./following.js";
import { News } from "./newViolations.js";
import { connect } from "./socket.js";
import { describe, nothing } from "./status.js";

const RELOAD = 1_000, SHARE = 4; // the least ms between two requests of windows, and the least pause as a multiple of the time that loading took
const OUTLINE = 10_000; // the least ms between two requests of the overview
const STEP = 250, STILL = 1_000; // ms between two pictures while no changes come; the second with prefers-reduced-motion

const { source, loader, picture, list, selection, notices, minimap, panel, changes, drawSoon } = parts;
const button = byId("follow"), status = byId("live"), figure = byId("figure");
const calm = matchMedia("(prefers-reduced-motion: reduce)");
const clock = new Clock(), edge = new Edge((...track) => (store.group === "owner" ? creations.of(...track) : track[2])), news = new News(announce);
let cursor = null, connection = "connecting", health = null, behind = null;
let missed = false; // a message came while the page was hidden
let seen = new Set(); // keys of the findings that were announced

const following = new Following({
  store, edge: () => clock.now(),
  onChange(on, by) {
    drawButton();
    announce(on ? "Following live." : by ? "Paused: you moved the view." : "Paused.");
    if (on && !edge.attached) reloadSoon();
    tick();
  },
});

// -- drawing ----------------------------------------------------------------------------------------------------------

let frame = 0, drawn = 0, drawnAt = null, mapped = 0;

const tick = () => (frame ||= requestAnimationFrame(draw));

/** Moves the end of the store and of the window to the current time. */
function advanceToNow() {
  const now = clock.now();
  if (now === null || !store.bounds || store.bounds.last <= 1) return null;
  store.bounds.last = Math.max(store.bounds.last, now);
  if (edge.attached && edge.payload) {
    const { end, start: from } = store.view();
    if (now > end + (end - from)) edge.attached = false; // not visible; the window is loaded when the view returns to it
    else edge.payload.end = Math.max(edge.payload.end, now);
  }
  return now;
}

function draw() {
  frame = 0;
  drawn = performance.now();
  const now = advanceToNow();
  if (now === null) return;
  drawnAt = now;
  following.advance();
  if (drawn - mapped > STILL) {
    mapped = drawn;
    minimap.extend(now, []);
    panel.count(now);
    if (list.outdated(now)) selection.reload();
  }
  if (edge.payload && edge.attached && store.axis === "time") picture.drawEdge({ payload: edge.payload, edge: edge.moving(now), now });
  figure.dataset.edge = cursor ?? "";
}

picture.move({
  split(payload) {
    if (payload !== edge.payload) edge.take(payload);
    const now = advanceToNow() ?? payload.last;
    if (!edge.attached || store.axis !== "time") return { payload, fixed: payload, edge: edge.still(payload) };
    loader.payload = edge.whole(now);
    return { payload: loader.payload, fixed: edge.fixed, edge: edge.moving(now), now };
  },
});

setInterval(() => {
  if (!document.hidden && performance.now() - drawn >= (calm.matches ? STILL : STEP) && clock.now() !== drawnAt) tick();
}, STEP);

// -- windows, findings and overview, whose requests are limited in rate ---------------------------------------------------

let pending = {}; // what is fetched with the next window: findings, outline
let waiting = 0, loading = false, wished = false; // a request that comes while a window is loading needs another window
let loaded = -Infinity, took = 0, outlined = performance.now(), outlining = 0;

function reloadSoon() {
  if (document.hidden) missed = true;
  else if (loading) wished = true;
  else waiting ||= setTimeout(reload, Math.max(0, loaded + Math.max(RELOAD, SHARE * took) - performance.now()));
}

async function reload() {
  const began = performance.now();
  waiting = 0;
  loading = true;
  wished = false;
  if (pending.outline) outlineNow();
  if (pending.findings) {
    list.forget();
    selection.reload();
  }
  pending = {};
  try {
    if (loader.payload && store.bounds.last > 1) wished ||= !(await loader.load());
    else await start();
  } finally {
    loaded = performance.now();
    took = loaded - began;
    loading = false;
    if (wished) reloadSoon();
  }
}

/** Loads the overview soon, once for several changes, and always after the last of them. */
function outlineSoon() {
  outlining ||= setTimeout(outlineNow, Math.max(0, outlined + OUTLINE - performance.now()));
}

async function outlineNow() {
  clearTimeout(outlining);
  outlining = 0;
  outlined = performance.now();
  try {
    await outline();
  } catch { /* the next request shows the error */ }
}

/** Loads everything again after messages were missed. */
function refetch() {
  missed = document.hidden;
  pending = { findings: true, outline: true };
  reloadSoon();
}

// -- messages -----------------------------------------------------------------------------------------------------------

/** Returns whether a track on a lane that is not loaded may match the filter. */
function concerns({ family, lane }) {
  const [, namespace, name] = lane.split("/");
  return objectMatches({ family, namespace, name }, store);
}

/** Returns whether the list shows only some incidents, so that the server has to say whether it shows a changed one. */
const chosen = (incidents) => store.filtered().length > 0 || store.focus !== "" || (!store.hidden && incidents.some(isLeftOut));

function takeFindings({ findings, gone, incidents, incidents_gone: lost }) {
  const fresh = findings.filter((group) => !seen.has(group.key) && !list.knows(group));
  for (const { key } of findings) seen.add(key);
  if (seen.size > 10_000) seen = new Set([...seen].slice(-5_000));
  news.add(fresh.filter(({ status: state }) => state !== "withdrawn").length);
  if (![findings, gone, incidents, lost].some(({ length }) => length)) return;
  minimap.extend(clock.now() ?? 0, store.focus ? fresh.filter(({ focus }) => String(focus) === store.focus) : fresh);
  for (const group of findings) list.put(group);
  for (const key of gone) list.drop(key, key === store.finding);
  if (chosen(incidents)) pending.findings = true;
  else {
    for (const incident of incidents) list.putIncident(incident);
    for (const id of lost) list.dropIncident(id);
  }
  reloadSoon(); // the window contains their holes, shades and arrows
  drawSoon();
}

const handlers = {
  delta(delta) {
    if (cursor !== null && delta.sequence <= cursor) return;
    cursor = delta.sequence;
    behind = delta.behind;
    clock.take(delta.last);
    if (document.hidden) {
      missed = true;
      return news.add(delta.findings.filter((group) => !seen.has(group.key) && !list.knows(group)).length);
    }
    takeFindings(delta);
    changes.renew(delta.tracks);
    const { unknown, stale } = edge.add(delta);
    if (stale || unknown.some(concerns) || (store.axis === "order" && delta.tracks.length) || !store.bounds || store.bounds.last <= 1) reloadSoon();
    outlineSoon();
    tick();
  },
  refetch({ sequence }) {
    cursor = Math.max(cursor ?? 0, sequence);
    refetch();
  },
  health(message) {
    health = message;
    if (health.last) clock.atLeast(health.last + (health.state === "live" ? health.silent ?? 0 : 0));
    clock.run(health.state === "live");
    if (health.gaps) completeness.count(health.gaps);
    if (health.state === "ended") socket?.end();
  },
  alerts: () => document.dispatchEvent(new Event("newalerts")),
  gone() {
    connection = "gone";
    socket?.end();
  },
};

// -- in words -----------------------------------------------------------------------------------------------------------

function drawButton() {
  const on = following.on;
  button.setAttribute("aria-pressed", String(on));
  button.textContent = !on ? "Follow live" : arriving ? "Following live" : "Following, no changes arrive";
}

let arriving = true; // whether all changes arrive at this page
const completeness = new Completeness();

let announced = null; // the tone of the last announced status; null until the first connection is open

function drawStatus() {
  const { words, tone, about } = describe(connection, health, behind);
  status.textContent = words;
  status.title = about;
  status.dataset.tone = tone;
  arriving = tone === "good" || tone === "wait";
  completeness.draw(arriving, status.title || status.textContent);
  drawButton();
  notices.nothing(nothing(connection, health));
  if (announced !== null && announced !== tone) announce(tone === "good" ? "Connected again." : `${words}. ${about}`);
  if (announced !== null || tone === "good") announced = tone;
}

let socket = null;

begun.finally(() => {
  cursor = loader.payload?.sequence ?? null; // the server sends the changes after this sequence number
  socket = connect(source, () => cursor, {
    message(message) {
      handlers[message.type]?.(message);
      drawStatus();
    },
    state(state) {
      if (connection === "gone" || state === connection) return;
      connection = state;
      clock.run(state === "connected" && health?.state === "live");
      drawStatus();
    },
    woken: () => (missed = true),
  });
});

document.addEventListener("visibilitychange", () => {
  if (!document.hidden && missed) refetch();
});
button.addEventListener("click", () => following.toggle());
keys.l = () => following.toggle();
store.subscribe((names) => names.includes("follow") && drawButton());
drawButton();
drawStatus();

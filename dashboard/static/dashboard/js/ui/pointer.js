// This module handles the pointer on the figures: the wheel and two fingers zoom, dragging with the mouse zooms to a part and
// with Shift pans, or the other way round if the reader chose so, and with Alt or Ctrl it measures. A finger pans. Hovering shows
// the tooltip, and a click selects a lane or a finding.

import { byId, el } from "../draw/dom.js";
import { dotAt } from "../draw/dots.js";
import { eventAt, laneAt, whatIsAt } from "../draw/hits.js";
import { linesAt } from "../draw/logs.js";
import { useAt } from "../draw/views.js";
import { duration } from "../state/durations.js";
import { showTip } from "./tooltip.js";

const CLICK = 4; // the most px that the pointer may move during a click
const NEAR = { mouse: 9, pen: 12, touch: 18 }; // px within which a click opens the change of an event
const STORED = "causeline-drag", PANS = "pans"; // the value that is stored if dragging pans, and dragging with Shift zooms

/** Lets the reader choose what dragging does, and remembers it. Returns a function that says whether dragging pans. */
function chosen() {
  const choice = byId("drag-choice");
  let pans = false;
  try { pans = localStorage.getItem(STORED) === PANS; } catch { /* storage can be forbidden */ }
  const show = () => {
    for (const input of choice.querySelectorAll("input")) input.checked = (input.value === PANS) === pans;
    byId("stage").classList.toggle("pans", pans);
  };
  choice.addEventListener("change", ({ target }) => {
    pans = target.value === PANS;
    try { localStorage.setItem(STORED, target.value); } catch { /* then the choice is valid for this page only */ }
    show();
  });
  show();
  return () => pans;
}

/** What dragging does: {begin(point), move(point, event, before), end(point)}; the last two are optional. Points have x and width in px. */
function ways(figure, { store, bench, onMeasure }) {
  const band = el("div", { class: "zoom-band", "aria-hidden": "true" }, el("span"));
  const inside = ({ x, width }) => Math.min(1, Math.max(0, x / width));
  return {
    measure: { move: (began, point) => onMeasure(began, point) },
    pan: {
      move(began, point, event, before) {
        figure.classList.add("dragged");
        if (event.pointerType === "mouse") bench.scrollTop -= event.clientY - before.clientY; // fingers scroll by themselves
        if (event.clientX !== before.clientX) store.pan((before.clientX - event.clientX) / point.width);
      },
      over: () => figure.classList.remove("dragged"),
    },
    zoom: {
      move(began, point) {
        const [left, right] = [inside(began), inside(point)].sort((a, b) => a - b);
        band.style.left = `${left * 100}%`;
        band.style.width = `${(right - left) * 100}%`;
        const [start, end] = store.times(left, right);
        band.firstChild.textContent = duration(Math.max(1, Math.round(end - start)));
        if (!band.parentNode) figure.append(band);
      },
      over: () => band.remove(),
      done: (began, point) => store.narrow(inside(began), inside(point)),
    },
  };
}

/** Handles the pointer on one figure. Calls `onHover({x, y, clientX, clientY} or null)`, `onClick(point, target)` and `onMeasure(from, to)` with two points, with x and y in px of the plot. */
function handle(figure, { store, bench, pans, onHover, onClick, onMeasure }) {
  const pointers = new Map(), drags = ways(figure, { store, bench, onMeasure });
  let began = null; // {x, y, target, way (of `drags`), moved, given (whether Escape gave it up)} of the first pointer
  const wayOf = (event) => (event.pointerType !== "mouse" ? drags.pan : event.altKey || event.ctrlKey || event.metaKey ? drags.measure : event.shiftKey === pans() ? drags.zoom : drags.pan);
  const at = (event) => {
    const box = figure.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top, width: box.width, clientX: event.clientX, clientY: event.clientY, pointerType: event.pointerType };
  };

  figure.addEventListener("wheel", (event) => {
    if (event.ctrlKey && event.deltaY === 0) return;
    event.preventDefault();
    onHover(null);
    const { x, width } = at(event);
    const pixels = event.deltaMode === 1 ? 16 : 1;
    const sideways = event.shiftKey ? event.deltaX || event.deltaY : Math.abs(event.deltaX) > Math.abs(event.deltaY) ? event.deltaX : 0;
    if (sideways) store.pan((sideways * pixels) / width);
    else store.zoom(Math.exp(Math.max(-1, Math.min(1, (event.deltaY * pixels) / 400))), x / width);
  }, { passive: false });

  figure.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    if (pointers.size === 0) began = { ...at(event), target: event.target, way: wayOf(event), moved: false, given: false };
    pointers.set(event.pointerId, event);
    figure.setPointerCapture(event.pointerId);
    onHover(null);
  });

  figure.addEventListener("pointermove", (event) => {
    const before = pointers.get(event.pointerId);
    if (!before) return event.pointerType === "mouse" ? onHover(at(event)) : undefined;
    const point = at(event);
    began.moved ||= Math.hypot(point.x - began.x, point.y - began.y) > CLICK || pointers.size > 1;
    if (pointers.size === 2) pinch(event, before, point.width);
    else if (!began.moved) return; // a small movement does not drag
    else if (!began.given) began.way.move(began, point, event, before);
    pointers.set(event.pointerId, event);
  });

  function pinch(event, before, width) {
    const [other] = [...pointers].filter(([id]) => id !== event.pointerId).map(([, held]) => held);
    const apart = Math.max(20, Math.abs(before.clientX - other.clientX)), now = Math.max(20, Math.abs(event.clientX - other.clientX));
    store.zoom(apart / now, at(other).x / width);
  }

  const release = (event) => {
    const held = pointers.delete(event.pointerId);
    began?.way.over?.();
    if (!held || event.type !== "pointerup" || pointers.size > 0) return;
    if (!began.moved) onClick(at(event), began.target);
    else if (!began.given) began.way.done?.(began, at(event));
  };
  document.addEventListener("keydown", ({ key }) => {
    if (key !== "Escape" || pointers.size === 0) return;
    began.given = true;
    began.way.over?.();
  });
  figure.addEventListener("pointerup", release);
  figure.addEventListener("pointercancel", release);
  figure.addEventListener("pointerleave", () => onHover(null));
  figure.addEventListener("dblclick", (event) => {
    const { x, width } = at(event);
    store.zoom(event.shiftKey ? 2 : 0.5, x / width);
  });
}

/** Handles the pointer on all figures. Calls `onPointed()` if the sign of another violation is pointed at, or none any more, `onFinding(key)` if a sign or the label of an arrow was clicked, `onLane(index)` if a lane was, and then `onEvent(event)` if an event of it was, and `onLine(log, {at (µs) or sequence})` if lines of a log were. */
export function point({ store, picture, stepping, bench, onPointed, onFinding, onLane, onEvent, onLine }) {
  const pans = chosen();
  for (const [name, figure] of Object.entries(picture.figures)) {
    const scene = () => picture.scenes[name];
    const showTipAt = (at) => {
      const dot = at && scene() ? dotAt(scene(), at.x, at.y) : null, pointed = dot?.finding ?? "";
      figure.classList.toggle("pointing", dot !== null);
      if (pointed !== picture.pointed) [picture.pointed = pointed, onPointed()];
      showTip(at && scene() ? whatIsAt(scene(), at.x, at.y) : null, at);
      const act = at && scene() ? useAt(scene(), at.x, at.y) : null;
      figure.dispatchEvent(new CustomEvent("hover", { bubbles: true, detail: act && { use: `${act.view.place}.${act.number}`, at } }));
    };
    handle(figure, {
      store, bench, pans, onHover: showTipAt, onMeasure: (from, to) => stepping.between(name, from, to),
      onClick(at, target) {
        const finding = target.closest("[data-finding]")?.dataset.finding ?? (scene() && dotAt(scene(), at.x, at.y, at.pointerType)?.finding);
        if (finding) return onFinding(finding);
        const act = scene() && useAt(scene(), at.x, at.y);
        if (act) return figure.dispatchEvent(new CustomEvent("use", { bubbles: true, detail: `${act.view.place}.${act.number}` }));
        if (stepping.measure) stepping.drop();
        const lines = scene() && linesAt(scene(), at.x, at.y);
        if (lines) {
          showTipAt(null);
          return onLine(lines.log.log, lines.sequence === undefined ? { at: lines.time } : { sequence: lines.sequence });
        }
        const lane = scene() ? laneAt(scene(), at.y) : -1;
        if (lane >= 0) onLane(lane);
        const event = scene() && eventAt(scene(), at.x, at.y, NEAR[at.pointerType] ?? NEAR.mouse);
        showTipAt(event ? null : at);
        if (event) onEvent(event);
      },
    });
  }
}

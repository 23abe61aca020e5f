// This module marks on the axis of time what people changed in the part that is shown, and lists it in a panel. Each mark
// and each row leads to the difference.

import { byId, el } from "../draw/dom.js";
import { changes } from "../state/api.js";
import { clock, day } from "../state/time.js";
import { zone } from "../state/zone.js";
import { timeOf } from "./timeOf.js";

const PAUSE = 500; // ms for which the view has to rest before the server is asked
const FOLLOWING = 15_000; // the least ms between two requests while the view follows a live source
const DAY = 1440; // minutes; the most that the server is asked about
const MOST = 30; // marks, and rows of the panel

const microseconds = (iso) => Date.parse(iso) * 1000;
const authorOf = (set) => set.user_agent?.split("/")[0] ?? "not recorded by whom";
const leadOf = (set) => set.writes[0] ?? set.steps[0];

function row(set) {
  const { object, url } = leadOf(set);
  const time = microseconds(set.start);
  const others = set.writes_total - 1;
  return el("li", {},
    el("a", { href: url }, el("bdi", {}, set.text)),
    el("p", { class: "soft" },
      timeOf(time, `${day(time)} ${clock(time, 3)} ${zone().label(time)}`, { class: "mono" }),
      ` · ${object.namespace ? `in ${object.namespace} · ` : ""}${authorOf(set)}${others > 0 ? ` · with ${others} more ${others === 1 ? "change" : "changes"}` : ""}`));
}

export function changeMarks({ store, source, announce }) {
  const place = byId("axis-changes"), panel = byId("changed-panel"), opener = byId("changed");
  let found = null, problem = "", asked = "", askedAt = -Infinity, timer = 0;

  function draw() {
    if (!store.bounds) return;
    const { start, end } = store.view();
    const marks = store.axis === "time" ? (found?.changes ?? []).map((set) => [set, microseconds(set.start)]) : [];
    place.replaceChildren(...marks.filter(([, time]) => time >= start && time <= end).map(([set, time]) =>
      el("a", { href: leadOf(set).url, title: `${set.text} · ${authorOf(set)}`, tabindex: "-1", style: `left:${((100 * (time - start)) / (end - start)).toFixed(3)}%` }, "▲")));
    if (!panel.hidden) list();
  }

  function list() {
    const all = el("a", { href: address() }, "All of them, on a page of their own");
    const sets = found?.changes ?? [];
    const span = found?.minutes === 1 ? "minute" : `${found?.minutes} minutes`;
    byId("changed-count").textContent = found ? (found.total > sets.length ? `${sets.length} of ${found.total}` : `${found.total}`) : "";
    byId("changed-body").replaceChildren(...[
      problem ? el("p", { role: "status" }, problem) : null,
      found && !sets.length ? el("p", {}, `In the ${span} up to the end of what is shown, no change was recorded that somebody meant to make.`) : null,
      sets.length ? el("p", { class: "soft" }, `In the ${span} up to the end of what is shown; the gravest and latest come first. That they were made does not show that one of them was the cause.`) : null,
      sets.length ? el("ol", { class: "change-sets" }, sets.map(row)) : null,
      el("p", {}, all),
    ].filter(Boolean));
  }

  /** Returns the address of the page that tells what changed in the part that is shown, around the object in focus. */
  function address() {
    const minutes = Math.min(DAY, Math.max(1, minutesOf(store.view())));
    return `${opener.pathname}?before=${Math.round(store.view().end)}&minutes=${minutes}${store.focus ? `&about=${store.focus}` : ""}`;
  }

  async function load() {
    const view = store.view();
    const minutes = minutesOf(view);
    const question = `${view.start} ${view.end} ${store.focus}`;
    if (question === asked) return;
    if (store.follow && performance.now() - askedAt < FOLLOWING) return;
    [asked, askedAt] = [question, performance.now()];
    if (minutes > DAY || minutes < 1) {
      [found, problem] = [null, "Show at most a day: changes are ranked for as long as that."];
      return draw();
    }
    try {
      const answer = await changes(source, { before: Math.ceil(view.end), minutes, about: store.focus, limit: MOST });
      if (question !== asked) return;
      [found, problem] = [answer, ""];
    } catch {
      [found, problem] = [null, "What changed could not be loaded. Move the view, or open the page."];
    }
    draw();
  }

  const soon = () => {
    draw();
    clearTimeout(timer);
    timer = setTimeout(load, PAUSE);
  };

  function close() {
    if (panel.hidden) return;
    panel.hidden = true;
    (opener.checkVisibility() ? opener : byId("sheet-open")).focus({ preventScroll: true });
  }
  opener.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return void (opener.href = address()); // in another tab
    event.preventDefault();
    if (!store.bounds) return;
    panel.hidden = !panel.hidden;
    if (panel.hidden) return;
    list();
    panel.focus({ preventScroll: true });
    announce(found ? `What changed: ${found.total}` : problem || "What changed");
  });
  byId("changed-close").addEventListener("click", close);
  panel.addEventListener("keydown", (event) => {
    if (event.key === "Escape") [event.stopPropagation(), close()];
  });
  document.addEventListener("zonechange", draw);
  store.subscribe((changed) => {
    if (changed.some((name) => (name === "change" || name === "line") && store[name])) panel.hidden = true;
    if (store.bounds) soon();
  });
  if (store.bounds) soon();
}

const minutesOf = ({ start, end }) => Math.ceil((end - start) / 60e6);

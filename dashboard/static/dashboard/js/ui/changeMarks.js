// This module marks on the axis of time what people changed in the part that is shown, and lists in a panel what they changed
// before the selected incident began, before the alert of a link, or else up to the end of that part. Each mark and each row leads
// to the difference.

import { byId, el } from "../draw/dom.js";
import { changes } from "../state/api.js";
import { clock, day } from "../state/time.js";
import { zone } from "../state/zone.js";
import { timeOf } from "./timeOf.js";

const PAUSE = 500; // ms for which the view has to rest before the server is asked
const FOLLOWING = 15_000; // the least ms between two requests while the view follows a live source
const DAY = 1440; // minutes; the most that the server is asked about
const MOST = 30; // marks, and rows of the panel
const BACK = 30; // minutes before an incident or an alert that the panel tells of

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

const minutesOf = ({ start, end }) => Math.ceil((end - start) / 60e6);

/** `parts` has the selection and the list of incidents of the timeline. */
export function changeMarks({ store, source, announce, parts: { selection, list: incidents } }) {
  const place = byId("axis-changes"), panel = byId("changed-panel"), opener = byId("changed");
  let found = null, problem = "", asked = "", askedAt = -Infinity, timer = 0; // of the part that is shown
  let earlier = null, failed = "", sought = ""; // before an incident or an alert

  /** Returns the incident or the alert before which the panel tells what changed: {until (in words), question (of the API and the page)}; null for the part that is shown. */
  function anchor() {
    const incident = incidents.incidents.find(({ id }) => id === selection.open);
    const since = (what, time) => `before ${what}, ${clock(time, 3)} ${zone().label(time)}`;
    if (incident) return { until: since("the selected incident began", incident.start), question: { incident: incident.id, minutes: BACK } };
    const at = Number(store.at);
    if (!Number.isSafeInteger(at) || at <= 0) return null;
    const about = store.focus || store.about;
    return { until: since("the alert", at), question: { before: at, minutes: BACK, ...(about ? { about } : {}) } };
  }

  function draw() {
    if (!store.bounds) return;
    const { start, end } = store.view();
    const marks = store.axis === "time" ? (found?.changes ?? []).map((set) => [set, microseconds(set.start)]) : [];
    place.replaceChildren(...marks.filter(([, time]) => time >= start && time <= end).map(([set, time]) =>
      el("a", { href: leadOf(set).url, title: `${set.text} · ${authorOf(set)}`, tabindex: "-1", style: `left:${((100 * (time - start)) / (end - start)).toFixed(3)}%` }, "▲")));
    if (!panel.hidden) list();
  }

  /** Returns the question about the part that is shown, around the object in focus. */
  function question() {
    const view = store.view();
    const minutes = Math.min(DAY, Math.max(1, minutesOf(view)));
    return { before: Math.round(view.end), minutes, ...(store.focus ? { about: store.focus } : {}) };
  }

  function list() {
    const from = anchor();
    if (from) seek(from.question);
    const [known, wrong] = from ? [earlier, failed] : [found, problem];
    const sets = known?.changes ?? [];
    const span = `In the ${known?.minutes === 1 ? "minute" : `${known?.minutes} minutes`} ${from ? from.until : "up to the end of what is shown"}`;
    byId("changed-count").textContent = known ? (known.total > sets.length ? `${sets.length} of ${known.total}` : `${known.total}`) : "";
    byId("changed-body").replaceChildren(...[
      wrong ? el("p", { role: "status" }, wrong) : null,
      known && !sets.length ? el("p", {}, `${span}, no change was recorded that somebody meant to make.`) : null,
      sets.length ? el("p", { class: "soft" }, `${span}; the gravest and latest come first. That they were made does not show that one of them was the cause.`) : null,
      sets.length ? el("ol", { class: "change-sets" }, sets.map(row)) : null,
      el("p", {}, el("a", { href: address() }, "All of them, on a page of their own")),
    ].filter(Boolean));
  }

  /** Loads what changed before an incident or an alert, once. */
  async function seek(asking) {
    const written = JSON.stringify(asking);
    if (written === sought) return;
    [sought, earlier, failed] = [written, null, ""];
    try {
      const answer = await changes(source, { ...asking, limit: MOST });
      if (written === sought) earlier = answer;
    } catch {
      if (written === sought) failed = "What changed could not be loaded. Open the page.";
    }
    if (written === sought && !panel.hidden) list();
  }

  /** Returns the address of the page that tells the same as the panel, and more of it. */
  const address = () => `${opener.pathname}?${new URLSearchParams(anchor()?.question ?? question())}`;

  async function load() {
    const view = store.view();
    const minutes = minutesOf(view);
    const wanted = `${view.start} ${view.end} ${store.focus}`;
    if (wanted === asked) return;
    if (store.follow && performance.now() - askedAt < FOLLOWING) return;
    [asked, askedAt] = [wanted, performance.now()];
    if (minutes > DAY || minutes < 1) {
      [found, problem] = [null, "Show at most a day: changes are ranked for as long as that."];
      return draw();
    }
    try {
      const answer = await changes(source, { ...question(), limit: MOST });
      if (wanted !== asked) return;
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
    announce(found && !anchor() ? `What changed: ${found.total}` : problem || "What changed");
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

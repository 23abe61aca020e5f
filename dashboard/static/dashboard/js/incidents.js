// This module keeps a list of incidents up to date with the server's HTML, and helps to select rows, to filter and to save searches.

import { byId, el } from "./draw/dom.js";
import { plural } from "./state/amounts.js";
import { changed } from "./state/ordering.js";
import { listen } from "./state/updates.js";
import { unattended } from "./state/attended.js";
import { between, completions, saved, textOf, toggleSaved, withTimes } from "./state/terms.js";
import { fromIso } from "./state/time.js";
import { readTime } from "./state/typedTime.js";
import { zone } from "./state/zone.js";
import { rangeFor } from "./ui/timePicker.js";
import { engaged } from "./ui/steady.js";

const OFTEN = 500; // the least ms between two updates
const SHARE = 3; // from one update to the next pass so many times as long as it took, so that a busy server is left alone
const CLOCK = 5_000; // ms between two updates of the ages on a list with a connected cluster
const TYPED = 400; // ms without a key after which the filter is applied

const own = document.body.dataset.incidents; // the id of the source, or "all"
const filter = byId("narrow");
let letGo = false; // whether the reader has asked for the new order
let renewed = -OFTEN, pause = OFTEN, soon = 0, renewing = false, again = false, typing = 0;

const rowsIn = (list) => [...list.querySelectorAll(".incidents tbody tr")];
const boxes = () => [...document.querySelectorAll('.incidents tbody [type="checkbox"]:not(:disabled)')];

/** Returns what the user has entered in the list: checked rows, what is unfolded, the note, and what has the focus. */
function entered(list) {
  const fields = [...list.querySelectorAll("input[name]:not([type=hidden])")];
  const name = (field) => `[name="${field.name}"]${field.name === "incident" ? `[value="${field.value}"]` : ""}`;
  const active = list.contains(document.activeElement) ? document.activeElement : null;
  return {
    checked: fields.filter((field) => field.checked).map(name),
    unfolded: [...list.querySelectorAll("details[open]")].map((symptoms) => symptoms.closest("tr").id),
    typed: fields.filter((field) => field.type === "text" && field.value).map((field) => [name(field), field.value, field.selectionStart]),
    focus: active && (active.name === "incident" || active.name === "note" ? name(active) : active.getAttribute("href") && `a[href="${CSS.escape(active.getAttribute("href"))}"]`),
  };
}

function restore(list, { checked, unfolded, typed, focus }) {
  for (const each of checked) if (list.querySelector(each)) list.querySelector(each).checked = true;
  for (const row of unfolded) list.querySelector(`[id="${row}"] details`)?.setAttribute("open", "");
  for (const [field, value, caret] of typed) {
    const input = list.querySelector(field);
    if (input) Object.assign(input, { value, selectionStart: caret, selectionEnd: caret });
  }
  if (focus) list.querySelector(focus)?.focus({ preventScroll: true });
  count();
}

/** Brings the rows up to date in their places, with a button that says how many are elsewhere in the fresh list, or not in both. */
function keepPlaces(list, fresh, many) {
  const now = new Map(rowsIn(fresh).map((row) => [row.id, row]));
  for (const row of rowsIn(list)) if (now.has(row.id)) row.replaceWith(document.adoptNode(now.get(row.id)));
  const button = byId("changed-rows") ?? el("button", { type: "button", class: "button", id: "changed-rows", title: "Rows keep their places while you are at the list. Show the new order." });
  button.textContent = `${many} changed`;
  button.onclick = () => {
    letGo = true;
    renew();
  };
  list.append(button);
  setTimeout(renewSoon, CLOCK);
}

/** Shows a fresh list, with what the user has entered; while the user is at the rows, their places stay. */
function show(list, fresh) {
  const [before, after] = [list, fresh].map((each) => rowsIn(each).map(({ id }) => id));
  const kept = entered(list), body = list.querySelector(".incidents tbody");
  const many = body && !letGo && engaged(body) ? changed(before, after) : 0;
  letGo = false;
  if (many) keepPlaces(list, fresh, many);
  else list.replaceWith(document.adoptNode(fresh));
  restore(many ? list : fresh, kept);
  const added = after.filter((id) => !before.includes(id)).length;
  if (added && !many) byId("announce").textContent = plural(added, "new incident");
}

async function renew() {
  if (renewing) return (again = true);
  renewing = true;
  renewed = performance.now();
  try {
    const answer = await fetch(location.href, { headers: { Accept: "text/html", ...unattended() } });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const old = byId("incidents"), fresh = page.getElementById("incidents");
    if (answer.ok && fresh) show(old, fresh);
  } catch {
    // The server may be restarting. The next message or the next update of the clock tries again.
  }
  renewing = false;
  pause = Math.max(OFTEN, SHARE * (performance.now() - renewed));
  if (again) renewSoon();
  again = false;
}

/** Updates at once after a change, but not continuously while a cluster changes all the time. */
function renewSoon() {
  soon ||= setTimeout(() => {
    soon = 0;
    if (!getSelection().isCollapsed) setTimeout(renewSoon, OFTEN); // the user is copying text
    else if (!document.hidden) renew();
  }, Math.max(0, renewed + pause - performance.now()));
}

function count() {
  const all = document.querySelector("[data-pick-all]"), every = boxes();
  const checked = every.filter((box) => box.checked).length;
  if (!all) return;
  all.checked = checked > 0 && checked === every.length;
  all.indeterminate = checked > 0 && checked < every.length;
  const button = document.querySelector('.bar [value="acknowledge"]');
  button.textContent = document.querySelector(".bar [name=all]").checked ? "Acknowledge all" : `Acknowledge ${checked}`;
}

document.addEventListener("change", ({ target }) => {
  if (target.matches("[data-pick-all]")) for (const box of boxes()) box.checked = target.checked;
  if (target.closest("#incidents")) count();
  if (target.closest("#narrow")) filter.requestSubmit();
});
filter.addEventListener("input", ({ target }) => {
  clearTimeout(typing);
  if (target.name !== "q") return;
  offer();
  if (!target.value.includes(":")) typing = setTimeout(() => filter.requestSubmit(), TYPED); // a term may not be complete: Enter applies it
});

/** Reads a time (see readTime). It is near the newest incident that is listed, in a recording, and near now where clusters are connected. A clock is one that is past. */
function time(text) {
  const times = [...document.querySelectorAll("#incidents .last time")].map((each) => fromIso(each.getAttribute("datetime")));
  const now = Date.now() * 1000, newest = document.body.matches("[data-live]") || !times.length ? now : Math.max(...times);
  return readTime(text, { now: newest, near: newest, last: now, zone: zone() });
}

filter.addEventListener("formdata", ({ formData }) => { // an address without empty parameters is easier to read
  const asked = formData.get("q"), found = time(asked);
  formData.set("q", found ? between(rangeFor(found)) : withTimes(asked, time));
  for (const [name, value] of [...formData]) if (!value) formData.delete(name);
});

// -- searches -------------------------------------------------------------------------------------------------------

const searches = el("datalist", { id: "searches" }), save = el("button", { type: "button", class: "button quiet", title: "It is kept in this browser, and offered in the field Words" });
const valuesOf = (name) => [...filter.elements[name].options].map(({ value }) => value);

/** Offers to complete the last term of the search, or the saved searches. */
function offer() {
  const field = filter.elements.q;
  const found = completions(field.value, { ns: valuesOf("namespace"), rule: valuesOf("rule"), actor: valuesOf("actor") });
  const kept = saved().filter((text) => text.includes(field.value)).map((text) => ({ text, about: "saved" }));
  searches.replaceChildren(...[...(field.value.includes(":") ? [] : kept), ...found].map(({ text, about }) => el("option", { value: text }, about)));
}

/** Shows the button that saves what the list is filtered by, or forgets it. */
function drawSave() {
  const text = textOf(Object.fromEntries(["severity", "state", "rule", "namespace", "actor", "q"].map((name) => [name, filter.elements[name].value.trim()])));
  save.hidden = !text;
  save.textContent = saved().includes(text) ? "Forget search" : "Save search";
  save.onclick = () => {
    toggleSaved(text);
    drawSave();
    offer();
  };
}

filter.append(searches, save);
offer();
drawSave();

listen("incidents", {
  incidents: ({ source }) => (own === "all" || source === null || String(source) === own) && renewSoon(),
  sources: renewSoon,
  refetch: renewSoon,
});
setInterval(() => document.body.matches("[data-live]") && renewSoon(), CLOCK);
document.addEventListener("visibilitychange", () => document.hidden || renewSoon());

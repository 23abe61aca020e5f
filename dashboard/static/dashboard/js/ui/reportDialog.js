// This module opens the dialog in which a report is made: its note, its format, and whether it covers the open incident, the view or all.

import { byId } from "../draw/dom.js";
import { actorName } from "../state/actors.js";
import { clock, day, digitsFor } from "../state/time.js";
import { zone } from "../state/zone.js";

const SHOWN = 1800; // ms for which a button says what it has done
const NAMES = { kinds: "kinds", namespace: "namespace", name: "names with", rule: "rule", severity: "severity", actor: "actor" };

/** Returns what the view shows as text: its range, the object in focus, and its filters. */
function shown(store) {
  const { start, end } = store.view();
  const digits = digitsFor(end - start);
  const filters = Object.entries(NAMES).filter(([name]) => String(store[name])).map(([name, words]) => `${words} ${name === "actor" ? actorName(store.actor) : String(store[name]).replaceAll(",", ", ")}`);
  return [`${day(start)}, ${clock(start, digits)} – ${clock(end, digits)} ${zone().labelOf(start, end)}`, ...(store.focus ? ["the object in focus"] : []), ...filters].join(" · ");
}

/** `incident()` returns the open incident, which the report covers unless the reader chooses something else; undefined without one. */
export function reportDialog({ store, announce, incident }) {
  const dialog = byId("report-dialog"), form = byId("report-form"), copy = byId("report-copy");
  const place = form.getAttribute("action");
  let open;
  const queries = { incident: () => `?incident=${open.id}`, view: () => store.search(), whole: () => "" };
  const follow = () => (form.action = place + queries[form.elements.covers.value]());

  byId("report").addEventListener("click", () => {
    open = incident();
    byId("report-of-incident").hidden = !open;
    byId("report-incident").textContent = open ? `${open.name} · ${open.title}` : "";
    form.elements.covers.value = open ? "incident" : "view";
    byId("report-view").textContent = shown(store);
    dialog.showModal();
  });
  byId("report-close").addEventListener("click", () => dialog.close());
  form.addEventListener("submit", follow);

  copy.addEventListener("click", async () => {
    const label = copy.textContent;
    copy.disabled = true;
    follow();
    const body = new FormData(form);
    body.set("format", "md");
    try {
      const answer = await fetch(form.action, { method: "POST", body });
      if (!answer.ok || !answer.headers.get("Content-Type")?.startsWith("text/markdown")) throw new Error("no report");
      const text = await answer.text();
      await navigator.clipboard.writeText(text);
      copy.textContent = "Copied";
    } catch (error) {
      copy.textContent = error.name === "NotAllowedError" || !navigator.clipboard ? "Copying is not allowed; download it" : "The server did not answer";
    }
    copy.disabled = false;
    announce(copy.textContent);
    setTimeout(() => (copy.textContent = label), SHOWN);
  });
}

// This module runs the timeline on the server's page, with search, sharing, the report of the view, what changed in it, and alerts.

import { byId } from "./draw/dom.js";
import { announce, begun, showFinding, showLine, showObject, store } from "./timeline.js";
import { AlertLane } from "./ui/alertLane.js";
import { changeMarks } from "./ui/changeMarks.js";
import { embedDialog } from "./ui/embedDialog.js";
import { reportDialog } from "./ui/reportDialog.js";
import { Search } from "./ui/search.js";

new Search(document.body.dataset.source, { onObject: showObject, onFinding: showFinding, onLine: showLine, onActor: (actor) => store.set({ actor, offset: 0 }, { push: true }), announce });

const share = byId("share");

/** Copies the address. It is built from the store, because the browser's address is updated a little later. */
share.addEventListener("click", async () => {
  const address = location.origin + location.pathname + store.search();
  const label = share.textContent;
  try {
    await navigator.clipboard.writeText(address);
    share.textContent = "Link copied";
  } catch {
    share.textContent = "Copy it from the address bar";
  }
  announce(`${share.textContent}: it shows what you see.`);
  setTimeout(() => (share.textContent = label), 1800);
});

reportDialog({ store, announce });
const place = { store, source: document.body.dataset.source, announce };
if (byId("embed")) embedDialog(place);
begun.then(() => {
  changeMarks(place);
  new AlertLane(place);
});

const HALF_AN_HOUR = 1800e6; // µs
const iso = (time) => new Date(time / 1000).toISOString().slice(0, 19) + "Z";

/** Leads to where the audit log of the part that is shown can be asked for: of an hour around it, or of all of it if it is longer. */
byId("get-log")?.addEventListener("click", ({ currentTarget }) => {
  const { start, end } = store.view();
  const middle = (start + end) / 2;
  const [since, until] = [Math.min(start, middle - HALF_AN_HOUR), Math.max(end + 1e6, middle + HALF_AN_HOUR)];
  currentTarget.search = new URLSearchParams({ since: iso(since), until: iso(Math.min(until, Date.now() * 1000)) });
});

// This module runs the timeline on the server's page, with search, sharing, the report of the view, what changed in it, and alerts.

import { byId } from "./draw/dom.js";
import { filterOf } from "./state/store.js";
import { announce, begun, parts, showFinding, showLine, showObject, store, times } from "./timeline.js";
import { AlertLane } from "./ui/alertLane.js";
import { changeMarks } from "./ui/changeMarks.js";
import { copyWith, linkDialog } from "./ui/linkDialog.js";
import { reportDialog } from "./ui/reportDialog.js";
import { Search } from "./ui/search.js";
import { shareDialog } from "./ui/shareDialog.js";
import { tour } from "./ui/tour.js";

const toured = location.hash === "#tour"; // before the address is written anew

new Search(document.body.dataset.source, {
  onObject: showObject, onFinding: showFinding, onLine: showLine, onActor: (actor) => store.set({ actor, offset: 0 }, { push: true }),
  onTime: (found, text) => times.go(found, text), onFilter: (filter) => store.only(filter), time: (text) => times.found(text), read: (text) => times.read(text),
  choices: () => parts.filters.choices(parts.loader.payload), filter: () => filterOf(store), announce,
});

// The address is built from the store, because the browser's address is updated a little later.
const search = () => store.search();
const share = byId("share");
if (byId("share-dialog")) shareDialog({ search, announce });
else share.addEventListener("click", () => copyWith(share, location.origin + location.pathname + search(), "Copy it from the address bar", announce));

reportDialog({ store, announce, incident: () => parts.list.get(parts.selection.open) });
const place = { store, source: document.body.dataset.source, announce };
if (byId("embed")) linkDialog("embed", { path: `/api/sources/${place.source}/views`, asked: () => ({ query: search() }), field: "html", announce });
begun.then(() => {
  changeMarks({ ...place, parts });
  new AlertLane(place);
  const begin = tour();
  if (toured) begin();
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

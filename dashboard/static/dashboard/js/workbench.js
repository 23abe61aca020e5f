// The timeline on the server's page: with search, sharing, and the report of the view.

import { byId } from "./draw/dom.js";
import { announce, showFinding, showObject, store } from "./timeline.js";
import { Search } from "./ui/search.js";

new Search(document.body.dataset.source, { onObject: showObject, onFinding: showFinding, announce });

const share = byId("share"), report = byId("report");
const place = report.getAttribute("href");

/** The address lies behind a little, so it is written anew. */
share.addEventListener("click", async () => {
  const address = location.origin + location.pathname + store.search();
  const told = share.textContent;
  try {
    await navigator.clipboard.writeText(address);
    share.textContent = "Link copied";
  } catch {
    share.textContent = "Copy it from the address bar";
  }
  announce(`${share.textContent}: it shows what you see.`);
  setTimeout(() => (share.textContent = told), 1800);
});

const follow = () => (report.href = place + store.search());
store.subscribe(follow);
follow();

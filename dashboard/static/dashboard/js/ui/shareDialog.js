// This module opens the dialog in which a timeline or an incident is shared.

import { byId } from "../draw/dom.js";
import { copyWith, linkDialog } from "./linkDialog.js";

/** `search()` returns the query string "?…" of what the page shows; "" for a page that shows only one thing. */
export function shareDialog({ search, announce }) {
  const { source, incident } = byId("share-form").dataset;
  linkDialog("share", { path: `/api/sources/${source}/links`, asked: () => ({ query: search(), incident }), field: "url", announce });
  const button = byId("share-address");
  button.addEventListener("click", () => copyWith(button, location.origin + location.pathname + search(), "Copy it from the address bar", announce));
}

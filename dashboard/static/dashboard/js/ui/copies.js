// This module shows how the copy on which somebody acted differed from what stood at that time.

import { el } from "../draw/dom.js";
import { difference } from "./difference.js";

/** Returns the elements that show a comparison, a CopyPayload. */
export function comparison(found) {
  return [
    el("h3", {}, `From its copy, revision ${found.copied}, to what stood, revision ${found.stood}`),
    difference(found, "Difference between its copy and what stood"),
    el("p", { class: "onward" }, el("a", { href: found.url }, `All changes of ${found.kind} ${found.name} ›`)),
  ].flat().filter(Boolean);
}

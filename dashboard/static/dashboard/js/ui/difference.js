// This module shows the difference between two states of an object as lines.

import { el } from "../draw/dom.js";
import { plural } from "../state/amounts.js";

const FOLDED = 40; // a difference with more lines than these is folded
const SIGNS = { "+": "added", "-": "removed", " ": "same", "@": "place" };

/** Returns links to the texts that were not compared, the earlier one first. */
function downloads(texts) {
  if (!texts.length) return null;
  const names = texts.length > 1 ? ["before", "after"] : ["the object"];
  return [" Download ", texts.map((url, at) => [at ? ", " : "", el("a", { href: url }, names[at])]).flat(), "."].flat();
}

/** Returns the elements that show a difference: {lines, lines_total, whole, nothing, too_large, texts} as ShownChangePayload has them. `label` names it for screen readers. */
export function difference({ lines, lines_total: total, whole = false, nothing, too_large: tooLarge = false, texts = [] }, label = whole ? "The object" : "Difference to the state before") {
  if (!lines.length) return el("p", { class: "said" }, nothing, tooLarge ? downloads(texts) : null);
  const shown = el("pre", { class: "diff", tabindex: "0", "aria-label": label },
    lines.map(([sign, text]) => el("span", { class: whole ? "whole" : SIGNS[sign] }, `${sign === "@" || whole ? "" : `${sign} `}${text}\n`)));
  const rest = total > lines.length ? el("p", { class: "said" }, `The first ${lines.length} of ${plural(total, "line")}. The page of the object shows more.`) : null;
  if (total <= FOLDED) return [shown, rest];
  const of = (sign) => lines.filter(([each]) => each === sign).length;
  const words = whole ? `The object, ${plural(total, "line")}` : total > lines.length ? plural(total, "line") : `${plural(of("+"), "line")} added, ${of("-")} removed`;
  return el("details", {}, el("summary", {}, words), shown, rest);
}

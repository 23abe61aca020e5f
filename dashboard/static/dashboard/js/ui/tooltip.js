// This module shows the tooltip beside the pointer.

import { byId, el } from "../draw/dom.js";

document.addEventListener("zonechange", () => showTip(null));

/** Shows these lines of text at the pointer {clientX, clientY}, or hides the tooltip if they are null. */
export function showTip(lines, pointer) {
  const tip = byId("tip");
  tip.hidden = !lines;
  if (!lines) return;
  tip.replaceChildren(...lines.map((line, i) => el(i ? "div" : "strong", { class: i === lines.length - 1 && i ? "mono" : null }, line)));
  const { width, height } = tip.getBoundingClientRect();
  tip.style.left = `${Math.min(pointer.clientX + 14, innerWidth - width - 8)}px`;
  tip.style.top = `${pointer.clientY + 18 + height > innerHeight ? pointer.clientY - height - 10 : pointer.clientY + 18}px`;
}

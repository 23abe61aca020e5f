// This module keeps the lanes of a live source in their places: a lane that leaves the view is folded only after the reader has
// done nothing for some seconds, with neither the pointer nor the focus in the lanes, and the lane that the reader is at stays
// where it is on the screen.

import { byId } from "../draw/dom.js";
import { parts, store } from "../timeline.js";
import { engaged } from "../ui/steady.js";

const STILL = 5_000; // ms without an act of the reader after which lanes may be folded
const LOOK = 1_000; // ms between two looks at whether that is so
const GONE = 4; // the multiple of its width by which a view that follows the edge has to move before lanes are folded: each time, lanes jump

const { loader, picture } = parts;
const stage = byId("stage"), labels = byId("labels");
let acted = performance.now(), pointer = null; // when the reader did something last (ms), and where the pointer is in the lanes (px)

for (const name of ["pointermove", "pointerdown", "wheel", "keydown", "focusin"]) addEventListener(name, () => (acted = performance.now()), { capture: true, passive: true });
stage.addEventListener("pointermove", ({ clientY }) => (pointer = clientY), { passive: true });
stage.addEventListener("pointerleave", () => (pointer = null));

/** Returns the key of the lane at which the reader is: with the focus, or else with the pointer, or else the selected one; "" if there is none. */
picture.lanes.held = () => {
  const at = labels.contains(document.activeElement) ? document.activeElement.closest("[data-lane]") : null;
  const under = () => [...labels.querySelectorAll("[data-lane]")].find((label) => {
    const { top, bottom } = label.getBoundingClientRect();
    return top <= pointer && pointer < bottom;
  });
  return (at ?? (pointer === null ? null : under()))?.dataset.lane ?? store.lane;
};

function look() {
  if (!store.bounds) return;
  const { start, end } = store.view(), { since } = loader;
  const still = performance.now() - acted > STILL && !engaged(stage);
  if (since === null || start < since) loader.since = Math.floor(start);
  else if (still && start - since > GONE * (end - start)) {
    loader.since = Math.floor(start);
    loader.soon();
  }
}

setInterval(look, LOOK);

// This module leads through the parts of the timeline: a card beside each says what it is for. It can be left at any time.

import { byId } from "../draw/dom.js";

const GAP = 10; // px between the card, what it speaks of, and the edges of the page

/** Returns the steps whose parts can be seen now: [{part, title, text}]. */
function stepsInSight() {
  const steps = [...byId("tour-steps").content.children].map((step) => {
    const [title, text] = [...step.children].map((each) => each.textContent);
    return { part: document.querySelector(step.dataset.at), title, text };
  });
  return steps.filter(({ part }) => part?.checkVisibility());
}

/** Returns where the card stands: beside a high part if there is room, or else below it, or on its lower end. */
function placeBeside(part, card) {
  const { left, right, top, bottom } = part.getBoundingClientRect();
  const within = (value, most) => Math.max(GAP, Math.min(value, most - GAP));
  const [widest, lowest] = [innerWidth - card.offsetWidth, innerHeight - card.offsetHeight];
  const high = bottom - top > card.offsetHeight;
  if (high && left - GAP > card.offsetWidth + GAP) return [left - card.offsetWidth - GAP, within(top, lowest)];
  if (high && innerWidth - right - GAP > card.offsetWidth + GAP) return [right + GAP, within(top, lowest)];
  return [within((left + right - card.offsetWidth) / 2, widest), within(bottom + GAP, lowest)];
}

/** Lets the button with the id "tour-start", and the address that ends with #tour, begin the tour. */
export function tour() {
  const card = byId("tour"), next = byId("tour-next"), back = byId("tour-back");
  let steps = [], at = 0, opener = null;

  function show(place) {
    steps[at].part.classList.remove("toured");
    at = place;
    const { part, title, text } = steps[at];
    byId("tour-title").textContent = title;
    byId("tour-text").textContent = text;
    byId("tour-place").textContent = `${at + 1} of ${steps.length}`;
    back.disabled = at === 0;
    next.textContent = at + 1 < steps.length ? "Next" : "Done";
    part.classList.add("toured");
    part.scrollIntoView({ block: "nearest" });
    const [left, top] = placeBeside(part, card);
    card.style.left = `${left}px`;
    card.style.top = `${top}px`;
    byId("tour-title").focus({ preventScroll: true });
  }

  function begin() {
    steps = stepsInSight();
    if (!steps.length || card.matches(":popover-open")) return;
    opener = document.activeElement;
    at = 0;
    card.showPopover();
    show(0);
  }

  function end() {
    steps[at].part.classList.remove("toured");
    card.hidePopover();
    (opener !== document.body && opener.checkVisibility() ? opener : byId("bench")).focus({ preventScroll: true });
  }

  byId("tour-start").addEventListener("click", () => requestAnimationFrame(begin)); // once the menu or the sheet is closed
  byId("tour-skip").addEventListener("click", end);
  back.addEventListener("click", () => show(at - 1));
  next.addEventListener("click", () => (at + 1 < steps.length ? show(at + 1) : end()));
  card.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    event.preventDefault();
    end();
  });
  addEventListener("resize", () => card.matches(":popover-open") && show(at));
  return begin;
}

// This module opens a dialog in which a link is made: to share a page, or to embed a timeline on a page of another site.

import { byId } from "../draw/dom.js";
import { request } from "../state/api.js";
import { timeOf } from "./timeOf.js";

const SHOWN = 1800; // ms for which a button says what it has done

/** Copies a text. For a moment the button says that it did, or what to do if the browser forbids it. */
export async function copyWith(button, text, otherwise, announce) {
  const label = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    button.textContent = otherwise;
  }
  announce(button.textContent);
  setTimeout(() => (button.textContent = label), SHOWN);
}

/**
 * Lets the button with the id `name` open the dialog whose elements have ids that begin with `name`. `path` is where a
 * link is asked for, `asked()` returns what the request says besides the hours, and `field` names what the answer is shown by.
 */
export function linkDialog(name, { path, asked, field, announce }) {
  const part = (of) => byId(`${name}-${of}`);
  const dialog = part("dialog"), form = part("form"), make = part("make"), copy = part("copy"), problem = part("problem");
  let made = null;

  function draw(error = "") {
    part("made").hidden = copy.hidden = !made;
    problem.hidden = !error;
    problem.textContent = error;
    if (!made) return;
    part(field).value = made[field];
    part("until").replaceChildren("It expires ", timeOf(Date.parse(made.expires) * 1000, `${made.expires.slice(0, 16).replace("T", " ")} UTC`), ".");
  }

  byId(name).addEventListener("click", () => {
    made = null;
    draw();
    dialog.showModal();
  });
  part("close").addEventListener("click", () => dialog.close());
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    make.disabled = true;
    const body = JSON.stringify({ hours: Number(part("hours").value), ...asked() });
    const headers = { Accept: "application/json", "Content-Type": "application/json", "X-CSRFToken": form.dataset.csrf };
    try {
      made = await request(path, { method: "POST", headers, body });
      draw();
      announce("The address is created.");
    } catch (error) {
      draw(error.message);
    }
    make.disabled = false;
  });
  copy.addEventListener("click", () => {
    part(field).select();
    copyWith(copy, made[field], "Copy it from the field", announce);
  });
}

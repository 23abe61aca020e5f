// This module opens the dialog in which the address of an embedded view is made.

import { byId } from "../draw/dom.js";
import { request } from "../state/api.js";
import { timeOf } from "./timeOf.js";

const SHOWN = 1800; // ms for which a button says what it has done

export function embedDialog({ store, source, announce }) {
  const dialog = byId("embed-dialog"), form = byId("embed-form"), make = byId("embed-make"), copy = byId("embed-copy"), problem = byId("embed-problem");
  let made = null;

  function draw(error = "") {
    byId("embed-made").hidden = copy.hidden = !made;
    problem.hidden = !error;
    problem.textContent = error;
    if (!made) return;
    byId("embed-html").value = made.html;
    byId("embed-until").replaceChildren("It expires ", timeOf(Date.parse(made.expires) * 1000, `${made.expires.slice(0, 16).replace("T", " ")} UTC`), ".");
  }

  byId("embed").addEventListener("click", () => {
    made = null;
    draw();
    dialog.showModal();
  });
  byId("embed-close").addEventListener("click", () => dialog.close());
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    make.disabled = true;
    const body = JSON.stringify({ hours: Number(byId("embed-hours").value), query: store.search() });
    const headers = { Accept: "application/json", "Content-Type": "application/json", "X-CSRFToken": form.dataset.csrf };
    try {
      made = await request(`/api/sources/${source}/views`, { method: "POST", headers, body });
      draw();
      announce("The address is created.");
    } catch (error) {
      draw(error.message);
    }
    make.disabled = false;
  });
  copy.addEventListener("click", async () => {
    const label = copy.textContent;
    try {
      await navigator.clipboard.writeText(made.html);
      copy.textContent = "Copied";
    } catch {
      byId("embed-html").select();
      copy.textContent = "Copy it from the field";
    }
    announce(copy.textContent);
    setTimeout(() => (copy.textContent = label), SHOWN);
  });
}

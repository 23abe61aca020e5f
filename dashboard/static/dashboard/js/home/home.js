// This module runs the home page: it sends chosen or dropped files, and shows uploads and recordings.

import { byId } from "../draw/dom.js";
import { plural } from "../state/amounts.js";
import { listen } from "../state/updates.js";
import { chosen, dropped } from "./files.js";
import { Recordings } from "./recordings.js";
import { Uploads } from "./uploads.js";

const CLOCK = 5_000; // ms between two updates of the ages of live clusters
const csrf = { "X-CSRFToken": document.body.dataset.csrf };
const announce = (text) => (byId("announce").textContent = text);
/** Shows an error at the top of the page, or hides it if the text is empty. */
const trouble = (text) => {
  if (byId("trouble").textContent !== text) byId("trouble").textContent = text;
  byId("trouble").hidden = !text;
};
const target = byId("target"); // the cluster to add to; only for those who may
const cluster = () => Number(target?.value) || null;
const file = byId("file"), folder = byId("folder"), veil = byId("veil"); // the inputs are there only for those who may upload
let wanted = null; // the interrupted upload whose files are being chosen again

const recordings = new Recordings({ csrf, announce, trouble });
const uploads = new Uploads({
  csrf,
  on: {
    trouble,
    choose: (upload) => {
      wanted = upload;
      (upload.folder ? folder : file)?.click();
    },
    done: (upload) => {
      announce(upload.cluster ? `${upload.name} was added to ${upload.cluster_name}.` : `${upload.name} was imported: ${plural(upload.incidents, "incident")}.`);
      recordings.renew();
    },
  },
});
listen("uploads", { upload: ({ upload }) => uploads.take(upload), sources: () => recordings.renewSoon(), refetch: () => uploads.refetch() });
listen("incidents", { incidents: () => recordings.renewSoon(), sources() {}, refetch: () => recordings.renewSoon() }); // the other socket hears of sources

// The age of the last event grows while no message comes, and the time to undo a deletion runs out.
setInterval(() => document.querySelector("[data-live], [data-deleted]") && recordings.renewSoon(), CLOCK);
document.addEventListener("visibilitychange", () => document.hidden || recordings.renew());

for (const [button, input] of file ? [[byId("choose"), file], [byId("choose-folder"), folder]] : []) {
  button.addEventListener("click", () => {
    wanted = null;
    input.click();
  });
  input.addEventListener("change", () => {
    if (input.files.length) uploads.send(chosen(input.files), wanted, cluster());
    input.value = "";
  });
}

const carriesFiles = (event) => file && event.dataTransfer?.types.includes("Files");
addEventListener("dragenter", (event) => carriesFiles(event) && (veil.hidden = false));
addEventListener("dragover", (event) => carriesFiles(event) && event.preventDefault());
addEventListener("dragleave", (event) => event.relatedTarget === null && (veil.hidden = true));
addEventListener("drop", (event) => {
  veil.hidden = true;
  if (!carriesFiles(event)) return;
  event.preventDefault();
  dropped(event.dataTransfer).then((bundle) => uploads.send(bundle, null, cluster()), () => trouble("The dropped files could not be read."));
});

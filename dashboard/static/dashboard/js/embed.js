// This module runs a timeline that was opened with a share link, which says what it shows first, such as in a frame of another site.

import "./shared.js";
import "./ui/embedded.js";
import { announce, begun, store } from "./timeline.js";
import { AlertLane } from "./ui/alertLane.js";

begun.then(() => new AlertLane({ store, source: document.body.dataset.source, announce }));

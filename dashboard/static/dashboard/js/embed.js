// This module runs the timeline in a frame on a page of another site. The signed view says what it shows first.

import "./ui/embedded.js";
import { announce, begun, store } from "./timeline.js";
import { AlertLane } from "./ui/alertLane.js";

begun.then(() => new AlertLane({ store, source: document.body.dataset.source, announce }));

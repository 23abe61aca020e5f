// This module runs the timeline in a frame on a page of another site. The signed view says what it shows first.

import "./ui/embedded.js";
import "./timeline.js";

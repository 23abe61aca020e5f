// This module runs on pages that were opened with a share link. When the link is over, it loads the page again, which then says so.

import { viewToken } from "./state/address.js";

const FIRST_PAUSE = 1_000, LONGEST_PAUSE = 15_000; // ms before the socket is opened again
const UNAUTHORISED = 4401;
let pause = FIRST_PAUSE;

function watch() {
  const socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/ws/links/?view_token=${viewToken()}`);
  socket.addEventListener("open", () => (pause = FIRST_PAUSE));
  socket.addEventListener("close", ({ code }) => {
    if (code === UNAUTHORISED) return location.reload();
    setTimeout(watch, pause * (0.7 + 0.6 * Math.random())); // the server may be restarting
    pause = Math.min(pause * 2, LONGEST_PAUSE);
  });
}

if (viewToken()) watch();

// This module keeps a connection to the server, and reconnects with the sequence number of the last changes that the page has.

import { viewToken } from "../state/address.js";
import { reloadPage } from "./reload.js";

const FIRST_PAUSE = 250, LONGEST_PAUSE = 5_000; // ms
const SILENCE = 10_000; // ms without a message after which the connection counts as dead (the server sends its health every three seconds)
const SLEPT = 20_000; // ms without a timer after which the computer must have slept
const UNAUTHORISED = 4401, OTHER_RIGHTS = 4403;

/**
 * Connects to the messages of a source. `cursor()` → the sequence number of the last changes that the page has. Calls
 * `on.message(object)`, `on.state("connected" | "reconnecting" | "signed out")`, and `on.woken()` after the computer slept. If what its
 * reader may see has changed, it loads the page again.
 */
export function connect(source, cursor, on) {
  let socket = null, pause = FIRST_PAUSE, lastMessage = 0, lastTick = performance.now(), timer = 0, refused = 0, over = false;

  const open = () => {
    clearTimeout(timer);
    lastMessage = performance.now();
    const view = viewToken();
    const mine = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/ws/sources/${source}/?cursor=${cursor() ?? ""}${view ? `&view_token=${view}` : ""}`);
    socket = mine;
    mine.addEventListener("message", ({ data }) => {
      if (mine !== socket) return; // another connection has replaced this one
      lastMessage = performance.now();
      pause = FIRST_PAUSE;
      refused = 0;
      on.state("connected");
      on.message(JSON.parse(data));
    });
    mine.addEventListener("close", ({ code }) => {
      if (mine !== socket || over) return;
      if (code === UNAUTHORISED && ++refused > 1) { // after the first refusal, the browser may have signed in again
        end();
        return on.state("signed out");
      }
      if (code === OTHER_RIGHTS) { // the page shows what its reader could see before
        end();
        on.state("reconnecting");
        return void reloadPage();
      }
      again();
    });
  };

  const again = () => {
    on.state("reconnecting");
    clearTimeout(timer);
    timer = setTimeout(open, pause * (0.7 + 0.6 * Math.random())); // so that browsers do not connect all at once
    pause = Math.min(pause * 2, LONGEST_PAUSE);
  };

  const watch = setInterval(() => {
    const now = performance.now();
    const slept = now - lastTick > SLEPT;
    lastTick = now;
    if (slept) on.woken();
    if (slept || (socket && now - lastMessage > SILENCE + pause)) {
      socket?.close();
      socket = null;
      lastMessage = now;
      again();
    }
  }, 1000);

  const end = () => {
    over = true;
    clearInterval(watch);
    clearTimeout(timer);
    socket?.close();
  };

  addEventListener("online", () => {
    if (!over && socket?.readyState !== WebSocket.OPEN) open();
  });
  open();
  return { end };
}

// A connection that comes back by itself, with the sequence of the last commit that the page knows.

const FIRST_PAUSE = 250, LONGEST_PAUSE = 5_000; // ms
const SILENCE = 10_000; // ms without a word (the server says how it stands every three seconds), then it is taken for dead
const SLEPT = 20_000; // ms that a clock may stand still before the page takes itself for woken up
const UNAUTHORISED = 4401;

/** `cursor()` → the sequence; `on.message(object)`, `on.state("connected" | "reconnecting" | "signed out")`, `on.woken()`. */
export function connect(source, cursor, on) {
  let socket = null, pause = FIRST_PAUSE, heard = 0, seen = performance.now(), timer = 0, refused = 0, over = false;

  const open = () => {
    clearTimeout(timer);
    heard = performance.now();
    const mine = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/ws/sources/${source}/?cursor=${cursor() ?? ""}`);
    socket = mine;
    mine.addEventListener("message", ({ data }) => {
      if (mine !== socket) return; // one that was given up
      heard = performance.now();
      pause = FIRST_PAUSE;
      refused = 0;
      on.state("connected");
      on.message(JSON.parse(data));
    });
    mine.addEventListener("close", ({ code }) => {
      if (mine !== socket || over) return;
      if (code === UNAUTHORISED && ++refused > 1) { // the first time, the browser may have signed in anew
        end();
        return on.state("signed out");
      }
      again();
    });
  };

  const again = () => {
    on.state("reconnecting");
    clearTimeout(timer);
    timer = setTimeout(open, pause * (0.7 + 0.6 * Math.random())); // not all at once
    pause = Math.min(pause * 2, LONGEST_PAUSE);
  };

  const watch = setInterval(() => {
    const now = performance.now();
    const slept = now - seen > SLEPT;
    seen = now;
    if (slept) on.woken();
    if (slept || (socket && now - heard > SILENCE + pause)) {
      socket?.close();
      socket = null;
      heard = now;
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

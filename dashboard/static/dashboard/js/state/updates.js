// This module receives messages about all sources over a WebSocket, and polls while the WebSocket is closed.

const FIRST_PAUSE = 500, LONGEST_PAUSE = 10_000, POLL_EVERY = 2_000; // ms

/** Calls the function of `on` that has the name of a message's type, or `on.refetch()` if a message may have been missed. */
export function listen(topic, on) {
  let pause = FIRST_PAUSE, polling = 0;
  const poll = (wanted) => {
    clearInterval(polling);
    polling = wanted ? setInterval(on.refetch, POLL_EVERY) : 0;
  };
  const connect = () => {
    const socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/ws/${topic}/`);
    socket.addEventListener("open", () => {
      pause = FIRST_PAUSE;
      poll(false);
      on.refetch();
    });
    socket.addEventListener("message", ({ data }) => {
      const message = JSON.parse(data);
      (on[message.type] ?? on.refetch)(message);
    });
    socket.addEventListener("close", () => {
      poll(true);
      setTimeout(connect, pause);
      pause = Math.min(pause * 2, LONGEST_PAUSE);
    });
  };
  connect();
}

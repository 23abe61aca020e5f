// This module receives changes of uploads and recordings over a WebSocket, and polls while the WebSocket is closed.

const FIRST_PAUSE = 500, LONGEST_PAUSE = 10_000, POLL_EVERY = 2_000; // ms

/** Calls `on.upload(payload)` and `on.sources()`, and `on.refetch()` if a message may have been missed. */
export function listen(on) {
  let pause = FIRST_PAUSE, polling = 0;
  const poll = (wanted) => {
    clearInterval(polling);
    polling = wanted ? setInterval(on.refetch, POLL_EVERY) : 0;
  };
  const connect = () => {
    const socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/ws/uploads/`);
    socket.addEventListener("open", () => {
      pause = FIRST_PAUSE;
      poll(false);
      on.refetch();
    });
    socket.addEventListener("message", ({ data }) => {
      const message = JSON.parse(data);
      if (message.type === "upload") on.upload(message.upload);
      else if (message.type === "sources") on.sources();
      else on.refetch();
    });
    socket.addEventListener("close", () => {
      poll(true);
      setTimeout(connect, pause);
      pause = Math.min(pause * 2, LONGEST_PAUSE);
    });
  };
  connect();
}

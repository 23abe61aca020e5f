// This script asks for what a timeline shows first. It is a classic script at the top of the page, so the server computes the answer
// while the modules come; `opening` in state/api.js takes it from the global variable.
(() => {
  const { asked } = document.currentScript.dataset;
  const view = new URLSearchParams(location.search).get("view_token");
  const answer = fetch(asked, { headers: { Accept: "application/json", ...(view && { "Causeline-View": view }) } });
  answer.catch(() => {}); // state/api.js handles the error, later
  globalThis.causelineOpening = { asked, answer };
})();

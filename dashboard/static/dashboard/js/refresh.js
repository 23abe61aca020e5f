// What the server told of something that goes on, drawn anew every few seconds: the elements with data-renew, by id.

const OFTEN = 3_000; // ms

async function renew() {
  const inside = document.activeElement?.closest("[data-renew]");
  if (document.hidden || inside || !getSelection().isCollapsed) return; // not under somebody's hands
  let page;
  try {
    page = new DOMParser().parseFromString(await (await fetch(location.pathname, { headers: { Accept: "text/html" } })).text(), "text/html");
  } catch {
    return; // the server restarts, perhaps; the next time will tell
  }
  for (const old of document.querySelectorAll("[data-renew]")) {
    const fresh = page.getElementById(old.id);
    if (!fresh) continue;
    for (const each of old.querySelectorAll("details[open]")) {
      const same = fresh.querySelectorAll("details")[[...old.querySelectorAll("details")].indexOf(each)];
      if (same) same.open = true;
    }
    old.replaceWith(document.adoptNode(fresh));
  }
}

setInterval(renew, OFTEN);

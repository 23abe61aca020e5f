// This module marks on the axis of time what people changed in the part that is shown. Each mark leads to the difference.

import { byId, el } from "../draw/dom.js";
import { changes } from "../state/api.js";

const PAUSE = 500; // ms for which the view has to rest before the server is asked
const FOLLOWING = 15_000; // the least ms between two requests while the view follows a live source
const DAY = 1440; // minutes; the most that the server is asked about
const MOST = 30; // marks

const timeOf = (iso) => Date.parse(iso) * 1000;

export function changeMarks({ store, source }) {
  const place = byId("axis-changes");
  let found = [], asked = "", askedAt = -Infinity, timer = 0;

  function draw() {
    const { start, end } = store.view();
    const marks = store.axis === "time" ? found.filter(({ time }) => time >= start && time <= end) : [];
    place.replaceChildren(...marks.map(({ time, text, url }) =>
      el("a", { href: url, title: text, tabindex: "-1", style: `left:${((100 * (time - start)) / (end - start)).toFixed(3)}%` }, "▲")));
  }

  async function load() {
    const { start, end } = store.view();
    const minutes = Math.ceil((end - start) / 60e6);
    const question = `${start} ${end} ${store.focus}`;
    if (question === asked || minutes > DAY || minutes < 1) return;
    if (store.follow && performance.now() - askedAt < FOLLOWING) return;
    [asked, askedAt] = [question, performance.now()];
    try {
      const answer = await changes(source, { before: Math.ceil(end), minutes, about: store.focus, limit: MOST });
      if (question !== asked) return;
      found = answer.changes.map((set) => ({ time: timeOf(set.start), text: `${set.text} · ${set.user_agent?.split("/")[0] ?? "not recorded by whom"}`, url: (set.writes[0] ?? set.steps[0]).url }));
    } catch {
      found = []; // the marks are an extra; the page What changed tells of errors
    }
    draw();
  }

  const soon = () => {
    draw();
    clearTimeout(timer);
    timer = setTimeout(load, PAUSE);
  };
  store.subscribe(() => store.bounds && soon());
  if (store.bounds) soon();
}

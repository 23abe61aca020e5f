// This module knows in which time zone times are shown: UTC, or the zone of the reader. It does not use the DOM.

const QUARTER = 900e6; // µs; clocks are put forward and back at quarters of an hour
const KEPT = 10_000; // the most quarters whose offset is kept

const two = (n) => String(n).padStart(2, "0");

/** A time zone by its IANA name, such as "Europe/Berlin". */
export class Zone {
  #format = null;
  #offsets = new Map(); // quarter of an hour → offset

  constructor(name) {
    this.name = /^(Etc\/)?(UTC|UCT|GMT|Universal|Zulu)$/.test(name) ? "UTC" : name;
    if (this.name === "UTC") return;
    const [number, text] = ["numeric", "2-digit"];
    this.#format = new Intl.DateTimeFormat("en-US", { timeZone: name, calendar: "gregory", hourCycle: "h23", year: number, month: number, day: number, hour: number, minute: text, second: text });
  }

  /** Returns how far the clocks of the zone are ahead of UTC at a time, both in µs. */
  offset(time) {
    if (!this.#format) return 0;
    const quarter = Math.floor(time / QUARTER);
    if (!this.#offsets.has(quarter)) {
      if (this.#offsets.size >= KEPT) this.#offsets.clear();
      this.#offsets.set(quarter, this.#measured((quarter * QUARTER) / 1000));
    }
    return this.#offsets.get(quarter);
  }

  #measured(milliseconds) {
    const { year, month, day, hour, minute, second } = Object.fromEntries(this.#format.formatToParts(milliseconds).map(({ type, value }) => [type, Number(value)]));
    return (Date.UTC(year, month - 1, day, hour, minute, second) - milliseconds) * 1000;
  }

  /** Returns the name of the zone with its offset at a time, such as "UTC" or "Europe/Berlin +01:00". */
  label(time) {
    if (!this.#format) return this.name;
    const minutes = Math.round(this.offset(time) / 60e6);
    return `${this.name} ${minutes < 0 ? "−" : "+"}${two(Math.floor(Math.abs(minutes) / 60))}:${two(Math.abs(minutes) % 60)}`;
  }

  /** Returns the label for a range, with both offsets if the clocks are changed in it. */
  labelOf(start, end) {
    const [from, until] = [this.label(start), this.label(end)];
    return from === until ? until : `${from} to ${until.slice(this.name.length + 1)}`;
  }
}

export const UTC = new Zone("UTC");
export const OWN = new Zone(Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC"); // the reader's
let chosen = UTC;

/** Returns the zone in which times are shown. */
export const zone = () => chosen;

/** Returns the zones to name in tooltips and copies: the shown one first, and the other one if it differs. */
export const zones = () => (OWN.name === UTC.name ? [UTC] : chosen === UTC ? [UTC, OWN] : [OWN, UTC]);

export function choose(wanted) {
  chosen = wanted;
}

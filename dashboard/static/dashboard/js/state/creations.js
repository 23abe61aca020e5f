// This module keeps the creation numbers that a page shows. In a live source, an object may become known after others that were
// created later, for example when its kind is listed last. The server then counts on from it, and all later numbers would
// change under the reader's eyes. Here, an object keeps its number while the page is open, new ones count on, and one that is
// learned of late has the number before it with a letter: 2a comes after 2 and before 3. It does not use the DOM.

const LETTERS = "abcdefghijklmnopqrstuvwxyz";

export class Creations {
  #groups = new Map(); // key of a group → its tracks: track → {number: the server's latest, base, letter: as shown}
  #shown = new Map(); // track → what is shown

  /** Returns the number to show of a track that the server gives a number in a group. */
  of(group, track, number) {
    this.#give(group, [[track, number]]);
    return this.#shown.get(track);
  }

  /** Returns a window with the numbers to show. `owners` says whether its groups are those of owners, in which tracks are numbered. */
  keep(payload, owners) {
    const { lanes, births, bars } = payload;
    const firsts = new Map(); // lane → the track of its number, which is that of its first bar
    bars.lane.forEach((lane, i) => firsts.has(lane) || firsts.set(lane, bars.track[i]));
    const found = new Map(); // group → [track, number]
    const add = (lane, track, number) => found.set(lane.group, [...(found.get(lane.group) ?? []), [track, number]]);
    births.lane.forEach((lane, i) => add(lanes[lane], births.track[i], births.number[i]));
    lanes.forEach((lane, i) => lane.members === 1 && firsts.has(i) && add(lane, firsts.get(i), lane.number));
    if (owners) for (const [group, tracks] of found) this.#give(group, tracks);
    return {
      ...payload,
      lanes: lanes.map((lane, i) => ({ ...lane, number: this.#shown.get(firsts.get(i)) ?? lane.number })),
      births: { ...births, number: births.number.map((number, i) => this.#shown.get(births.track[i]) ?? number) },
    };
  }

  #give(group, tracks) {
    if (!this.#groups.has(group)) this.#groups.set(group, new Map());
    const known = this.#groups.get(group);
    const fresh = [];
    for (const [track, number] of tracks) {
      if (known.has(track)) known.get(track).number = number;
      else if (!this.#shown.has(track)) fresh.push([track, number]);
    }
    for (const [track, number] of fresh.sort((one, other) => one[1] - other[1])) {
      if (known.has(track)) continue;
      const shown = this.#place([...known.values()], number);
      known.set(track, { number, ...shown });
      this.#shown.set(track, shown.letter ? `${shown.base}${shown.letter}` : shown.base);
    }
  }

  /** Returns {base, letter} of a new track, between the known ones that the server numbers before and after it. */
  #place(known, number) {
    const before = known.filter((each) => each.number < number).reduce((last, each) => (last && last.number > each.number ? last : each), null);
    const after = known.filter((each) => each.number >= number);
    const wanted = before ? number - before.number + before.base : number; // as far from the one before as the server says
    if (after.every(({ base }) => wanted < base) && known.every(({ base }) => base !== wanted)) return { base: wanted, letter: "" };
    const base = before?.base ?? 0;
    const taken = known.filter((each) => each.base === base && each.letter).length;
    return { base, letter: LETTERS[taken] ?? `.${taken + 1}` };
  }
}

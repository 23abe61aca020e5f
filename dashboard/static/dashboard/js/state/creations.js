// This module keeps the creation numbers that a page shows. In a live source, an object may become known after others that were
// created later, for example when its kind is listed last. The server then counts on from it, and all later numbers would
// change under the reader's eyes. Here, an object keeps its number while the page is open, new ones count on, and one that is
// learned of late has the number before it with a letter: 2a comes after 2 and before 3. Numbers that no longer tell the order,
// or would need further letters, are given up: the group takes those of the server. It does not use the DOM.

import { NOISE } from "./window.js";

const LETTERS = ["", "a", "b"];

const textOf = ({ base, letter }) => (letter ? `${base}${LETTERS[letter] ?? `.${letter}`}` : base);
const follows = (one, other) => one.base > other.base || (one.base === other.base && one.letter > other.letter);

export class Creations {
  #groups = new Map(); // key of a group → its tracks: track → {number: the server's latest, base, letter: as shown}
  #shown = new Map(); // track → what is shown

  /** Returns the number to show of a track that the server gives a number in a group. */
  of(group, track, number) {
    return textOf(this.#give(group, [[track, number]]).get(track));
  }

  /** Returns a window with the numbers to show. `owners` says whether its groups are those of owners, in which tracks are numbered. */
  keep(payload, owners) {
    const { lanes, births, bars } = payload;
    const firsts = new Map(); // lane → the track of its number, which is that of its first bar
    bars.lane.forEach((lane, i) => firsts.has(lane) || firsts.set(lane, bars.track[i]));
    const found = new Map(); // group → track → number; noise is numbered after everything else, so its numbers never stay
    const add = ({ group, family }, track, number) => NOISE.includes(family) || found.set(group, (found.get(group) ?? new Map()).set(track, number));
    births.lane.forEach((lane, i) => add(lanes[lane], births.track[i], births.number[i]));
    lanes.forEach((lane, i) => lane.members === 1 && firsts.has(i) && add(lane, firsts.get(i), lane.number));
    if (owners) for (const [group, tracks] of found) this.#settle(group, [...tracks]);
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
      else fresh.push([track, number]);
    }
    for (const [track, number] of fresh.sort((one, other) => one[1] - other[1])) known.set(track, { number, ...this.#place([...known.values()], number) });
    return known;
  }

  /** Gives the tracks of a window, which are all that is seen of their group, their numbers, and looks whether these tell the order. */
  #settle(group, tracks) {
    const known = this.#give(group, tracks);
    const inOrder = tracks.toSorted((one, other) => one[1] - other[1]).map(([track]) => known.get(track));
    if (!inOrder.every((each, i) => each.letter < LETTERS.length && (i === 0 || follows(each, inOrder[i - 1])))) {
      known.clear();
      for (const [track, number] of tracks) known.set(track, { number, base: number, letter: 0 });
    }
    for (const [track] of tracks) this.#shown.set(track, textOf(known.get(track)));
  }

  /** Returns {base, letter} of a new track, between the known ones that the server numbers before and after it. */
  #place(known, number) {
    const before = known.filter((each) => each.number < number).reduce((last, each) => (last && last.number > each.number ? last : each), null);
    const after = known.filter((each) => each.number >= number);
    const wanted = before ? number - before.number + before.base : number; // as far from the one before as the server says
    if (after.every(({ base }) => wanted < base) && known.every(({ base }) => base !== wanted)) return { base: wanted, letter: 0 };
    const base = before?.base ?? 0;
    return { base, letter: 1 + known.filter((each) => each.base === base && each.letter).length };
  }
}

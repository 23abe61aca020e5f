// This module computes horizontal positions of times. A scale has `to(time)` → x and `from(x)` → time (µs); both increase
// monotonically.

/** Returns the scale in which x is µs since `origin`. */
export const timeScale = (origin) => ({ to: (time) => time - origin, from: (x) => x + origin });

/** Returns the scale in which the instants (µs, ascending, distinct) are evenly spaced: x is the index, and is interpolated in between. */
export function orderScale(instants) {
  const last = instants.length - 1;
  const perUnit = last > 0 ? Math.max(1, (instants[last] - instants[0]) / last) : 1000; // beyond the ends, the average is used
  return {
    to(time) {
      if (time <= instants[0]) return (time - instants[0]) / perUnit;
      if (time >= instants[last]) return last + (time - instants[last]) / perUnit;
      let low = 0, high = last;
      while (high - low > 1) {
        const middle = (low + high) >> 1;
        if (instants[middle] <= time) low = middle;
        else high = middle;
      }
      return low + (time - instants[low]) / (instants[high] - instants[low]);
    },
    from(x) {
      if (x <= 0) return instants[0] + x * perUnit;
      if (x >= last) return instants[last] + (x - last) * perUnit;
      const low = Math.floor(x);
      return instants[low] + (x - low) * (instants[low + 1] - instants[low]);
    },
  };
}

/** Returns the instants of a window at which something was created, changed or ended, and both ends of the window. */
export function instantsOf({ start, end, births, marks, bars }) {
  const inside = (time) => time > start && time < end;
  const all = [births.time, marks.time, bars.start, bars.end].flatMap((column) => column.filter(inside));
  return [...new Set([start, ...all, end])].sort((a, b) => a - b);
}

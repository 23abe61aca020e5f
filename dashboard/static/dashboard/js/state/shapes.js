// These are the shapes, lengths and times that the browser's timeline and the server's pictures have in common. Each constant is
// written as JSON, because dashboard/drawing/shapes.py reads this file too.

export const ROW = 34; // px, the height of a lane; also in css/timeline.css and css/pictures.css

export const BAR = 18; // px, the height of a bar

// The shape of each mark, as the data of an SVG path in px from its place. Those that come later cover the others.
export const MARKS = {
  "status": "m3 3h-6v-6h6z",
  "scheduled": "m-5.2 2.25h10.4l-5.2-6.75z",
  "started": "m4 0a4 4 0 1 1-4-4a4 4 0 0 1 4 4z",
  "ready": "m5.85 0l-5.85 5.85l-5.85-5.85l5.85-5.85z",
  "restarted": "m4.5 4.5v-9l-9 9v-9z",
  "finished": "m-4.4-4.4a8 8 0 0 1 0 8.8a8 8 0 0 1 8.8 0a8 8 0 0 1 0-8.8a8 8 0 0 1-8.8 0z",
  "deleting": "m-5.2-2.25h10.4l-5.2 6.75z",
  "deleted": "m0 1.7l1.7 1.7l1.7-1.7l-1.7-1.7l1.7-1.7l-1.7-1.7l-1.7 1.7l-1.7-1.7l-1.7 1.7l1.7 1.7l-1.7 1.7l1.7 1.7z",
  "finalizer": "m3.8-1.24l-1.45 4.48h-4.7l-1.45-4.48l3.8-2.76z",
  "taken": "m-2.25-5.2v10.4l6.75-5.2z",
  "released": "m2.25-5.2v10.4l-6.75-5.2z"
};

// The shape of each severity, which fills a square of 14 px, so that colour is not its only sign.
export const SEVERITIES = {
  "error": "M7 .8 13.2 7 7 13.2.8 7z",
  "warning": "M7 1.2 13.4 12.6H.6z",
  "info": "M7 1.2a5.8 5.8 0 1 0 .01 0z"
};

// The shape of each severity as a small sign, as the data of an SVG path in px from its place: on lanes and on the minimap.
export const DOTS = {
  "error": "m0-4.5 4.5 4.5-4.5 4.5-4.5-4.5z",
  "warning": "m0-4.2 4.8 7.8h-9.6z",
  "info": "m0-2.6a2.6 2.6 0 1 0 .01 0z"
};

// How far apart the ticks of an axis may be: units (µs) and how many of each.
export const STEPS = [
  [1, [1, 2, 5]], [10, [1, 2, 5]], [100, [1, 2, 5]], [1000, [1, 2, 5]], [10000, [1, 2, 5]], [100000, [1, 2, 5]],
  [1000000, [1, 2, 5, 10, 15, 30]], [60000000, [1, 2, 5, 10, 15, 30]], [3600000000, [1, 2, 3, 6, 12]],
  [86400000000, [1, 2, 7, 14, 30, 90, 365]]
];

// This module makes elements without markup. Every text becomes a text node, so no name can become HTML.

const SVG = "http://www.w3.org/2000/svg";
const TURNS = /[\u202a-\u202e\u2066-\u2069]/g; // bidirectional control characters are shown as symbols, so that they do not reorder the text

/** Returns a text in which bidirectional control characters are visible; anything else unchanged. */
export const shown = (child) => (typeof child === "string" ? child.replace(TURNS, "\ufffd") : child);

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false).map(shown));
  return element;
}

/** Returns an HTML element. Attributes that are false, null or undefined, and such children, are left out. */
export const el = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
export const svg = (tag, attributes = {}, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);
export const byId = (id) => document.getElementById(id);

const SEVERITY_PATHS = { error: "M7 .8 13.2 7 7 13.2.8 7z", warning: "M7 1.2 13.4 12.6H.6z", info: "M7 1.2a5.8 5.8 0 1 0 .01 0z" };

/** Returns the shape of a severity, so that colour is not its only sign. */
export const severityShape = (severity) =>
  svg("svg", { viewBox: "0 0 14 14", class: `shape ${severity}`, "aria-hidden": "true" }, svg("path", { d: SEVERITY_PATHS[severity] }));

/** Returns a text in which `backticks` become code elements. */
export const withCode = (text) =>
  text.split(/(`[^`]+`)/).filter(Boolean).map((part) => (part.length > 2 && part[0] === "`" ? el("code", {}, part.slice(1, -1)) : part));

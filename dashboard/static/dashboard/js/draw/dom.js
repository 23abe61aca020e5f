// This module makes elements without markup. Every text becomes a text node, so no name can become HTML.

import { SEVERITIES } from "../state/shapes.js";

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

/** Returns the shape of a severity. */
export const severityShape = (severity) =>
  svg("svg", { viewBox: "0 0 14 14", class: `shape ${severity}`, "aria-hidden": "true" }, svg("path", { d: SEVERITIES[severity] }));

/** Returns a text in which `backticks` become code elements. */
export const withCode = (text) =>
  text.split(/(`[^`]+`)/).filter(Boolean).map((part) => (part.length > 2 && part[0] === "`" ? el("code", {}, part.slice(1, -1)) : part));

// This module says what matches a filter, wherever no server says it: in a report, and of what a live source sends. It does
// not use the DOM.

import { NOBODY, isCalled } from "./actors.js";
import { NOISE } from "./window.js";

const has = (text, part) => text.toLowerCase().includes(part.toLowerCase());

/** Returns whether an object may match the part of a filter that is about objects. Of kinds, nodes and images only the server knows. */
export const objectMatches = ({ family, namespace, name }, { kinds = [], noise, namespace: within, name: part }) =>
  (kinds.length ? kinds.includes(family) : noise || !NOISE.includes(family)) && (!within || namespace === within) && (!part || has(name, part));

/** Returns whether a finding matches a filter. `families` are those of its subjects, and `actors` has a list for each of its incidents. */
export const findingMatches = (group, { families, actors }, { kinds = [], namespace, name, rule, severity, actor }) =>
  (!kinds.length || kinds.some((family) => families.includes(family))) && (!namespace || group.namespace === namespace) && (!rule || group.rule === rule) && (!severity || group.severity === severity)
  && (!name || has(group.summary, name) || group.findings.some(({ subject }) => has(subject.name, name))) && (!actor || actors.some((names) => (actor === NOBODY ? !names.length : names.some((one) => isCalled(one, actor)))));

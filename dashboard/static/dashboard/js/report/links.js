// This module replaces ../state/links.js in a report: its links lead to places in the report itself. null means that there is
// no such place.

export const objectPage = () => null;
export const incidentPage = () => null;
export const findingPage = (group) => `#finding-${group.key}`;
export const rulePage = (rule) => `#rule-${rule}`;
export const wherePage = () => null;

// This module links to places in the report itself. It replaces ../state/links.js.

export const objectPage = () => null;
export const findingPage = (group) => `#finding-${group.key}`;
export const rulePage = (rule) => `#rule-${rule}`;
export const wherePage = () => null;

// Where a report tells more: in itself. Stands in the place of ../links.js.

export const objectPage = () => null;
export const findingPage = (group) => `#finding-${group.key}`;
export const rulePage = (rule) => `#rule-${rule}`;
export const wherePage = () => null;

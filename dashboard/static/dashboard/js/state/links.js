// This module returns the addresses of other pages. null means that there is no such page.

const source = document.body.dataset.source;

export const objectPage = (track) => (track ? `/sources/${source}/objects/${track}/` : null);
export const incidentPage = (incident) => incident.url || null;
export const findingPage = (group) => group.url || null;
export const rulePage = (rule) => `/rules/${rule}/`;
export const wherePage = ({ group, kind, namespace, name }) =>
  `/go?${new URLSearchParams({ source, kind: group ? `${kind}.${group}` : kind, namespace, name })}`;

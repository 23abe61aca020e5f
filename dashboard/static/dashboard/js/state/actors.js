// This module names those who made changes, and gives them colours. It does not use the DOM.

const HUES = ["Jobs", "Leases", "Services", "Claims", "Pods", "Endpoints", "Events"]; // families whose colours actors get
const OTHERS = "Workloads", NOT_KNOWN = "Config"; // the families with the colours of all further actors, and of nobody
const MANY = ["leader-election", "metadata-informers", "shared-informers"]; // parts that many programs have
const LIBRARIES = ["Go-http-client", "OpenAPI-Generator", "Kubernetes", "Mozilla", "okhttp", "python-requests", "node-fetch"];
export const NOBODY = "?"; // the filter for changes without a known maker
export const SEVERAL = -1; // the index of the actor of a mark that stands for changes of several actors

/** Returns who wrote what a proof shows, the program before its account, as timeline/core/actors.py does: "kubectl (admin)". */
export function writerOf({ actor, user_agent: agent }) {
  const words = (agent ?? "").split(/\s+/), program = words[0].split("/")[0], last = words.at(-1).split("/");
  const part = words.length > 1 && last.length > 2 && last[0] === "kubernetes" ? last.at(-1).split(":").at(-1) : "";
  const name = MANY.includes(part) ? `${part} of ${program}` : part || program;
  if (!actor || !name || LIBRARIES.includes(name) || name === actor) return actor || name ? actorName(actor || name) : "";
  const account = actorName(actor);
  return actor.split(":").at(-1) === name ? name : account.startsWith(`${name} on `) ? account : `${name} (${account})`;
}

const SHORT = /^(?:(\S+(?: of \S+)?) \()?(?:kubelet on ([^ ()]+)|([a-z0-9-]+)\/([a-z0-9.-]+))\)?$/;

/** Returns a name with the whole name of its account: "argocd (system:serviceaccount:ops:deployer)" of "argocd (ops/deployer)". */
function writtenOut(called) {
  const [, program, node, namespace, account] = SHORT.exec(called) ?? [];
  if (!node && !account) return called;
  const whole = node ? `system:node:${node}` : `system:serviceaccount:${namespace}:${account}`;
  return program ? `${program} (${whole})` : whole;
}

/** Returns whether somebody whom an incident names so is called so, or has an account of that name; also as lists write them. */
export const isCalled = (name, called) => [called, writtenOut(called)].some((each) => name === each || name.endsWith(` (${each})`));

/** Returns a short name of an account or a program, such as "shop/deployer" for a service account. */
export function actorName(actor) {
  if (actor === "" || actor === NOBODY) return "not known";
  const [system, sort, ...rest] = actor.split(":");
  if (system === "system" && sort === "serviceaccount" && rest.length === 2) return rest.join("/");
  return system === "system" && sort === "node" && rest.length === 1 ? `kubelet on ${rest[0]}` : actor;
}

/** Returns the name of the actor with this index in a window. */
export const actorAt = ({ actors }, index) => (index === SEVERAL ? "several actors" : actorName(actors[index] ?? ""));

/** Returns whether a filter for an actor leaves the changes by the actor with this index as they are. */
export const isOf = ({ actors }, index, actor) => !actor || index === SEVERAL || actors[index] === (actor === NOBODY ? "" : actor);

export class Actors {
  #hues = new Map(); // actor → family; an actor keeps its colour while the page is open
  all = []; // [actor, number of changes], the most changes first

  take(all) {
    this.all = all;
    for (const [actor] of all) if (actor && !this.#hues.has(actor) && this.#hues.size < HUES.length) this.#hues.set(actor, HUES[this.#hues.size]);
  }

  /** Returns the family whose colour an actor has. */
  hue(actor) {
    return actor === "" ? NOT_KNOWN : (this.#hues.get(actor) ?? OTHERS);
  }

  /** Returns what the legend of a window lists: [{actor, hue}], with one entry for all who have no colour of their own: {others, hue}. */
  legend({ actors }) {
    const own = [...this.#hues].filter(([actor]) => actors.includes(actor)).map(([actor, hue]) => ({ actor, hue }));
    const others = actors.filter((actor) => actor && !this.#hues.has(actor)).sort();
    return [...own, ...(others.length ? [{ others, hue: OTHERS }] : []), ...(actors.includes("") ? [{ actor: NOBODY, hue: NOT_KNOWN }] : [])];
  }
}

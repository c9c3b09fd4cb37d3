// What a person may want to write into a rule: properties and values that saved
// contexts have, and that other rules name.
import { useEffect, useState } from "./lib.js";
import { get, query, tokenGiven } from "./api.js";
import { lists } from "./workspace.js";
import { itemPath } from "./review.js";

const mostSegments = 10, mostValues = 200, longest = 200;

/** @typedef {Map<string, Set<string>>} Seen values by property */

/** @param {Seen} seen @param {string} property @param {any} value */
function add(seen, property, value) {
  const values = seen.get(property) ?? new Set();
  seen.set(property, values);
  for (const one of Array.isArray(value) ? value : [value]) {
    const text = typeof one === "string" ? one : typeof one === "number" || typeof one === "boolean" ? String(one) : "";
    if (text && text.length <= longest && values.size < mostValues) values.add(text);
  }
}

/** What the rules of a document name. @param {Seen} seen @param {any} document */
function read(seen, document) {
  for (const scope of [document?.default, ...(Array.isArray(document?.environments) ? document.environments : [])])
    for (const rule of scope?.rules ?? [])
      for (const c of rule?.criteria ?? []) if (typeof c?.propertyName === "string" && c.propertyName.length <= longest) add(seen, c.propertyName, c.valueToMatch?.confidential ? undefined : c.valueToMatch?.value);
}

/**
 * @param {any} document the one that is edited @param {string} scope @returns {Seen}
 */
export function useSuggestions(document, scope) {
  const [seen, set] = useState(/** @type {Seen} */ (new Map()));
  useEffect(() => {
    /** @type {Seen} */
    const found = new Map([["user.key", new Set()], ["svc.current-time", new Set()]]);
    read(found, document);
    const of = (/** @type {any} */ context) => {
      for (const [type, properties] of Object.entries(context ?? {})) for (const [name, value] of Object.entries(properties ?? {})) add(found, type ? `${type}.${name}` : name, value);
    };
    const contexts = get(`contexts${query({ properties: "true", limit: 100, environment: scope === "default" ? "" : scope })}`).then(({ contexts }) => {
      for (const saved of contexts) of(saved.context);
    });
    // On a directory it is known too what has no key.
    const clients = tokenGiven && get("clients").then(({ clients }) => clients.forEach((/** @type {any} */ one) => one.contexts.forEach(of)));
    const segments = lists.segments.peek().rows.slice(0, mostSegments).map((row) => get(`${itemPath("segments", row.key)}/document`).then((answer) => read(found, answer.document)));
    // What cannot be asked is not suggested, and keeps nobody from writing.
    Promise.allSettled([contexts, clients, ...segments]).then(() => set(new Map([...found].sort(([a], [b]) => (a < b ? -1 : 1)))));
  }, [scope]);
  return seen;
}

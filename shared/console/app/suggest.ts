// What a person may want to write into a rule: properties and values that saved
// contexts have, and that other rules name.
import { useState, useEffect } from "./lib";
import { get, query, tokenGiven } from "./api";
import { lists, itemPath } from "./workspace";

const mostSegments = 10,
  mostValues = 200,
  longest = 200;

/** values by property */
export type Seen = Map<string, Set<string>>;

function add(seen: Seen, property: string, value: any) {
  const values = seen.get(property) ?? new Set();
  seen.set(property, values);
  for (const one of Array.isArray(value) ? value : [value]) {
    const text =
      typeof one === "string"
        ? one
        : typeof one === "number" || typeof one === "boolean"
          ? String(one)
          : "";
    if (text && text.length <= longest && values.size < mostValues) values.add(text);
  }
}

/** What the rules of a document name. */
function read(seen: Seen, document: any) {
  for (const scope of [
    document?.default,
    ...(Array.isArray(document?.environments) ? document.environments : []),
  ])
    for (const rule of scope?.rules ?? [])
      for (const c of rule?.criteria ?? [])
        if (typeof c?.propertyName === "string" && c.propertyName.length <= longest)
          add(
            seen,
            c.propertyName,
            c.valueToMatch?.confidential ? undefined : c.valueToMatch?.value,
          );
}

/** @param document the one that is edited */
export function useSuggestions(document: any, scope: string): Seen {
  const [seen, set] = useState(new Map() as Seen);
  useEffect(() => {
    const found: Seen = new Map([
      ["user.key", new Set()],
      ["svc.current-time", new Set()],
    ]);
    read(found, document);
    const of = (context: any) => {
      for (const [type, properties] of Object.entries(context ?? {}))
        for (const [name, value] of Object.entries(properties ?? {}))
          add(found, type ? `${type}.${name}` : name, value);
    };
    const contexts = get(
      `contexts${query({ properties: "true", limit: 100, environment: scope === "default" ? "" : scope })}`,
    ).then(({ contexts }) => {
      for (const saved of contexts) of(saved.context);
    });
    // On a directory it is known too what has no key.
    const clients =
      tokenGiven &&
      get("clients").then(({ clients }) => clients.forEach((one: any) => one.contexts.forEach(of)));
    const segments = lists.segments
      .peek()
      .rows.slice(0, mostSegments)
      .map((row) =>
        get(`${itemPath("segments", row.key)}/document`).then((answer) =>
          read(found, answer.document),
        ),
      );
    // What cannot be asked is not suggested, and keeps nobody from writing.
    Promise.allSettled([contexts, clients, ...segments]).then(() =>
      set(new Map([...found].sort(([a], [b]) => (a < b ? -1 : 1)))),
    );
  }, [scope]);
  return seen;
}

// What a person may want to write into a rule: properties and values that saved
// contexts have, and that other rules name.
import { useState, useEffect } from "./lib";
import { get, query, tokenGiven } from "./api";
import { lists, itemPath } from "./workspace";
import { ofFlag } from "./operators";
import type { Detail } from "./answers";

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
        if (
          !ofFlag(c?.operator) &&
          typeof c?.propertyName === "string" &&
          c.propertyName.length <= longest
        )
          add(
            seen,
            c.propertyName,
            c.valueToMatch?.confidential ? undefined : c.valueToMatch?.value,
          );
}

/** The values that a flag serves by its rules and variants, once it is written about; "" is none. */
export function useServed(flag: string): Set<string> {
  const [served, set] = useState(new Set() as Set<string>);
  useEffect(() => {
    set(new Set());
    if (!lists.flags.peek().rows.some((row) => row.key === flag)) return;
    let there = true;
    get(itemPath("flags", flag)).then(
      (detail: Detail) => {
        const seen: Seen = new Map();
        const one = (value: any) => {
          if (value?.type === "weighted_values")
            for (const arm of value.value?.weightedValues ?? []) one(arm.value);
          else if (!value?.confidential) add(seen, flag, value?.value);
        };
        if (detail.valueType === "bool") add(seen, flag, [true, false]);
        for (const variant of detail.variants ?? []) one(variant.value);
        for (const scope of [detail.default, ...(detail.environments ?? [])])
          for (const rule of scope?.rules ?? []) one(rule.value);
        if (there) set(seen.get(flag) ?? new Set());
      },
      () => {},
    );
    return () => {
      there = false;
    };
  }, [flag]);
  return served;
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

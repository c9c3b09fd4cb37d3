// Which items of a list are selected.
import { signal } from "./lib";
import type { Family } from "./workspace";
import { staleIn } from "./stale";

export const most = 2000; // operations of a change set, by the API's description

const chosen = signal({ family: "", keys: new Set() } as { family: string; keys: Set<string> });

/** The keys of a list that are selected. */
export const selected = (family: string) =>
  chosen.value.family === family ? chosen.value.keys : new Set<string>();

export const select = (family: string, keys: Iterable<string>) =>
  (chosen.value = { family, keys: new Set(keys) });

/** What can be done to the items of a family. */
export const deeds = (family: Family): [what: string, word: string][] =>
  [
    ...(staleIn(family)
      ? [["ready", "Mark as ready"], ...(family === "flags" ? [["fold", "Fold to one value"]] : [])]
      : []),
    ...(family === "flags"
      ? [
          ["switch", "Switch"],
          ["pause", "Pause"],
          ["resume", "Resume"],
        ]
      : []),
    ...(family !== "segments"
      ? [
          ["copy", "Copy rules"],
          ["tag", "Tag"],
        ]
      : []),
    ["delete", "Delete"],
  ].map(([what, word]) => [what, word]);

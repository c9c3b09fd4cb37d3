// The state of a form about an item, kept as a draft until it is applied.
import { close } from "./router";
import { itemPath } from "./workspace";
import type { Family } from "./workspace";
import { useBegun } from "./begun";
import { get } from "./api";

/** The parts of the query that open a form. */
export const names = [
  "edit",
  "kind",
  "set",
  "target",
  "undo",
  "restore",
  "delete",
  "raw",
  "schema",
  "details",
  "variants",
];

export const shut = () => close(names);

export type Seen = { commitSha: string; document: any };

/**
 * What a form holds, and the document that the person has seen when it was begun: its token
 * tells what others have done since. It is renewed when they say so, after a conflict.
 */
export function useForm<T extends Record<string, any>>(
  family: Family,
  itemKey: string,
  stored: Seen | null,
  about: string,
  fresh: () => T,
  /** what the work becomes on top of what others have done since */
  onto?: (work: T, theirs: any, before: any) => Partial<T>,
) {
  const { work, set, done, cancel, resumed } = useBegun(`${family}/${itemKey} ${about}`, () => ({
    ...fresh(),
    seen: stored,
  }));
  const see = (seen: Seen | null) =>
    set({ seen, ...(seen && onto?.(work as any, seen.document, work.seen?.document)) } as any);
  return {
    work,
    set: set as (more: Partial<T>) => void,
    seen: work.seen as Seen | null,
    resumed,
    renew: () => get(`${itemPath(family, itemKey)}/document`).then(see, () => see(null)),
    ends: {
      done: () => {
        done();
        shut();
      },
      cancel: () => {
        cancel();
        shut();
      },
    },
  };
}

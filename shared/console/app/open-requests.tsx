// Which change requests are open: all that are, once for the whole page, and those of one item.
import { tokenGiven, query } from "./api";
import type { ChangeRequest } from "./answers";
import { address } from "./router";
import { Icon } from "./icons";
import { count } from "./words";
import { families, useGet } from "./workspace";
import type { Family } from "./workspace";

/** The address of all that are open: one answer for the navigation and for lists. */
export const openRequests = tokenGiven ? "" : "change-requests?state=open&limit=100";

/** How many are open for each item of a family. */
export function useOpen(family: Family): Map<string, number> {
  const { data } = useGet(openRequests);
  const found: Map<string, number> = new Map();
  for (const { items } of (data?.changeRequests ?? []) as ChangeRequest[])
    for (const { type, key } of items)
      if (type === families[family].type) found.set(key, (found.get(key) ?? 0) + 1);
  return found;
}

/** That something is proposed, at a row's key. */
export const Proposed = ({ requests }: { requests: number | undefined }) =>
  requests ? (
    <span class="proposed" title={`${count(requests, "open request")}`}>
      <Icon name="requests" />
      <span class="hidden">{count(requests, "open request")}</span>
    </span>
  ) : null;

/** What is proposed for one item, in the order in which it was. */
export function OpenFor({ family, itemKey }: { family: Family; itemKey: string }) {
  const type = families[family].type;
  const { data } = useGet(
    openRequests && `change-requests${query({ state: "open", type, key: itemKey, limit: 20 })}`,
    30,
  );
  const rows: ChangeRequest[] = data?.changeRequests ?? [];
  if (!rows.length) return null;
  return (
    <div class="box proposals">
      <Icon name="requests" />
      <div>
        <h2>{rows.length === 1 ? "A change is proposed" : "Changes are proposed"}</h2>
        <ul>
          {rows.map((row) => (
            <li key={row.id}>
              <a href={address(["requests", row.id])}>{row.title}</a>{" "}
              <span class="note">by {row.author.name}</span>
            </li>
          ))}
          {data.nextCursor && (
            <li>
              <a href={address(["requests"])}>and more</a>
            </li>
          )}
        </ul>
      </div>
    </div>
  );
}

// One commit of the change feed.
import type { Activity as Entry, ItemName } from "./answers";
import { useState } from "./lib";
import { Guarded } from "./guard";
import { Key } from "./key";
import { mayNothing } from "./may";
import { familyOf } from "./workspace";
import { Author } from "./parts";
import { address, open } from "./router";
import { Messages } from "./messages";
import { Time } from "./time";
import { Why, withoutWhy } from "./why";

/** The first items of a commit of many. */
function Items({ items, total }: { items: ItemName[]; total: number }) {
  const [most, show] = useState(5);
  const shown = items.slice(0, most),
    rest = `and ${(total - shown.length).toLocaleString("en")} more`;
  return (
    <p class="items">
      {shown.map((one) => (
        <Key of={one} />
      ))}
      {total > shown.length &&
        (items.length > shown.length ? (
          <button type="button" class="link" onClick={() => show(items.length)}>
            {rest}
          </button>
        ) : (
          <span class="note">{rest}</span>
        ))}
    </p>
  );
}

/** Several: it is the first of the entries of a commit that changed several items. */
export function One({ entry, several }: { entry: Entry; several: boolean }) {
  const family = familyOf(entry.type);
  return (
    <li>
      <div class="what">
        <p>
          <Author who={entry} /> <span class="note">{entry.action}</span>{" "}
          {entry.type && entry.key && <Key of={{ type: entry.type, key: entry.key }} />}
        </p>
        <Why entry={entry} />
        <Messages messages={withoutWhy(entry)} />
        <Guarded entry={entry} />
        {entry.items && <Items items={entry.items} total={entry.itemCount ?? 0} />}
      </div>
      <p class="note when">
        <Time at={entry.date} full />
        {family && entry.key && !mayNothing() && (
          <>
            {" "}
            <a href={address([family, entry.key], { undo: entry.sha })}>Undo</a>
          </>
        )}
        {(several || !entry.key) && !mayNothing() && (
          <>
            {" "}
            <button type="button" class="link" onClick={() => open({ undo: entry.sha })}>
              Undo all
            </button>
          </>
        )}
      </p>
    </li>
  );
}

// Takes back everything that a commit did: undo=<commit> in the query of the activity. What of it
// has been changed again since stays as it is; the others are undone by one commit all the same.
import type { Activity, ItemName } from "./answers";
import { Icon } from "./icons";
import { useState } from "./lib";
import { close } from "./router";
import { Dialog } from "./dialog";
import { Key } from "./key";
import { Author } from "./parts";
import { Review } from "./review";
import { saidInLine } from "./said";
import { Time } from "./time";
import { Why, withoutWhy } from "./why";
import { count, sentence } from "./words";

const most = 20;

/** Entries are those of the commit, as far as they are known. */
export function UndoCommit({ sha, entries }: { sha: string; entries: Activity[] }) {
  const shut = () => close(["undo"]);
  const [left, leave] = useState(
    null as {
      refused: (ItemName & { code?: string; message: string })[];
      others: ItemName[];
    } | null,
  );
  const undo = { op: "revert", commitSha: sha, mode: "undo" };
  return (
    <Dialog title="Undo the whole change" close={shut}>
      {entries.length > 0 && (
        <div class="undone">
          <p class="note">
            <Author who={entries[0]} />, <Time at={entries[0].date} full />
          </p>
          <Why entry={entries[0]} />
          <ul class="messages">
            {entries.slice(0, 5).map((entry) => (
              <li>
                {entry.key && <code>{entry.key}</code>}{" "}
                {withoutWhy(entry)
                  .map((message) => saidInLine(message))
                  .join("; ")}
              </li>
            ))}
            {entries.length > 5 && <li class="note">and {entries.length - 5} more</li>}
          </ul>
        </div>
      )}
      <p class="note">
        What the change did to each item is undone. What others changed elsewhere since stays.
      </p>
      {left && (
        <div class="box warn" role="alert">
          <Icon name="warning" />
          <div>
            <h3>{count(left.refused.length, "item")} cannot be undone</h3>
            <ul>
              {left.refused.slice(0, most).map((one) => (
                <li>
                  <Key of={one} />{" "}
                  <span class="note">
                    {one.code === "OVERLAP" ? "Changed again since." : sentence(one.message)}
                  </span>
                </li>
              ))}
              {left.refused.length > most && <li>and {left.refused.length - most} more</li>}
            </ul>
          </div>
        </div>
      )}
      <Review
        itemKey=""
        renew={() => {}}
        cancel={shut}
        done={shut}
        refused={({ details: { refused, others } }) => {
          if (!others) return false;
          leave({ refused, others });
          return true;
        }}
        proposal={{
          method: "POST",
          path: "changes",
          body: {
            operations: left
              ? left.others.map(({ type, key }) => ({ ...undo, type, key }))
              : [undo],
          },
          did: (items) => `Undone: ${items} ${items.startsWith("1 ") ? "is" : "are"} as before.`,
          verb: left ? `Undo the other ${left.others.length.toLocaleString("en")}` : "Undo all",
        }}
      />
    </Dialog>
  );
}

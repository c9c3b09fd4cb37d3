// Deletes an item, or brings a former state of it back.
import { families, itemPath } from "./workspace";
import type { Family } from "./workspace";
import { useState } from "./lib";
import { get, tokenGiven } from "./api";
import { Review } from "./review";
import type { Proposal } from "./review";
import { place, instead, address } from "./router";
import { shut } from "./form";

/** Undo, restore and delete. */
export function Whole({
  family,
  itemKey,
  stored,
}: {
  family: Family;
  itemKey: string;
  stored: { commitSha: string; document: any } | null;
}) {
  const [seen, see] = useState(stored);
  const renew = () => get(`${itemPath(family, itemKey)}/document`).then(see, () => see(null));
  const { query } = place.value;
  const undo = query.get("undo"),
    restore = query.get("restore");
  const proposal: Proposal =
    undo || restore
      ? {
          method: "POST",
          path: `${itemPath(family, itemKey)}/revert`,
          body: { commitSha: undo ?? restore, mode: undo ? "undo" : "restore" },
          token: seen?.commitSha,
          verb: undo ? "Undo it" : "Bring it back",
        }
      : {
          method: "DELETE",
          path: itemPath(family, itemKey),
          token: seen?.commitSha,
          tokenInQuery: true,
          verb: `Delete the ${families[family].one}`,
          danger: true,
        };
  return (
    <>
      <p class="note">
        {undo
          ? "What that change did is taken back. What others changed elsewhere since stays."
          : restore
            ? "The document becomes what it was after that change. " +
              "Everything since is replaced, and stays in the history."
            : tokenGiven
              ? "The file is deleted. Until svc serve is stopped it can be brought back here."
              : "It stays in the history, and can be brought back."}
      </p>
      <Review
        family={family}
        itemKey={itemKey}
        before={seen?.document ?? null}
        renew={renew}
        cancel={shut}
        proposal={proposal}
        done={() => (query.has("delete") ? instead(address([family])) : shut())}
      />
    </>
  );
}

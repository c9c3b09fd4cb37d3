// Takes back everything that a commit did: undo=<commit> in the query of the activity.
import { close } from "./router";
import { Dialog } from "./dialog";
import { Review } from "./review";

export function UndoCommit({ sha }: { sha: string }) {
  const shut = () => close(["undo"]);
  return (
    <Dialog title="Undo the whole change" close={shut}>
      <p class="note">
        What the change did to each item is undone. What others changed elsewhere since stays.
      </p>
      <Review
        itemKey=""
        renew={() => {}}
        cancel={shut}
        done={shut}
        proposal={{
          method: "POST",
          path: "changes",
          body: { operations: [{ op: "revert", commitSha: sha, mode: "undo" }] },
          verb: "Undo all",
        }}
      />
    </Dialog>
  );
}

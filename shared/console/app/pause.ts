// Pauses a Boolean flag in an environment with one click: everybody gets false.
import { change, epoch, newIdempotencyKey } from "./api";
import { itemPath, loadLists } from "./workspace";
import type { Family } from "./workspace";
import { address, open } from "./router";
import { notice } from "./notice";

/** What goes wrong is told by the dialog that asks first. */
export async function pause(family: Family, key: string, scope: string) {
  const path = `${itemPath(family, key)}/environments/${encodeURIComponent(scope)}/pause`;
  try {
    const outcome = await change("POST", path, "{}", { idempotencyKey: newIdempotencyKey() });
    epoch.value++;
    loadLists();
    notice.value = {
      text: outcome.changed
        ? `Paused: everyone gets false in ${scope}.`
        : `It is paused in ${scope} already.`,
      link: outcome.changed
        ? { to: address([family, key], { undo: outcome.commitSha }), text: "Undo" }
        : undefined,
    };
  } catch {
    open({ edit: scope, kind: "pause" });
  }
}

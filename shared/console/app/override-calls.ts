// Sets overrides and takes them back.
import { change } from "./api";
import { notice } from "./notice";
import { refresh } from "./workspace";
import { sentence } from "./words";

export type For = { property: string; value: string };

/**
 * @param key without one, all are taken back
 * @param whom of several the one for them, or for everyone; else all of the key
 */
export function clear(key?: string, whom?: For | null) {
  const query = new URLSearchParams();
  if (key !== undefined) query.set("key", key);
  if (whom !== undefined) query.set("for", whom ? `${whom.property}=${whom.value}` : "");
  return change("DELETE", `overrides${query.size ? `?${query}` : ""}`).then(
    () => {
      notice.value = { text: "The files decide again." };
      refresh();
    },
    (refusal) => (notice.value = { text: sentence(refusal.message) }),
  );
}

export async function override(what: { key: string; value: any; for?: For; until?: string }) {
  await change("PUT", "overrides", JSON.stringify(what));
  notice.value = {
    text: `${what.for ? what.for.value : "Everyone"} gets it on this machine. The files are as they were.`,
    link: { run: () => clear(what.key, what.for ?? null), text: "Undo" },
  };
  refresh();
}

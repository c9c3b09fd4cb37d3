// What stands below a list as long as something is selected.
import { selected, most, select } from "./selection";
import { count } from "./words";
import { open } from "./router";
import { Icon } from "./icons";
import { Act } from "./may";

/** Stands below a list as long as something is selected. */
export function Selected({
  list,
  one,
  found,
  deeds,
  refused,
}: {
  list: string;
  one: string;
  found: { key: string }[];
  deeds: [what: string, word: string][];
  /** why one of them would be refused */
  refused?: (what: string) => string | undefined;
}) {
  const keys = selected(list),
    n = keys.size,
    shown = found.reduce((sum, row) => sum + (keys.has(row.key) ? 1 : 0), 0);
  return (
    <>
      <div class="hidden" role="status">
        {n > 0 && `${n} selected`}
      </div>
      {n > 0 && (
        <section class="selected" aria-label="Selected">
          <p>
            <b>{count(n, one)}</b> selected
            {shown < n && `, ${(n - shown).toLocaleString("en")} of them not shown`}{" "}
            {n < found.length && n < most && (
              <button
                type="button"
                class="link"
                onClick={() =>
                  select(
                    list,
                    found.slice(0, most).map((row) => row.key),
                  )
                }
              >
                {found.length > most
                  ? `Select the first ${most.toLocaleString("en")}`
                  : `Select all ${found.length.toLocaleString("en")}`}
              </button>
            )}
          </p>
          <div class="actions">
            {deeds.map(([what, word]) => (
              <Act refused={refused?.(what)} class="small" onClick={() => open({ bulk: what })}>
                {word}
              </Act>
            ))}
            <button
              type="button"
              class="quiet small"
              aria-label="Select nothing"
              onClick={() => select(list, [])}
            >
              <Icon name="close" />
            </button>
          </div>
        </section>
      )}
    </>
  );
}

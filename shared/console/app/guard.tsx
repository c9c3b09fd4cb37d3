// A guard: the service account that may take a change back when an alert comes with its key.
// Whoever makes the change names it.
import type { Activity } from "./answers";
import { tokenGiven } from "./api";
import { address } from "./router";
import { me } from "./session";
import { Field } from "./values";
import { familyOf, useGet } from "./workspace";

const none = "No guard";

/**
 * Asks for the guard of a change: among those that alerts have a key of or, of who pasted a key and
 * may not list them, for its name. Files have none.
 */
export function Guard({ guard, set }: { guard: string; set: (guard: string) => void }) {
  const guards: string[] = useGet(me.value ? "/settings/keys" : "").data?.guards ?? [];
  if (tokenGiven || (me.value && !guards.length)) return null;
  return (
    <details class="guard">
      <summary>Guard: {guard || "none"}</summary>
      <Field
        type="line"
        label="Guard"
        unlabelled
        choices={me.value ? [none, ...guards].map((text) => ({ text })) : undefined}
        text={guard || (me.value ? none : "")}
        set={(text) => set(text === none ? "" : text)}
        note={
          (me.value
            ? ""
            : "A service account, by its name or id: only who signs in is shown which ones there are. ") +
          "If an alert comes for it within 24 hours, it takes this change back, without approval."
        }
      />
    </details>
  );
}

/** Which guard a commit names, and which commits it undoes. */
export function Guarded({ entry: { guard, undoes = [], type, key } }: { entry: Activity }) {
  const family = familyOf(type);
  if (!guard && !undoes.length) return null;
  return (
    <p class="note">
      {guard && <>Guard: {guard}</>}
      {undoes.length > 0 && (
        <>
          {guard && ". "}Undoes{" "}
          {undoes.map((sha, i) => {
            const short = <code title={sha}>{sha.slice(0, 8)}</code>;
            return (
              <>
                {i > 0 && ", "}
                {family && key ? (
                  <a href={address([family, key, "history"], { commit: sha })}>{short}</a>
                ) : (
                  short
                )}
              </>
            );
          })}
        </>
      )}
    </p>
  );
}

// One commit of an item's history.
import type { Activity } from "./answers";
import { itemPath } from "./workspace";
import type { Family } from "./workspace";
import { useState, useEffect, useRef } from "./lib";
import { Guarded } from "./guard";
import { Messages } from "./messages";
import { Why } from "./why";
import { Author, Coming } from "./parts";
import { Time } from "./time";
import { open, place } from "./router";
import { Act, mayNothing } from "./may";
import { get } from "./api";
import { Problem } from "./problem";
import { Difference } from "./diff";

export function Entry({
  entry,
  family,
  itemKey,
  before,
  last,
  latest,
}: {
  entry: Activity;
  family: Family;
  itemKey: string;
  before?: string;
  last: boolean;
  latest: boolean;
}) {
  const [shown, show] = useState(false);
  const self = useRef(null as HTMLLIElement | null),
    sought = place.value.query.get("commit") === entry.sha;
  useEffect(() => {
    if (!sought) return;
    show(true);
    self.current?.scrollIntoView({ block: "center" });
  }, [sought]);
  return (
    <li ref={self}>
      <div class="what">
        <Why entry={entry} />
        <Messages messages={entry.messages} />
        <Guarded entry={entry} />
        <p class="note">
          <Author who={entry} />, <Time at={entry.date} full />,{" "}
          <code title={entry.sha}>{entry.sha.slice(0, 8)}</code>
        </p>
      </div>
      <div class="actions">
        {(before || last) && (
          <button
            type="button"
            class="quiet"
            aria-expanded={shown ? "true" : "false"}
            onClick={() => show(!shown)}
          >
            Difference
          </button>
        )}
        {!latest && (
          <Act refused={mayNothing()} class="quiet" onClick={() => open({ restore: entry.sha })}>
            Restore
          </Act>
        )}
        <Act refused={mayNothing()} onClick={() => open({ undo: entry.sha })}>
          Undo
        </Act>
      </div>
      {shown && <Between path={itemPath(family, itemKey)} before={before} after={entry.sha} />}
    </li>
  );
}

/** What a commit did to the document. */
function Between({ path, before, after }: { path: string; before?: string; after: string }) {
  const [state, set] = useState(null as { before?: any; after?: any; problem?: any } | null);
  useEffect(() => {
    const at = (at: string | undefined) =>
      at
        ? get(`${path}/document?at=${at}`).then(
            (answer) => answer.document,
            (problem) => {
              if (problem.status === 404) return null;
              throw problem;
            },
          )
        : null;
    Promise.all([at(before), at(after)]).then(
      ([a, b]) => set({ before: a, after: b }),
      (problem) => set({ problem }),
    );
  }, [path, before, after]);
  if (!state) return <Coming lines={3} />;
  return state.problem ? (
    <Problem problem={state.problem} />
  ) : (
    <Difference before={state.before} after={state.after} />
  );
}

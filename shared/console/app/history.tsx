// What has been done to an item, in sentences, newest first.
import { useEffect, useState } from "./lib";
import { epoch, get, query } from "./api";
import { open } from "./router";
import { families } from "./workspace";
import { Author, Coming, Empty, Problem } from "./parts";
import { Difference } from "./diff";
import { Time } from "./time";
import { Messages, itemPath } from "./review";
import type { Activity } from "./answers";
import type { Family } from "./workspace";

/** The pages of the activity that have been asked for. */
export function useActivity(filter: Record<string, string | undefined | null>) {
  const path = `activity${query(filter)}`,
    now = epoch.value;
  const [state, set] = useState({ path: "", entries: [], busy: true } as {
    path: string;
    entries: Activity[];
    next?: string;
    problem?: any;
    busy: boolean;
  });
  useEffect(() => {
    const abort = new AbortController();
    get(path, abort.signal).then(
      (page) => set({ path, entries: page.activity, next: page.nextCursor, busy: false }),
      (problem) =>
        abort.signal.aborted ||
        set((before) => ({
          path,
          entries: before.path === path ? before.entries : [],
          problem,
          busy: false,
        })),
    );
    return () => abort.abort();
  }, [path, now]);
  const more = () => {
    set((before) => ({ ...before, busy: true }));
    get(`activity${query({ ...filter, cursor: state.next })}`).then(
      (page) =>
        set((before) => ({
          ...before,
          entries: [...before.entries, ...page.activity],
          next: page.nextCursor,
          busy: false,
        })),
      (problem) => set((before) => ({ ...before, problem, busy: false })),
    );
  };
  return {
    ...(state.path === path
      ? state
      : { path, entries: [], busy: true, next: undefined, problem: undefined }),
    more,
  };
}

export function History({ family, itemKey }: { family: Family; itemKey: string }) {
  const { entries, next, problem, busy, more } = useActivity({
    type: families[family].type,
    key: itemKey,
    limit: "30",
  });
  if (problem && !entries.length) return <Problem problem={problem} />;
  if (!entries.length)
    return busy ? (
      <Coming />
    ) : (
      <Empty title="No history">
        <p>Nothing has been done to it.</p>
      </Empty>
    );
  return (
    <>
      <ol class="timeline">
        {entries.map((entry, i) => (
          <Entry
            key={entry.sha}
            entry={entry}
            family={family}
            itemKey={itemKey}
            before={entries[i + 1]?.sha}
            last={i === entries.length - 1 && !next}
            latest={i === 0}
          />
        ))}
      </ol>
      {next && (
        <p class="more">
          <button type="button" disabled={busy} onClick={more}>
            {busy ? "Loading…" : "Show more"}
          </button>
        </p>
      )}
    </>
  );
}

function Entry({
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
  return (
    <li>
      <div class="what">
        <Messages messages={entry.messages} />
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
          <button type="button" class="quiet" onClick={() => open({ restore: entry.sha })}>
            Restore
          </button>
        )}
        <button type="button" onClick={() => open({ undo: entry.sha })}>
          Undo
        </button>
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

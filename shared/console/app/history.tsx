// What has been done to an item, in sentences, newest first.
import { query, epoch, get } from "./api";
import { useState, useEffect } from "./lib";
import type { Activity } from "./answers";
import { families } from "./workspace";
import type { Family } from "./workspace";
import { Problem, Empty } from "./problem";
import { Coming } from "./parts";
import { Entry } from "./history-entry";

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
        set((before) =>
          before.path !== path
            ? before
            : {
                ...before,
                entries: [...before.entries, ...page.activity],
                next: page.nextCursor,
                busy: false,
              },
        ),
      (problem) =>
        set((before) => (before.path !== path ? before : { ...before, problem, busy: false })),
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

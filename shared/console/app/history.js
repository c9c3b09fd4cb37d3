// What has been done to an item, in sentences, newest first.
import { html, useEffect, useState } from "./lib.js";
import { epoch, get, query } from "./api.js";
import { open } from "./router.js";
import { families } from "./workspace.js";
import { Author, Coming, Empty, Problem } from "./parts.js";
import { Difference } from "./diff.js";
import { Time } from "./time.js";
import { Messages, itemPath } from "./review.js";

/** @typedef {import("./types").Activity} Activity */
/** @typedef {import("./workspace.js").Family} Family */

/**
 * The pages of the activity that have been asked for.
 * @param {Record<string, string | undefined | null>} filter
 */
export function useActivity(filter) {
  const path = `activity${query(filter)}`, now = epoch.value;
  const [state, set] = useState(/** @type {{path: string, entries: Activity[], next?: string, problem?: any, busy: boolean}} */ ({ path: "", entries: [], busy: true }));
  useEffect(() => {
    const abort = new AbortController();
    get(path, abort.signal).then(
      (page) => set({ path, entries: page.activity, next: page.nextCursor, busy: false }),
      (problem) => abort.signal.aborted || set((before) => ({ path, entries: before.path === path ? before.entries : [], problem, busy: false })),
    );
    return () => abort.abort();
  }, [path, now]);
  const more = () => {
    set((before) => ({ ...before, busy: true }));
    get(`activity${query({ ...filter, cursor: state.next })}`).then(
      (page) => set((before) => ({ ...before, entries: [...before.entries, ...page.activity], next: page.nextCursor, busy: false })),
      (problem) => set((before) => ({ ...before, problem, busy: false })),
    );
  };
  return { ...(state.path === path ? state : { path, entries: [], busy: true, next: undefined, problem: undefined }), more };
}

/** @param {{family: Family, itemKey: string}} props */
export function History({ family, itemKey }) {
  const { entries, next, problem, busy, more } = useActivity({ type: families[family].type, key: itemKey, limit: "30" });
  if (problem && !entries.length) return html`<${Problem} problem=${problem} />`;
  if (!entries.length) return busy ? html`<${Coming} />` : html`<${Empty} title="No history"><p>Nothing has been done to it.</p><//>`;
  return html`<ol class="timeline">${entries.map((entry, i) => html`<${Entry} key=${entry.sha} entry=${entry} family=${family} itemKey=${itemKey} before=${entries[i + 1]?.sha} last=${i === entries.length - 1 && !next} latest=${i === 0} />`)}</ol>
    ${next && html`<p class="more"><button type="button" disabled=${busy} onClick=${more}>${busy ? "Loading…" : "Show more"}</button></p>`}`;
}

/** @param {{entry: Activity, family: Family, itemKey: string, before?: string, last: boolean, latest: boolean}} props */
function Entry({ entry, family, itemKey, before, last, latest }) {
  const [shown, show] = useState(false);
  return html`<li>
    <div class="what"><${Messages} messages=${entry.messages} /><p class="note"><${Author} who=${entry} />, <${Time} at=${entry.date} full />, <code title=${entry.sha}>${entry.sha.slice(0, 8)}</code></p></div>
    <div class="actions">
      ${(before || last) && html`<button type="button" class="quiet" aria-expanded=${shown ? "true" : "false"} onClick=${() => show(!shown)}>Difference</button>`}
      ${!latest && html`<button type="button" class="quiet" onClick=${() => open({ restore: entry.sha })}>Restore</button>`}
      <button type="button" onClick=${() => open({ undo: entry.sha })}>Undo</button>
    </div>
    ${shown && html`<${Between} path=${itemPath(family, itemKey)} before=${before} after=${entry.sha} />`}
  </li>`;
}

/** What a commit did to the document. @param {{path: string, before?: string, after: string}} props */
function Between({ path, before, after }) {
  const [state, set] = useState(/** @type {{before?: any, after?: any, problem?: any} | null} */ (null));
  useEffect(() => {
    /** @param {string | undefined} at */
    const at = (at) => (at ? get(`${path}/document?at=${at}`).then((answer) => answer.document, (problem) => { if (problem.status === 404) return null; throw problem; }) : null);
    Promise.all([at(before), at(after)]).then(([a, b]) => set({ before: a, after: b }), (problem) => set({ problem }));
  }, [path, before, after]);
  if (!state) return html`<${Coming} lines=${3} />`;
  return state.problem ? html`<${Problem} problem=${state.problem} />` : html`<${Difference} before=${state.before} after=${state.after} />`;
}


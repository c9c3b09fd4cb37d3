// What somebody has begun to write in a form stays until it is applied or thrown away: over
// closing the form and going elsewhere in memory, on a directory over a reload too. The
// documents of a workspace are kept nowhere: there a reload asks first.
import { tokenGiven, parse } from "./api";
import { workspace } from "./workspace";
import { useRef, useLayoutEffect, useState } from "./lib";
import { notice } from "./notice";
import { go } from "./router";

/** By what it is about. */
const begun: Map<string, any> = new Map();

const storageKey = "svc begun";

let leaving = false;

/** Puts what is begun where a reload finds it. Says whether nothing would be lost. */
function store() {
  if (!tokenGiven) return begun.size === 0;
  try {
    if (begun.size) sessionStorage.setItem(storageKey, JSON.stringify([...begun]));
    else sessionStorage.removeItem(storageKey);
    return true;
  } catch {
    // too much of it, or the browser keeps nothing
    return begun.size === 0;
  }
}

if (tokenGiven)
  try {
    for (const [about, work] of parse(sessionStorage.getItem(storageKey) ?? "[]"))
      begun.set(about, work);
  } catch {} // of another version, or the browser keeps nothing

addEventListener("beforeunload", (event) => {
  if (begun.size && !leaving) event.preventDefault();
});

addEventListener("pagehide", store);

/** Whether something is begun that is not applied. */
export const isBegun = () => begun.size > 0;

/** Loads the page anew; what is begun is there again, or it is asked about. */
export function reload() {
  leaving = store();
  location.reload();
}

/** Forgets all of it, as with the key. */
export const forgetBegun = () => begun.clear();

/** The name of some work, on this workspace alone. A directory has another id in each run. */
const named = (about: string) =>
  `${tokenGiven ? "" : workspace.peek().id} ${workspace.peek().name} ${about}`;

export const begunOf = (about: string): any => begun.get(named(about));

/**
 * Keeps the work of a form as long as there is some, and takes it back.
 * @param work undefined where nothing is begun
 */
export function useKeep(about: string, work: any) {
  const ended = useRef(false);
  useLayoutEffect(() => {
    if (ended.current) return;
    if (work === undefined) begun.delete(named(about));
    else begun.set(named(about), work);
  });
  /** Keeps what is written last, though the form may be gone already. */
  const keep = (work: any) => {
    if (!ended.current) begun.set(named(about), work);
  };
  /** It is applied. */
  const done = () => {
    ended.current = true;
    begun.delete(named(about));
  };
  /** It is thrown away, which can be undone. */
  const cancel = () => {
    if (work !== undefined && !ended.current) {
      const { hash } = location;
      notice.value = {
        text: "Draft discarded.",
        link: {
          text: "Undo",
          run: () => {
            begun.set(named(about), work);
            go(hash);
          },
        },
      };
    }
    done();
  };
  return { keep, done, cancel };
}

const same = (a: any, b: any) => JSON.stringify(a) === JSON.stringify(b);

/** Documents without the commits that they were read at. */
const withoutTokens = (seen: any): any =>
  seen?.config ? [withoutTokens(seen.config), withoutTokens(seen.schema)] : seen?.document;

/**
 * The state of a form that is kept until it is applied.
 * @param fresh what it holds before somebody writes The documents that were seen when it was begun
 * are the work's seen. They are no work of themselves, and tell what others have done since.
 */
export function useBegun<T extends Record<string, any>>(about: string, fresh: () => T) {
  const [first] = useState(fresh);
  const [work, setWork] = useState((() => {
    const left = begunOf(about);
    // A server that was started anew names the same document by another commit.
    return left && same(withoutTokens(left.seen), withoutTokens(first.seen))
      ? { ...left, seen: first.seen }
      : (left ?? first);
  }) as () => T);
  const [resumed, setResumed] = useState(() => begunOf(about) !== undefined);
  const untouched = Object.keys(first).every(
    (name) => name === "seen" || same(first[name], work[name]),
  );
  const { keep, ...ends } = useKeep(about, untouched ? undefined : work);
  const last = useRef(work);
  last.current = work;
  const set = (more: Partial<T>) => {
    keep((last.current = { ...last.current, ...more }));
    setWork(last.current);
  };
  const restart = () => {
    setWork(first);
    setResumed(false);
  };
  return { work, set, ...ends, resumed: resumed && !untouched && <Resumed restart={restart} /> };
}

export const Resumed = ({ restart }: { restart: () => void }) => (
  <div class="box resumed">
    <div>
      <p>Your draft is restored.</p>
    </div>
    <button type="button" class="small" onClick={restart}>
      Start over
    </button>
  </div>
);

// What is known of the workspace: who asks, its environments, and its lists.
import { signal, batch, useState, useEffect } from "./lib";
import type { Signal } from "./lib";
import type { Who, Environment, Row } from "./answers";
import { Refusal, away, held, getRows, epoch, useKey, get, refusedKey, remembered } from "./api";

/** What the workspace has, by the name of its view. */
export const families = {
  flags: {
    title: "Flags",
    one: "flag",
    each: "flag",
    a: "a flag",
    type: "feature_flag",
    rows: "flags",
  },
  configs: {
    title: "Configs",
    one: "config",
    each: "config",
    a: "a config",
    type: "config",
    rows: "configs",
  },
  "log-levels": {
    title: "Log levels",
    one: "log level",
    each: "service",
    a: "a log level",
    type: "log_level",
    rows: "logLevels",
  },
  segments: {
    title: "Segments",
    one: "segment",
    each: "segment",
    a: "a segment",
    type: "segment",
    rows: "segments",
  },
};

export type Family = keyof typeof families;

export const familyOf = (type: string | null): Family | undefined =>
  (Object.keys(families) as Family[]).find((name) => families[name].type === type);

/** Where the API has an item. */
export const itemPath = (family: Family, key: string) => `${family}/${encodeURIComponent(key)}`;

export const who = signal(null as Who | null);

export const workspace: Signal<{
  id: string;
  name: string;
  commitSha: string | null;
  broken?: { type: string; key: string | null; problem: string; servedFrom?: string | null }[];
  remote?: {
    address: string;
    branch: string;
    behind: number;
    state: string;
    reason: string | null;
    changeRequest: string | null;
  };
}> = signal({ id: "", name: "", commitSha: null });

export const environments = signal([] as Environment[]);

export type List = { rows: Row[]; state: "new" | "coming" | "here"; problem: Refusal | null };

const noRows = () => signal({ rows: [], state: "new", problem: null } as List);

export const lists = {
  flags: noRows(),
  configs: noRows(),
  "log-levels": noRows(),
  segments: noRows(),
};

const searchable = ({ key, name, description, owner, tags = [] }: Row) =>
  [key, name, description, owner, ...tags].join("\n").toLowerCase();

function sorted(rows: Row[]) {
  for (let i = 1; i < rows.length; i++)
    if (rows[i - 1].key > rows[i].key) return rows.sort((a, b) => (a.key < b.key ? -1 : 1));
  return rows;
}

async function load(family: Family) {
  const list = lists[family];
  if (list.peek().state === "coming") return;
  const first = list.peek().state === "new";
  list.value = { ...list.peek(), state: first ? "coming" : "here", problem: null };
  const rows: Row[] = [];
  let shown = 0;
  try {
    const changed = await getRows(family, families[family].rows, (more) => {
      for (const row of more) {
        row.text = searchable(row);
        rows.push(row);
      }
      if (first && rows.length > 60 && !shown)
        list.value = { rows: rows.slice(0, (shown = 60)), state: "coming", problem: null };
    });
    list.value = { rows: changed ? sorted(rows) : list.peek().rows, state: "here", problem: null };
  } catch (error) {
    if ((error as Error).name === "AbortError") return;
    list.value = { ...list.peek(), state: first ? "new" : "here", problem: error as Refusal };
  }
}

/** Asks for all lists; what has not changed costs next to nothing. */
export const loadLists = () => Promise.all((Object.keys(families) as Family[]).map(load));

/** Has everything that is shown asked again. */
export function refresh() {
  if (!who.peek()) return;
  epoch.value++;
  get("whoami").then(
    (me) => who.peek() && (who.value = me), // what somebody may do can change while they are here
    () => {},
  );
}

/** Takes a key in the place of the one before, of which nothing is shown any more. */
function takeKey(key: string) {
  useKey(key);
  for (const list of Object.values(lists)) list.value = { rows: [], state: "new", problem: null };
}

/** Takes a key, which is kept here and nowhere else. */
export async function signIn(key: string) {
  if (key) batch(() => takeKey(key));
  const me = await get("whoami");
  const [present, all] = await Promise.all([get("workspace"), get("environments")]);
  batch(() => {
    environments.value = all.environments;
    workspace.value = present;
    who.value = me;
    refusedKey.value = "";
  });
  loadLists();
}

/** Looks whether somebody has changed something, and has it shown. */
export async function look() {
  const before = workspace.peek().commitSha,
    present = await get("workspace").catch(() => null);
  if (!present || !who.peek()) return;
  workspace.value = present;
  if (present.commitSha === before) return;
  await loadEnvironments();
  refresh();
}

/** Asks which environments there are: somebody may have changed that. */
export const loadEnvironments = () =>
  get("environments").then(
    (answer) => (environments.value = answer.environments),
    () => {},
  );

/** Forgets the key and everything that it has shown. */
export function signOut() {
  batch(() => {
    who.value = null;
    takeKey("");
  });
}

/**
 * What a GET answers: at once what it answered last, then what it answers now.
 * @param path "" for nothing
 * @param seconds after which it is asked again, while somebody looks; 0 for not of itself
 */
export function useGet(path: string, seconds = 0): { data: any; problem: Refusal | null } {
  const [, draw] = useState(0);
  const [answer, set] = useState({ path: "", data: undefined, problem: null } as {
    path: string;
    data: any;
    problem: Refusal | null;
  });
  const now = epoch.value;
  const [round, again] = useState(0);
  useEffect(() => {
    if (!path || !seconds) return;
    const timer = setInterval(
      () =>
        document.hidden || away.peek() || held.peek() || refusedKey.peek() || again((n) => n + 1),
      1000 * seconds,
    );
    return () => clearInterval(timer);
  }, [path, seconds]);
  useEffect(() => {
    if (!path) return;
    const abort = new AbortController();
    get(path, abort.signal)
      .then(
        (data) =>
          set((before) =>
            before.path === path && before.data === data && !before.problem
              ? before
              : { path, data, problem: null },
          ),
        (problem) =>
          abort.signal.aborted ||
          set((before) => ({
            path,
            data: before.path === path ? before.data : remembered(path),
            problem,
          })),
      )
      .then(() => draw((n) => n));
    return () => abort.abort();
  }, [path, now, round]);
  if (!path) return { data: undefined, problem: null };
  if (answer.path === path) return answer;
  return { data: remembered(path), problem: null };
}

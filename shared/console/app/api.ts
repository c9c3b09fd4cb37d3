// Requests to the REST API. What a GET has answered is kept with its ETag, in
// memory, so that a view that is shown again is there at once.
import { signal } from "./lib";
import { sentence } from "./words";
import { token } from "./token";

const keyed = new URL("../v1/", document.baseURI),
  own = new URL("api/", document.baseURI); // asked with a session, which the browser keeps

const environment = document.querySelector('meta[name="svc-environment"]')?.getAttribute("content");

/** Whether this is the page of a directory, for which the server's token is given, and nobody's key. */
export const tokenGiven = typeof environment === "string";

/** The environment that the server of this page serves itself: that of a directory; "" on a workspace. */
export const servedHere = environment ?? "";

let bearer = tokenGiven ? token : "";

/** Stands for the session in the place of a key. */
export const session = "session";

/** Whether there is something to ask the server with. */
export const hasKey = () => bearer !== "";

/** Whether somebody is signed in, in the place of a key that was pasted. */
export const signedIn = () => bearer === session;

/** How a path is asked: that of the REST API, or one of the page's own behind a slash. */
function asked(path: string): [URL, RequestInit & { headers: Record<string, string> }] {
  if (bearer !== session && !path.startsWith("/"))
    return [
      new URL(path, keyed),
      {
        credentials: "omit",
        headers: bearer ? { Authorization: `Bearer ${bearer}` } : {},
      },
    ];
  const url = new URL(path.startsWith("/") ? path.slice(1) : `v1/${path}`, own);
  return [url, { credentials: "same-origin", headers: { "Svc-Console": "1" } }];
}

/** Why the server is away, in words: it doesn't answer, or says that it cannot. "" while it is there. */
export const away = signal("");

/** Why something that was asked takes longer, in words; "" while nothing does. */
export const held = signal("");

/** In how many seconds what is held is asked again. */
export const heldFor = signal(0);

/** Why the key is no longer good; "" while it is. */
export const refusedKey = signal("");

/** Counts what makes everything that is shown worth asking again. */
export const epoch = signal(0);

/** How many milliseconds the server's clock is ahead of this one. */
export const clockAhead = signal(0);

export function useKey(key: string) {
  bearer = key;
  kept.clear();
  refusedKey.value = "";
}

const silent = "The server does not answer.";

/** Whose limit it is, the server tells of keys, and this page asks for whoever is signed in too. */
const busy = "The server gets too many requests from here at the moment.";

/** What stands before an API, such as a gateway, refuses in words of its own. */
const inWords: Record<number, string> = {
  413: "This is more than the server takes at once.",
  429: busy,
  500: "The server has failed at this.",
  502: silent,
  503: "The server cannot answer at the moment.",
  504: "The server took too long to answer.",
};

/** What the API has refused, or why it could not be asked (status 0). */
export class Refusal extends Error {
  status: number;
  /** What the API tells beside the message: issues, what has changed since. */
  details: any;
  /** details.code, else the envelope's error. */
  code: string;
  requestId: string;

  constructor(status: number, body: any, requestId?: string) {
    super(
      (body?.error && body.message) ||
        inWords[status] ||
        (status ? `The server has answered ${status}, without saying why.` : silent),
    );
    this.status = status;
    this.details = body?.details ?? {};
    this.code = this.details.code ?? body?.error ?? "";
    this.requestId = requestId ?? "";
  }
}

const kept: Map<string, { etag: string; data: any }> = new Map();

const keptAtMost = 300;

/** What a GET answered last, if it is still in memory. */
export const remembered = (path: string) => kept.get(path)?.data;

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Until when the server takes no more requests from here. */
let full = 0;

/** What is held, until it is answered. */
const waiting: Set<object> = new Set();

/** Waits as the server asks, and says so. */
async function hold(what: object, why: string, until: () => number) {
  waiting.add(what);
  for (let left; (left = until() - Date.now()) > 0; await pause(Math.min(left, 1000))) {
    held.value = `${why.replace(/(; try again in \d+ s)?\.?$/, "")}. Trying again`;
    heldFor.value = Math.ceil(left / 1000);
  }
}

/** Sends a request, and tells no longer that it is held once it is answered. */
async function send(
  method: string,
  path: string,
  options: RequestInit & { headers?: Record<string, string> } = {},
): Promise<Response> {
  try {
    return await sendAgain(method, path, options);
  } finally {
    waiting.delete(options);
    if (!waiting.size) held.value = "";
  }
}

/**
 * Sends a request, again where the server asks to come back later, and returns
 * the response: 200 or 304.
 */
async function sendAgain(
  method: string,
  path: string,
  options: RequestInit & { headers?: Record<string, string> },
): Promise<Response> {
  const safe = method === "GET" || path.includes("dryRun=true");
  for (let attempt = 0; ; attempt++) {
    let response;
    if (full > Date.now()) await hold(options, busy, () => full); // it would only be refused too
    try {
      const [url, how] = asked(path);
      response = await fetch(url, {
        ...options,
        ...how,
        method,
        cache: "no-store",
        redirect: "error",
        headers: { ...how.headers, ...options.headers },
      });
    } catch (error) {
      if ((error as Error).name === "AbortError") throw error;
      lost(silent);
      throw new Refusal(0, null);
    }
    const ahead = Date.parse(response.headers.get("Date") ?? "") - Date.now();
    if (Math.abs(ahead) < 2000) clockAhead.value = 0;
    // Not for each answer: all times depend on it.
    else if (Math.abs(ahead - clockAhead.peek()) > 2000) clockAhead.value = ahead;
    if (response.ok || response.status === 304) {
      away.value = "";
      return response;
    }
    const { status } = response,
      body = await response.json().catch(() => null),
      told = Boolean(body?.error);
    const refusal = new Refusal(status, body, response.headers.get("X-Request-Id") ?? "");
    // A gateway of its own accord says neither why nor how long.
    const again = Number(response.headers.get("Retry-After")) || Math.min(8, 2 ** attempt);
    const next = Date.now() + 1000 * again;
    if (status === 429) {
      full = Math.max(full, next);
      continue;
    }
    if (status === 503 && told && safe && attempt < 3) {
      await hold(options, sentence(refusal.message), () => next);
      continue;
    }
    if (status === 401 && bearer && path !== "/session") refusedKey.value = refusal.message;
    if (status >= 502) lost(told ? "" : refusal.message);
    throw refusal;
  }
}

let asking = false;

/**
 * Asks until the server answers again, then has everything asked anew. What it says
 * of one request may be of that alone: without a reason it is asked first.
 */
async function lost(why: string) {
  away.value ||= why;
  if (asking) return;
  asking = true;
  let was = away.value !== "";
  for (let wait = 500; ; wait = Math.min(8000, wait * 1.6)) {
    if (was) await pause(wait);
    // With a key this reads the workspace's record, and shows whether its store is there.
    const [url, how] = asked(bearer ? "whoami" : "openapi.json");
    const response = await fetch(url, { ...how, cache: "no-store" }).catch(() => null);
    if (response && response.status < 502) break;
    const body = await response?.json().catch(() => null);
    was = true;
    away.value = sentence(new Refusal(response?.status ?? 0, body).message);
  }
  asking = false;
  away.value = "";
  if (was) epoch.value++;
}

/** Numbers that JavaScript would round keep their spelling. */
export function parse(text: string) {
  const raw = (JSON as any).rawJSON;
  if (!raw || !/\d{16}|\d[eE]|\.\d/.test(text)) return JSON.parse(text);
  /** the third argument is newer than the types */
  const keep: any = (_key: string, value: any, context: { source: string }) =>
    typeof value === "number" && String(value) !== context.source ? raw(context.source) : value;
  return JSON.parse(text, keep);
}

/** Ends what was asked with a key that has been forgotten meanwhile. */
function sameKey(asked: string) {
  if (asked !== bearer) throw new DOMException("The key is forgotten.", "AbortError");
}

/** Asks for something. */
export async function get(path: string, signal?: AbortSignal): Promise<any> {
  const before = kept.get(path),
    key = bearer;
  const response = await send("GET", path, {
    signal,
    headers: before ? { "If-None-Match": before.etag } : {},
  });
  if (response.status === 304 && before) return before.data;
  const data = parse(await response.text());
  sameKey(key);
  keep(path, response.headers.get("ETag"), data);
  return data;
}

function keep(path: string, etag: string | null, data: any) {
  kept.delete(path);
  kept.set(path, { etag: etag ?? '""', data });
  if (kept.size > keptAtMost) kept.delete(kept.keys().next().value as string);
}

/**
 * Asks for a list and hands over its rows as they come, a few thousand of
 * characters at a time, so that no list stops the page.
 * @param name of the array in the answer
 * @returns whether anything has changed since it was asked last
 */
export async function getRows(
  path: string,
  name: string,
  take: (rows: any[]) => void,
): Promise<boolean> {
  const before = kept.get(path),
    key = bearer;
  const response = await send("GET", path, {
    headers: before ? { "If-None-Match": before.etag } : {},
  });
  sameKey(key);
  if (response.status === 304) return false;
  const reader = (response.body as ReadableStream<BufferSource>)
    .pipeThrough(new TextDecoderStream())
    .getReader();
  const rows = rowScanner(name);
  for (;;) {
    const { done, value } = await reader.read();
    sameKey(key);
    if (done) break;
    for (let at = 0; at < value.length; at += 32768) {
      take(rows(value.slice(at, at + 32768)));
      await pause(0);
    }
  }
  keep(path, response.headers.get("ETag"), true);
  return true;
}

/** Reads the objects of one array of an object from pieces of JSON. */
export function rowScanner(name: string): (piece: string) => any[] {
  let rest = "",
    at = 0,
    depth = 0,
    start = -1,
    inString = false,
    key = "",
    stringStart = 0,
    inside = false;
  return (piece) => {
    rest += piece;
    const rows = [];
    for (; at < rest.length; at++) {
      const c = rest.charCodeAt(at);
      if (inString) {
        if (c === 92) at++;
        else if (c === 34) {
          inString = false;
          if (depth === 1) key = rest.slice(stringStart, at);
        }
      } else if (c === 34) {
        inString = true;
        stringStart = at + 1;
      } else if (c === 123 || c === 91) {
        depth++;
        if (depth === 2) inside = c === 91 && key === name;
        if (depth === 3 && inside) start = at;
      } else if (c === 125 || c === 93) {
        depth--;
        if (depth === 2 && inside) {
          rows.push(parse(rest.slice(start, at + 1)));
          start = -1;
        }
      }
    }
    const from = start >= 0 ? start : inString ? stringStart : rest.length;
    rest = rest.slice(from);
    at -= from;
    stringStart -= from;
    if (start >= 0) start = 0;
    return rows;
  };
}

/**
 * Changes something. A change that is not a dry run has a key, under which it
 * may be sent again when its answer got lost.
 * @param body JSON
 */
export async function change(
  method: string,
  path: string,
  body?: string,
  { idempotencyKey, signal }: { idempotencyKey?: string; signal?: AbortSignal } = {},
) {
  const headers: Record<string, string> = {};
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (idempotencyKey) headers["Idempotency-Key"] = idempotencyKey;
  const response = await send(method, path, { body, headers, signal });
  return parse(await response.text());
}

/** A random key for one change. */
export const newIdempotencyKey = () =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) =>
    b.toString(16).padStart(2, "0"),
  ).join("");

/** @param values without what is empty */
export function query(values: Record<string, string | number | undefined | null>) {
  const q = new URLSearchParams();
  for (const [name, value] of Object.entries(values))
    if (value !== undefined && value !== null && value !== "") q.set(name, String(value));
  const text = q.toString();
  return text && `?${text}`;
}

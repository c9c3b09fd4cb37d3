// Where the person is: the part of the address behind the #. The browser's own
// back and forward buttons lead through it, and find what was seen there where
// it was scrolled to.
import "./token"; // which takes it out of the address first
import { signal, useLayoutEffect } from "./lib";

export type Place = { parts: string[]; query: URLSearchParams; path: string };

const decode = (text: string) => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};

function read(): Place {
  const hash = location.hash.startsWith("#sign-in") ? "" : location.hash; // which leads to no view
  const [path, query] = hash.replace(/^#\/?/, "").split("?", 2);
  return {
    parts: path
      .split("/")
      .filter((part) => part !== "")
      .map(decode),
    query: new URLSearchParams(query ?? ""),
    path,
  };
}

export const place = signal(read());

let entries = 0;

const scrolled: Map<number, number> = new Map();

/** Numbers this entry of the browser's history. Says whether it is a new one. */
function number() {
  const id = history.state?.id;
  if (typeof id === "number") {
    entries = Math.max(entries, id);
    return false;
  }
  history.replaceState({ ...history.state, id: ++entries }, "");
  return true;
}

history.scrollRestoration = "manual";

number();

let current = history.state.id;

addEventListener("popstate", () => {
  number();
  current = history.state.id;
  place.value = read();
});

addEventListener("scroll", () => scrolled.set(current, scrollY), { passive: true });

/** Scrolls to where the entry was left, as soon as the page is long enough. */
export function useScroll() {
  const { path } = place.value;
  useLayoutEffect(() => {
    const id = current,
      y = scrolled.get(id) ?? 0;
    let tries = 0;
    const restore = () => {
      if (id !== current) return;
      if (document.documentElement.scrollHeight >= y + innerHeight || tries++ > 90) scrollTo(0, y);
      else requestAnimationFrame(restore);
    };
    restore();
  }, [path]);
}

/** What every address takes along from where the person is. */
export const carried: string[] = [];

export function address(
  parts: (string | undefined)[],
  query: Record<string, string | undefined | null> = {},
) {
  const q = new URLSearchParams(),
    now = place.value.query;
  for (const name of carried)
    if (!(name in query) && now.has(name)) q.set(name, now.get(name) ?? "");
  for (const [name, value] of Object.entries(query))
    if (value !== undefined && value !== null && value !== "") q.set(name, value);
  const text = q.toString();
  return `#/${parts.map((part) => encodeURIComponent(part ?? "")).join("/")}${text && `?${text}`}`;
}

/** Goes somewhere: a new entry of the history. */
export function go(to: string) {
  if (to === location.hash) return;
  history.pushState({ pushed: true }, "", to);
  number();
  current = history.state.id;
  place.value = read();
}

/** Changes the query of this entry, such as a filter that somebody types. */
export function refine(values: Record<string, string | undefined | null>) {
  history.replaceState(
    history.state,
    "",
    address(place.value.parts, { ...Object.fromEntries(place.value.query), ...values }),
  );
  place.value = read();
}

/** Opens something over the view, which the back button closes. */
export const open = (values: Record<string, string | undefined>) =>
  go(address(place.value.parts, { ...Object.fromEntries(place.value.query), ...values }));

/** Goes somewhere in place of this entry of the history. */
export function instead(to: string) {
  history.replaceState({ id: current }, "", to);
  scrolled.delete(current);
  place.value = read();
}

/** Closes what open has opened. */
export function close(names: string[]) {
  if (history.state?.pushed) history.back();
  else refine(Object.fromEntries(names.map((name) => [name, null])));
}

// Which environments the lists have columns for: what is chosen, as far as there is room.
import { signal, useLayoutEffect, useState } from "./lib";
import { environments } from "./workspace";
import type { Environment } from "./answers";
import { place, refine } from "./router";

const storageKey = "svc hidden columns";

function stored(): string[] {
  try {
    const names = JSON.parse(localStorage.getItem(storageKey) ?? "[]");
    return Array.isArray(names) ? names.map(String) : [];
  } catch {
    return []; // the browser keeps nothing
  }
}

const chosen = signal(stored());

/** Those that have no column: as the address says, else as was chosen last. */
export function hidden(): string[] {
  const named = place.value.query.get("hide");
  return named === null ? chosen.value : named.split(",");
}

const none = "-"; // an environment's name begins with something else

/** Chooses columns, which the address of the list tells from then on. */
export function hide(names: string[]) {
  chosen.value = names;
  refine({ hide: names.join(",") || none });
  try {
    localStorage.setItem(storageKey, JSON.stringify(names));
  } catch {
    // it is forgotten with the page
  }
}

export const matters = (one: Environment) => one.protected || one.environmentType === "production";

/**
 * The environments that have a column, in their order: all that matter, and of the others those
 * that there is room for. One column tells how many are left.
 */
export function columnsOf(all: Environment[], hidden: string[], room: number): string[] {
  const wanted = all.filter((one) => matters(one) || !hidden.includes(one.name));
  if (wanted.length === all.length && all.length <= room) return all.map((one) => one.name);
  const others = wanted.filter((one) => !matters(one)),
    most = Math.max(0, room - 1 - (wanted.length - others.length));
  return wanted.filter((one) => matters(one) || others.indexOf(one) < most).map((one) => one.name);
}

/** How wide an element is, in rem; 0 until it is drawn. */
export function useWidth() {
  const [node, ref] = useState(null as HTMLElement | null);
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    if (!node) return;
    const observer = new ResizeObserver(([entry]) => setWidth(entry.contentRect.width));
    observer.observe(node);
    setWidth(node.clientWidth);
    return () => observer.disconnect();
  }, [node]);
  const rem = parseFloat(getComputedStyle(document.documentElement).fontSize) || 16;
  return { ref, width: width / rem };
}

/** Whether a list is so narrow that a row's cells stand below each other. */
export const isNarrow = (width: number) => width > 0 && width <= 34;

/**
 * The columns of a list that is as wide as an element. It is slim without what is not of an
 * environment, where those that matter need the room. Where it is narrow, or has no room for all
 * environments that matter, they are lines of each row, as many side by side as fit.
 * @param others what other columns take, in rem
 * @param spare what one of them takes that can be left out
 * @param fewest what those take that are never left out
 */
export function useColumns(others: number, spare: number, fewest: number) {
  const { ref, width } = useWidth();
  const all = environments.value,
    wide = width > 46;
  const room = (others: number) =>
    width ? Math.floor((width - (wide ? others : fewest)) / (wide ? 6 : 5.25)) : 3;
  const tight = all.length > room(others),
    needed = Math.min(all.length, Math.max(2, all.filter(matters).length + 1)),
    slimmest = Math.floor((width - fewest) / 5.25);
  let beside = room(tight ? others - spare : others);
  const slim = wide && needed > beside && needed <= slimmest;
  if (slim) beside = slimmest;
  const stacked = isNarrow(width) || (width > 0 && needed > Math.max(2, beside));
  const names = columnsOf(all, hidden(), stacked ? Math.max(4, needed) : beside);
  const inLine = stacked ? Math.max(1, Math.floor((width - 4) / 16)) : 1;
  return { ref, names, tight, slim, stacked, inLine };
}

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
 * The environments that have a column, in their order. Where room is short, those that matter
 * come first, and one column tells how many are left.
 */
export function columnsOf(all: Environment[], hidden: string[], room: number): string[] {
  const wanted = all.filter((one) => matters(one) || !hidden.includes(one.name));
  if (wanted.length === all.length && all.length <= room) return all.map((one) => one.name);
  const taken = [...wanted.filter(matters), ...wanted.filter((one) => !matters(one))].slice(
    0,
    Math.max(1, room - 1),
  );
  return wanted.filter((one) => taken.includes(one)).map((one) => one.name);
}

/**
 * The columns of a list that is as wide as an element.
 * @param others what other columns take, in rem
 * @param spare what one of them takes that can be left out
 */
export function useColumns(others: number, spare: number) {
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
  const wide = width / rem > 46;
  const room = (others: number) =>
    width ? Math.floor((width / rem - (wide ? others : 14.75)) / (wide ? 5.5 : 5.25)) : 3;
  const tight = environments.value.length > room(others);
  const names = columnsOf(environments.value, hidden(), room(tight ? others - spare : others));
  return { ref, names, tight };
}

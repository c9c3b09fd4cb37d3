// Which environments the lists have columns for: what is chosen, as far as there is room.
import { signal, useLayoutEffect, useState } from "./lib";
import { environments } from "./workspace";
import type { Environment } from "./answers";
import { place, close, refine } from "./router";
import { Dialog } from "./dialog";

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
function hidden(): string[] {
  const named = place.value.query.get("hide");
  return named === null ? chosen.value : named.split(",");
}

const none = "-"; // an environment's name begins with something else

/** Chooses columns, which the address of the list tells from then on. */
function hide(names: string[]) {
  chosen.value = names;
  refine({ hide: names.join(",") || none });
  try {
    localStorage.setItem(storageKey, JSON.stringify(names));
  } catch {
    // it is forgotten with the page
  }
}

const matters = (one: Environment) => one.protected || one.environmentType === "production";

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

/** Opened by columns=1 in the query. */
export function Columns() {
  if (!place.value.query.has("columns")) return null;
  const shut = () => {
    const hide = place.value.query.get("hide");
    const after = () => hide !== null && refine({ hide });
    if (history.state?.pushed) addEventListener("popstate", after, { once: true });
    close(["columns"]);
  };
  return (
    <Dialog title="Columns" close={shut}>
      <form class="form" onSubmit={(event: Event) => event.preventDefault()}>
        {environments.value.map((one) => (
          <label class="check">
            <input
              type="checkbox"
              disabled={matters(one)}
              checked={matters(one) || !hidden().includes(one.name)}
              onChange={(event: any) =>
                hide(
                  event.target.checked
                    ? hidden().filter((name) => name !== one.name)
                    : [...hidden(), one.name],
                )
              }
            />{" "}
            {one.name}
            {matters(one) && <span class="note"> always shown</span>}
          </label>
        ))}
        <p class="note">
          Where the window has no room for all, those that are always shown come first. An item
          shows all its environments.
        </p>
      </form>
      <div class="dialog-foot">
        <button type="button" class="primary" onClick={shut}>
          Done
        </button>
      </div>
    </Dialog>
  );
}

// A long list, of which only what can be seen is drawn. The arrow keys walk it.
import { useRef, useState, useLayoutEffect, useEffect } from "./lib";

const spare = 8;

/** A name that is cut before its end where it is long: ends are what tells names apart. */
function Cut({ text }: { text: string }) {
  const end = text.length > 9 ? 5 : 0;
  return end ? (
    <span class="cut">
      <span class="start">{text.slice(0, -end)}</span>
      <span>{text.slice(-end)}</span>
    </span>
  ) : (
    text
  );
}

/** The first of the cells is the row's link. Rows are picked by their names.. */
export function List<T>({
  rows,
  columns,
  label,
  to,
  cells,
  name,
  picked,
  pick,
}: {
  rows: T[];
  columns: string[];
  label: string;
  to: (row: T) => string;
  cells: (row: T) => any[];
  name: (row: T) => string;
  picked: Set<string>;
  pick: (names: Iterable<string>) => void;
}) {
  const body = useRef(null as HTMLDivElement | null);
  const [height, setHeight] = useState(64);
  const [[from, until], setRange] = useState([0, 30]);
  const [active, setActive] = useState(0);
  const wanted = useRef(-1); // the row to be focused once it is drawn
  const anchor = useRef(0); // the row that a range begins at

  const look = () => {
    if (!body.current) return;
    const one = parseFloat(getComputedStyle(body.current).getPropertyValue("--row")) || 64;
    const above = -body.current.getBoundingClientRect().top;
    const first = Math.max(0, Math.floor(above / one / spare) * spare - spare);
    const last = Math.ceil((above + innerHeight) / one / spare) * spare + spare;
    setHeight(one);
    setRange((range) => (range[0] === first && range[1] === last ? range : [first, last]));
  };
  useLayoutEffect(look); // whatever is drawn may be of another height
  useLayoutEffect(() => {
    addEventListener("scroll", look, { passive: true });
    addEventListener("resize", look);
    return () => {
      removeEventListener("scroll", look);
      removeEventListener("resize", look);
    };
  }, []);

  const focus = () => {
    if (wanted.current < 0) return;
    const link = body.current?.querySelector(
      `[aria-rowindex="${wanted.current + 2}"] a`,
    ) as HTMLElement | null;
    if (link) {
      wanted.current = -1;
      link.focus({ preventScroll: true });
    }
  };
  useEffect(focus);

  const walk = (to: number) => {
    const at = Math.max(0, Math.min(rows.length - 1, to));
    wanted.current = at;
    setActive(at);
    if (!body.current) return;
    const top = body.current.getBoundingClientRect().top + at * height,
      head = 140;
    if (top < head) scrollBy(0, top - head);
    else if (top + height > innerHeight - 16) scrollBy(0, top + height - innerHeight + 16);
    focus(); // at once where it is drawn already
  };
  /** Picks a row, or one picked no longer; or all from the last one to it. */
  const toggle = (at: number, range?: boolean) => {
    const next = new Set(picked),
      of = name(rows[at]);
    if (range)
      for (
        let i = Math.min(anchor.current, at);
        i <= Math.min(Math.max(anchor.current, at), rows.length - 1);
        i++
      )
        next.add(name(rows[i]));
    else if (!next.delete(of)) next.add(of);
    if (!range) anchor.current = at;
    pick(next);
  };
  const key = (event: KeyboardEvent) => {
    const onRow = (event.target as HTMLElement).matches(".row a, .row input");
    if (onRow && event.key === " " && (event.target as HTMLElement).matches("a")) {
      event.preventDefault();
      return toggle(active, event.shiftKey);
    }
    if (onRow && event.key === "Escape" && picked.size) return pick([]);
    if (onRow && event.key === "a" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      return pick(rows.map(name));
    }
    if (onRow && event.shiftKey && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      event.preventDefault();
      const at = Math.max(
        0,
        Math.min(rows.length - 1, active + (event.key === "ArrowDown" ? 1 : -1)),
      );
      if (!picked.has(name(rows[active]))) anchor.current = active;
      toggle(at, true);
      return walk(at);
    }
    const page = Math.max(1, Math.floor(innerHeight / height) - 3);
    const steps: Record<string, number> = {
      ArrowDown: active + 1,
      ArrowUp: active - 1,
      PageDown: active + page,
      PageUp: active - page,
      Home: 0,
      End: rows.length - 1,
    };
    if (!(event.key in steps) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    walk(steps[event.key]);
  };

  const shown = rows.slice(from, until);
  const focusable = active >= from && active < Math.min(until, rows.length) ? active : from;
  const all =
    rows.length > 0 && rows.length <= picked.size && rows.every((row) => picked.has(name(row)));
  return (
    <div
      class="list"
      role="table"
      aria-label={label}
      aria-rowcount={rows.length + 1}
      onKeyDown={key}
    >
      <div role="rowgroup" class="list-head">
        <div role="row" aria-rowindex={1}>
          <span role="columnheader" class="pick">
            <input
              type="checkbox"
              aria-label="Select all"
              checked={all}
              indeterminate={picked.size > 0 && !all}
              onChange={() => pick(all ? [] : rows.map(name))}
            />
          </span>
          {columns.map((column) => (
            <span role="columnheader" data-column={column} title={column} aria-label={column}>
              <Cut text={column} />
            </span>
          ))}
        </div>
      </div>
      <div
        role="rowgroup"
        class="list-body"
        ref={body}
        style={{ height: `${rows.length * height}px` }}
      >
        {shown.map((row, i) => (
          <div
            key={name(row)}
            role="row"
            class="row"
            aria-rowindex={from + i + 2}
            data-picked={picked.has(name(row)) ? "true" : undefined}
            style={{ transform: `translateY(${(from + i) * height}px)` }}
          >
            <span role="cell" class="pick">
              <input
                type="checkbox"
                aria-label={`Select ${name(row)}`}
                tabindex={from + i === focusable ? 0 : -1}
                checked={picked.has(name(row))}
                onFocus={() => setActive(from + i)}
                onClick={(event: MouseEvent) => toggle(from + i, event.shiftKey)}
              />
            </span>
            {cells(row).map((cell, at) =>
              at === 0 ? (
                <span role="rowheader">
                  <a
                    href={to(row)}
                    tabindex={from + i === focusable ? 0 : -1}
                    onFocus={() => setActive(from + i)}
                  >
                    {cell}
                  </a>
                </span>
              ) : (
                <span role="cell" data-column={columns[at]}>
                  {cell}
                </span>
              ),
            )}
          </div>
        ))}
      </div>
    </div>
  );
}
